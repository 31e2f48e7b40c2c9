"""The operating point: threshold × gate × lens × M, first re-decided on tune prompts, then a few in real runs.

A setting's price is counted in layer-times: the mean exit layer plus what its predictors and checks cost, as measured
in the profile's runs. The default is the cheapest setting that keeps to the full-depth token in `AGREEMENT` of real
tokens; the paper's own setting runs beside it, and so does dense decoding, which the speed is held against.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from core.config import Head, Lens, Policy, Record, RunSettings, SchedulerSettings
from core.engine import Engine
from core.exits.parts import TrainedParts
from core.progress import Progress, Report, check
from core.trace.events import ExitReason
from core.trace.trace import Trace
from core.training.features import HeldOutViews
from core.training.options import Stage, TrainOptions
from core.training.profile import run_prompt
from core.training.prompts import Prompt, Split
from core.training.replay import Point, Replay, Setting, score_table
from core.training.workspace import Timer, Workspace

THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.88, 0.91, 0.94, 0.96, 0.98)
GATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
AGREEMENT = 0.99
"""What the default must reach."""
FLOORS = (0.99, 0.993, 0.996)
"""Real runs agree somewhat less than re-decided ones: the cheapest setting above each of these is tried."""
HEAD_LAYERS = 4.5
"""A product with the whole LM head in layer-times, on the default model (`specee.md` §8)."""
NEW_TOKENS = 48
"""Of each answer in real runs."""
MEASURED = "measured.json"
NEAR = 0.25
"""Mean exit layers that differ by less are equal: a few hundred tokens tell no better."""
_COUNTS = ("tokens", "agree", "layers", "early", "checks", "asked", "seconds")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setting to try in real runs."""

    name: str
    settings: RunSettings


Found = dict[Lens, list[Point]]


def sweep(
    views: Mapping[Lens, HeldOutViews], parts: TrainedParts, report: Report, cancel: threading.Event | None
) -> Found:
    """Every setting of the grid, re-decided.

    Raises:
        Cancelled: `cancel` was set.
    """
    layers = parts.predictors.layers
    some = sorted({m for m in (0, 2, 4, 6, 8, 10, 12, 16, 20) if m <= layers} | {layers})
    grid = [Setting(*one) for one in product(THRESHOLDS, GATES, some)]
    found: Found = {}
    for lens, seen in views.items():
        report(Progress(f"Deciding anew under {len(grid)} settings, lens {lens.value}"))
        check(cancel)
        bank = parts.predictors if lens is Lens.IDENTITY else parts.lens_predictors
        assert bank is not None, "a lens has predictors of its own"
        found[lens] = Replay(seen, score_table(bank, seen), parts.offline_ranking).points(grid)
    return found


def price(point: Point, predictor: float, heads: float = HEAD_LAYERS) -> float:
    """What a token costs in layer-times but for the drafter and the last product with the head, which all pay.

    `predictor` is what asking one costs, `heads` what a check does.
    """
    refused = max(0.0, point.verifications - point.early)
    return point.mean_exit_layer + predictor * point.predictors + heads * refused


def cheapest(found: Found, floor: float, predictor: float) -> tuple[Lens, Point] | None:
    """The setting of least price among those that agree at least so often."""
    offered = [(lens, point) for lens, points in found.items() for point in points if point.agreement >= floor]
    return min(offered, key=lambda one: price(one[1], predictor), default=None)


def frontier_of(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats in agreement and mean exit layer both, by rising exit layer."""
    best, kept = -1.0, []
    for point in sorted(points, key=lambda one: (one.mean_exit_layer, -one.agreement)):
        if point.agreement > best:
            best = point.agreement
            kept.append(point)
    return kept


def candidates(found: Found, parts: TrainedParts, predictor: float) -> list[Candidate]:
    """What real runs try: dense and the paper first, then the cheapest settings, each with both kinds of heads."""
    paper = fitted(RunSettings(policy=Policy.SPECEE_T1T2), parts.predictors.layers)
    listed = [Candidate("dense", RunSettings(policy=Policy.DENSE)), Candidate("paper", paper)]
    seen: set[RunSettings] = set()
    for floor in FLOORS:
        chosen = cheapest(found, floor, predictor)
        if chosen is None:
            continue
        plain = _settings(*chosen, parts.predictors.layers)
        for settings in (plain, replace(plain, check=Head.SLIM, draft_head=Head.SLIM))[: 1 + (parts.slim is not None)]:
            if settings not in seen:
                listed.append(Candidate(_name(floor, settings), settings))
            seen.add(settings)
    return listed


def fitted(settings: RunSettings, layers: int) -> RunSettings:
    """The same with M and r no larger than a model with so many predictors takes."""
    scheduler = settings.scheduler
    smaller = replace(
        scheduler, offline_layers=min(scheduler.offline_layers, layers), radius=min(scheduler.radius, layers)
    )
    return replace(settings, scheduler=smaller)


def _settings(lens: Lens, point: Point, layers: int) -> RunSettings:
    scheduler = SchedulerSettings(offline_layers=point.offline_layers or 0)
    chosen = RunSettings(
        policy=Policy.SPECEE_T1T2, threshold=point.threshold, gate=point.gate, lens=lens, scheduler=scheduler
    )
    return fitted(chosen, layers)


def _name(floor: float, settings: RunSettings) -> str:
    heads = ", low-rank heads" if settings.check is Head.SLIM else ""
    return f"cheapest above {floor:.1%}{heads}"


def measure(
    engine: Engine,
    tried: Sequence[Candidate],
    prompts: Sequence[Prompt],
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> list[dict[str, Any]]:
    """Run each candidate on the same tune prompts in turns, audited, as far as the time goes; one prompt at least.

    Returns:
        A row a candidate: its name, settings and figures.

    Raises:
        Cancelled: `cancel` was set; finished prompts stay counted.
    """
    state = work.load_json(Stage.TUNE, MEASURED) or {"prompts": 0, "rows": [_blank(one) for one in tried]}
    tune = in_turns([prompt for prompt in prompts if prompt.split is Split.TUNE])
    timer = Timer(0.0, options.seconds(Stage.TUNE))
    for prompt in tune[state["prompts"] :]:
        if state["prompts"] and timer.over:
            break
        rows = []
        for row, candidate in zip(state["rows"], tried, strict=True):
            audited = replace(candidate.settings, record=Record.AUDIT)
            rows.append(_counted(row, run_prompt(engine, prompt.text, audited, NEW_TOKENS, cancel)))
            check(cancel)
        state = {"prompts": state["prompts"] + 1, "rows": rows}
        work.save_json(Stage.TUNE, MEASURED, state)
        report(Progress("Trying settings in real runs", state["prompts"], len(tune), "prompts"))
    return [_figures(row, state["rows"][0]) for row in state["rows"]]


def in_turns(prompts: Sequence[Prompt]) -> list[Prompt]:
    """The prompts with their categories taking turns, so that the first few are of every kind."""
    places: dict[str, int] = {}
    order: list[tuple[int, int, Prompt]] = []
    for prompt in prompts:
        places[prompt.category] = places.get(prompt.category, 0) + 1
        order.append((places[prompt.category], len(order), prompt))
    return [prompt for _, _, prompt in sorted(order, key=lambda one: one[:2])]


def _blank(candidate: Candidate) -> dict[str, Any]:
    return {"name": candidate.name, "settings": candidate.settings.to_json()} | dict.fromkeys(_COUNTS, 0.0)


def _counted(row: dict[str, Any], trace: Trace) -> dict[str, Any]:
    """The row with one more answer."""
    counts = dict.fromkeys(_COUNTS, 0.0)
    for record in trace.emitted[1:]:
        emitted, audit = record.emitted, record.audit
        assert emitted is not None, "emitted records have an emitted token"
        assert audit is not None, "an audited run audits every token"
        counts["tokens"] += 1
        counts["agree"] += audit.full_depth_id == emitted.token_id
        counts["layers"] += emitted.exit_layer
        counts["early"] += emitted.reason is ExitReason.VERIFIED
        counts["checks"] += len(record.verified)
        counts["asked"] += int(record.evaluated.sum())
        counts["seconds"] += emitted.times.total - emitted.times.recording
    return row | {name: row[name] + count for name, count in counts.items()}


def _figures(row: Mapping[str, Any], dense: Mapping[str, Any]) -> dict[str, Any]:
    tokens = max(1, row["tokens"])
    speed, other = (one["tokens"] / one["seconds"] if one["seconds"] else 0.0 for one in (row, dense))
    return {
        "name": row["name"],
        "settings": row["settings"],
        "tokens": int(row["tokens"]),
        "agreement": round(row["agree"] / tokens, 4),
        "mean_exit_layer": round(row["layers"] / tokens, 4),
        "early": round(row["early"] / tokens, 4),
        "verifications": round(row["checks"] / tokens, 4),
        "predictors": round(row["asked"] / tokens, 4),
        "tokens_per_second": round(speed, 3),
        "ratio_to_dense": round(speed / other, 4) if other else 0.0,
    }


def choose(measured: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The row to recommend: of those that agree often enough the one that leaves earliest, the faster of equals.

    Where none does, the one that agrees most; None where nothing but dense decoding and the paper was tried.
    """
    offered = [row for row in measured if row["name"] not in ("dense", "paper")]
    enough = [row for row in offered if row["agreement"] >= AGREEMENT]
    if not enough:
        return max(offered, key=lambda row: row["agreement"], default=None)
    earliest = min(row["mean_exit_layer"] for row in enough)
    near = [row for row in enough if row["mean_exit_layer"] <= earliest + NEAR]
    return max(near, key=lambda row: row["tokens_per_second"])


def recommendation(row: Mapping[str, Any]) -> dict[str, Any]:
    """The card's entry "recommended": the fields of `RunSettings` that make up an operating point."""
    names = ("policy", "threshold", "gate", "lens", "check", "draft_head", "scheduler")
    return {name: row["settings"][name] for name in names}
