"""A tiny engine whose predictors always propose, for tests of the decode loop."""

from __future__ import annotations

import threading

import numpy as np
import torch

from core.choices import Policy
from core.config import RunSettings, SchedulerSettings
from core.drafting.head import DraftHead
from core.engine import Engine, RunRequest
from core.exits.parts import TrainedParts
from core.exits.predictors import PredictorBank
from core.model.loading import LoadedModel
from core.trace.trace import Trace

DEPTH = 6
PROMPT = "the quick brown fox"


def parts_that_always_propose(model: LoadedModel, bias: float = 20.0) -> TrainedParts:
    """A random drafter, and predictors whose score is sigmoid(`bias`) whatever they see."""
    layers = DEPTH - 1
    arrays = {
        "w1": np.zeros((layers, 12, 4), np.float32),
        "b1": np.zeros((layers, 4), np.float32),
        "w2": np.zeros((layers, 4), np.float32),
        "b2": np.full(layers, bias, np.float32),
    }
    return TrainedParts(
        fingerprint=model.info.fingerprint,
        drafter=DraftHead.random(model.decoder, torch.Generator().manual_seed(1)),
        predictors=PredictorBank(arrays),
        offline_ranking=np.array([3, 1, 4, 0, 2]),
        card={},
    )


def run(engine: Engine, prompt: str = PROMPT, halt: threading.Event | None = None, **settings: object) -> Trace:
    few = SchedulerSettings(offline_layers=2)
    given = {"policy": Policy.SPECEE_T1, "max_new_tokens": 24, "scheduler": few, **settings}
    request = RunRequest(prompt, RunSettings(**given))  # type: ignore[arg-type]
    return Trace.of(engine.run(request, halt or threading.Event()))


def ids(trace: Trace) -> list[int]:
    return [r.emitted.token_id for r in trace.emitted if r.emitted]


def of_type(trace: Trace, kind: type) -> list:
    return [event for event in trace.events if isinstance(event, kind)]
