"""The stage that finds the operating point and writes down how it was found."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from core.choices import Lens
from core.engine import Engine
from core.progress import Report
from core.training.costs import check_layers
from core.training.features import HeldOutViews
from core.training.options import TUNED, Stage, TrainOptions
from core.training.prompts import Prompt
from core.training.replay import Point
from core.training.tune import Prices, candidates, choose, frontier_of, measure, recommendation, sweep
from core.training.workspace import Workspace


def tune(
    engine: Engine,
    views: Mapping[Lens, HeldOutViews],
    predictor: float,
    prompts: Sequence[Prompt],
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> dict[str, Any]:
    """Sweep, measure and choose, or take what an earlier run has found.

    Args:
        engine: a model with its parts, for the real runs.
        views: the tune prompts' tokens through each lens.
        predictor: what asking one costs, in layer-times.
        prompts: all prompts; tune prompts are run.
        options: give the time.
        work: takes the result.
        report: is told how far it is.
        cancel: looked at between runs.

    Raises:
        Cancelled: `cancel` was set; finished runs stay.
    """
    done = work.load_json(Stage.TUNE, TUNED)
    if done is not None:
        return done
    assert engine.parts is not None, "exits need trained parts"
    found = sweep(views, engine.parts, report, cancel)
    prices = Prices(predictor, check_layers(engine.model.decoder, engine.parts.slim))
    tried = candidates(found, engine.parts, prices)
    measured = measure(engine, tried, prompts, options, work, report, cancel)
    row = choose(measured)
    facts = {
        "frontier": {lens.value: _frontiers(points) for lens, points in found.items()},
        "measured": measured,
        "dtype": engine.model.info.dtype,
        "prices": _rounded(prices),
        "chosen": row["name"] if row else None,
        "recommended": recommendation(row) if row else None,
    }
    work.save_json(Stage.TUNE, TUNED, facts)
    return facts


def tune_facts(work: Workspace) -> dict[str, Any]:
    """What the stage has found; empty where it has not been run."""
    return work.load_json(Stage.TUNE, TUNED) or {}


def _rounded(prices: Prices) -> dict[str, float]:
    """In layer-times, for the card."""
    checks = {f"check_{head.value}": round(price, 4) for head, price in prices.checks.items()}
    return {"predictor": round(prices.predictor, 4)} | checks


def _frontiers(points: Sequence[Point]) -> dict[str, list[dict[str, Any]]]:
    """The frontier of agreement against mean exit layer without and with the margin gate."""
    plain = [point for point in points if point.gate == 0]
    return {
        name: [one.values() for one in frontier_of(some)] for name, some in (("no gate", plain), ("gate", list(points)))
    }
