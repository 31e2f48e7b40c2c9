"""The offline profile: at which layers tokens leave when every predictor is on (T2's offline level, `docs/rules.md`).

It is taken in real runs over tune prompts, near the operating point: exits of a bolder threshold lie elsewhere. From
the same runs come the curve of the online hit rate over N, and what a predictor costs beside a layer.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.analysis.hit_rates import hit_rate_curve
from core.choices import Lens, Policy
from core.config import RunSettings, SchedulerSettings
from core.decoding import RunRequest, encode_prompt
from core.engine import Engine
from core.exits.predictors import PredictorBank
from core.progress import Progress, Report, check
from core.trace.events import ExitReason, IntArray
from core.trace.trace import Trace
from core.training.features import HeldOutViews
from core.training.options import Stage, TrainOptions
from core.training.prompts import Prompt, Split
from core.training.replay import Replay, Setting, score_table
from core.training.workspace import Timer, Workspace

NEW_TOKENS = 64
"""A prompt."""
WINDOWS = 10
"""The curve of the hit rate goes up to this N."""


def profiled_at(facts: Mapping[str, Any]) -> RunSettings:
    """T1 at the recommended threshold of the predictors' frontiers, with the lens that leaves earlier there."""
    points = {
        name: next(one for one in about["frontier"] if one["threshold"] == about["recommended_threshold"])
        for name, about in facts.items()
    }
    lens = min(points, key=lambda name: points[name]["mean_exit_layer"])
    return RunSettings(policy=Policy.SPECEE_T1, threshold=points[lens]["threshold"], lens=Lens(lens))


def profile_exits(
    engine: Engine,
    settings: RunSettings,
    prompts: Sequence[Prompt],
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> dict[str, Any]:
    """Run tune prompts and count early exits by layer, as far as the time goes; at least one prompt.

    Returns:
        `exits` [L-1], exit `layers` of each answer's tokens after the first (0-based), `tokens` in all, `prompts` run,
        `threshold` and `lens`, `seconds` and how often `asked` for predictors and layers, and `done`.

    Raises:
        Cancelled: `cancel` was set; finished prompts stay counted.
    """
    state = work.load_json(Stage.PROFILE, "exits.json") or _blank(engine.model.config.depth, settings)
    tune = [prompt for prompt in prompts if prompt.split is Split.TUNE]
    timer = Timer(0.0, options.seconds(Stage.PROFILE))
    for prompt in tune[state["prompts"] :]:
        if state["done"] or (state["prompts"] and timer.over):
            break
        trace = run_prompt(engine, prompt.text, settings, NEW_TOKENS, cancel)
        check(cancel)
        state = _counted(state, trace)
        work.save_json(Stage.PROFILE, "exits.json", state)
        report(Progress("Counting where tokens exit", state["prompts"], len(tune), "prompts"))
    state["done"] = True
    work.save_json(Stage.PROFILE, "exits.json", state)
    return state


def run_prompt(
    engine: Engine, prompt: str, settings: RunSettings, new_tokens: int, cancel: threading.Event | None
) -> Trace:
    """One answer of up to `new_tokens`, fewer where the context ends."""
    room = engine.model.config.context - len(encode_prompt(engine.model, prompt, True))
    fitted = replace(settings, max_new_tokens=max(1, min(new_tokens, room)))
    return Trace.of(engine.run(RunRequest(prompt, fitted), cancel or threading.Event()))


def _blank(depth: int, settings: RunSettings) -> dict[str, Any]:
    times = {"predictor": 0.0, "layers": 0.0}
    return {
        "exits": [0] * (depth - 1),
        "layers": [],
        "tokens": 0,
        "prompts": 0,
        "threshold": settings.threshold,
        "lens": settings.lens.value,
        "seconds": dict(times),
        "asked": dict(times),
        "done": False,
    }


def _counted(state: dict[str, Any], trace: Trace) -> dict[str, Any]:
    """The state with one more answer."""
    records = [record for record in trace.emitted[1:] if record.emitted]
    layers = [record.emitted.exit_layer - 1 for record in records if record.emitted]
    early = [r.emitted.exit_layer - 1 for r in records if r.emitted and r.emitted.reason is ExitReason.VERIFIED]
    counted = np.bincount(np.array(early, np.int64), minlength=trace.depth)[: trace.depth - 1]
    times = [record.emitted.times for record in records if record.emitted]
    seconds = {name: state["seconds"][name] + sum(getattr(one, name) for one in times) for name in state["seconds"]}
    asked = {
        "predictor": state["asked"]["predictor"] + sum(int(record.evaluated.sum()) for record in records),
        "layers": state["asked"]["layers"] + sum(layers) + len(layers),
    }
    return state | {
        "exits": [a + int(b) for a, b in zip(state["exits"], counted, strict=True)],
        "layers": [*state["layers"], layers],
        "tokens": state["tokens"] + len(layers),
        "prompts": state["prompts"] + 1,
        "seconds": seconds,
        "asked": asked,
    }


def predictor_share(state: Mapping[str, Any]) -> float:
    """What one predictor costs, features and lens included, in layer-times; 0 where nothing was measured."""
    seconds, asked = state["seconds"], state["asked"]
    if not (asked["predictor"] and asked["layers"] and seconds["layers"]):
        return 0.0
    return float(seconds["predictor"] / asked["predictor"] / (seconds["layers"] / asked["layers"]))


def curve(state: Mapping[str, Any], radius: int) -> list[dict[str, Any]]:
    """The online hit rate over N, of all profiled answers."""
    depth = len(state["exits"]) + 1
    return hit_rate_curve([np.array(one, np.int64) for one in state["layers"]], depth, radius, range(1, WINDOWS + 1))


def rank_layers(exits: Sequence[int], quality: Sequence[float]) -> IntArray:
    """Layers 0…L-2, where tokens exit most first; equal ones by the quality of their predictors."""
    return np.lexsort((-np.asarray(quality, np.float64), -np.asarray(exits, np.int64))).astype(np.int64)


def offline_tradeoff(
    views: HeldOutViews, bank: PredictorBank, ranking: IntArray, threshold: float, share: float
) -> list[dict[str, Any]]:
    """For each M, the mean exit layer, predictors a token, and both in layer-times where a predictor costs `share`."""
    replay = Replay(views, score_table(bank, views), ranking, SchedulerSettings())
    settings = [Setting(threshold, offline_layers=m) for m in range(len(ranking) + 1)]
    return [
        {
            "offline_layers": point.offline_layers,
            "mean_exit_layer": round(point.mean_exit_layer, 4),
            "predictors": round(point.predictors, 4),
            "agreement": round(point.agreement, 4),
            "layer_times": round(point.mean_exit_layer + share * point.predictors, 4),
        }
        for point in replay.points(settings)
    ]
