"""The offline profile: at which layers tokens leave when every predictor is on (T2's offline level, `specee.md` §2)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.config import Policy, RunSettings
from core.decoding import RunRequest, encode_prompt
from core.engine import Engine
from core.progress import Progress, Report, check
from core.trace.events import ExitReason, IntArray
from core.trace.trace import Trace
from core.training.options import Stage, TrainOptions
from core.training.prompts import Prompt, Split
from core.training.workspace import Timer, Workspace

THRESHOLD = 0.5
"""The paper's; a bolder threshold shows more exits to count."""
NEW_TOKENS = 64
"""A prompt."""


def profile_exits(
    engine: Engine,
    prompts: Sequence[Prompt],
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> dict[str, Any]:
    """Run tune prompts and count early exits by layer, as far as the time goes; at least one prompt.

    Returns:
        `exits` [L-1], `tokens` after the first of each answer, `prompts` run, the `threshold`, and `done`.

    Raises:
        Cancelled: `cancel` was set; finished prompts stay counted.
    """
    layers = engine.model.config.depth - 1
    state = work.load_json(Stage.PROFILE, "exits.json") or {
        "exits": [0] * layers,
        "tokens": 0,
        "prompts": 0,
        "threshold": THRESHOLD,
        "done": False,
    }
    tune = [prompt for prompt in prompts if prompt.split is Split.TUNE]
    timer = Timer(0.0, options.seconds(Stage.PROFILE))
    for prompt in tune[state["prompts"] :]:
        if state["done"] or (state["prompts"] and timer.over):
            break
        exits, tokens = count_exits(engine, prompt.text, cancel)
        check(cancel)
        state["exits"] = [a + int(b) for a, b in zip(state["exits"], exits, strict=True)]
        state |= {"tokens": state["tokens"] + tokens, "prompts": state["prompts"] + 1}
        work.save_json(Stage.PROFILE, "exits.json", state)
        report(Progress("Counting where tokens exit", state["prompts"], len(tune), "prompts"))
    state["done"] = True
    work.save_json(Stage.PROFILE, "exits.json", state)
    return state


def count_exits(engine: Engine, prompt: str, cancel: threading.Event | None) -> tuple[IntArray, int]:
    """Early exits by 0-based last layer run, shape [L-1], and the tokens after the first."""
    depth = engine.model.config.depth
    room = engine.model.config.context - len(encode_prompt(engine.model, prompt, True))
    settings = RunSettings(policy=Policy.SPECEE_T1, threshold=THRESHOLD, max_new_tokens=max(1, min(NEW_TOKENS, room)))
    trace = Trace.of(engine.run(RunRequest(prompt, settings), cancel or threading.Event()))
    emitted = [record.emitted for record in trace.emitted if record.emitted]
    early = [one.exit_layer - 1 for one in emitted if one.reason is ExitReason.VERIFIED]
    counted = np.bincount(np.array(early, np.int64), minlength=depth)[: depth - 1]
    return counted.astype(np.int64), max(0, len(emitted) - 1)


def rank_layers(exits: Sequence[int], quality: Sequence[float]) -> IntArray:
    """Layers 0…L-2, where tokens exit most first; equal ones by the quality of their predictors."""
    return np.lexsort((-np.asarray(quality, np.float64), -np.asarray(exits, np.int64))).astype(np.int64)
