"""Runs of tiny models under random predictors that tell layers apart, as trained ones do: some fire and some do not."""

from __future__ import annotations

import functools
import threading
from pathlib import Path

import numpy as np
import torch

from core.choices import DType, Policy, Record
from core.config import RunSettings, SchedulerSettings
from core.drafting.head import DraftHead
from core.engine import Engine, RunRequest
from core.exits.parts import TrainedParts
from core.exits.predictors import PredictorBank
from core.model.loading import LoadedModel, load_model
from core.trace.trace import Trace

DEPTH = 6
FIRST_WORD, WORDS = 40, 12
PROMPTS = ("the quick brown fox", "sun sea sky", "early exit of a language model")


def random_bank(layers: int, seed: int = 1, hidden: int = 16) -> PredictorBank:
    """Predictors whose scores spread over 0…1."""
    random = np.random.default_rng(seed)
    shapes = {"w1": (layers, 12, hidden), "b1": (layers, hidden), "w2": (layers, hidden), "b2": (layers,)}
    scales = {"w1": 0.6, "b1": 0.3, "w2": 0.5, "b2": 0.3}
    return PredictorBank(
        {name: random.normal(scale=scales[name], size=shape).astype(np.float32) for name, shape in shapes.items()}
    )


def random_parts(model: LoadedModel, seed: int = 1) -> TrainedParts:
    """A random drafter, random predictors and a random offline ranking."""
    layers = model.config.depth - 1
    return TrainedParts(
        fingerprint=model.info.fingerprint,
        drafter=DraftHead.random(model.decoder, torch.Generator().manual_seed(seed)),
        predictors=random_bank(layers, seed),
        offline_ranking=np.random.default_rng(seed).permutation(layers),
        card={},
    )


class Recorder:
    """A tiny engine that keeps the runs it has made: many tests compare the same ones."""

    def __init__(self, folder: Path) -> None:
        """Over the model in `folder`, of which only `WORDS` tokens are ever said, so that its drafter often hits."""
        model = load_model(folder, dtype=DType.FLOAT32, threads=1)
        model.decoder.head_weight = model.decoder.head_weight.clone()
        model.decoder.head_weight[:FIRST_WORD] = 0
        model.decoder.head_weight[FIRST_WORD + WORDS :] = 0
        model.decoder.head = model.decoder.head_weight
        self.parts = random_parts(model)
        self.engine = Engine(model, self.parts)

    @functools.cache  # noqa: B019 (lives as long as the test session)
    def run(self, settings: RunSettings, prompt: str = PROMPTS[0]) -> Trace:
        return self.fresh(settings, prompt)

    def fresh(self, settings: RunSettings, prompt: str = PROMPTS[0]) -> Trace:
        """A run that nobody has made before."""
        return Trace.of(self.engine.run(RunRequest(prompt, settings), threading.Event()))


def audit_settings(**changes: object) -> RunSettings:
    """Settings of an audited run in which some tokens exit early and some proposals are refused."""
    given = {
        "policy": Policy.SPECEE_T1T2,
        "threshold": 0.3,
        "scheduler": SchedulerSettings(window=3, radius=1, offline_layers=2),
        "record": Record.AUDIT,
        "max_new_tokens": 32,
    }
    return RunSettings(**{**given, **changes})  # type: ignore[arg-type]
