"""The operating point: threshold × gate × lens × M, first re-decided on tune prompts, then a few in real runs.

A setting's price is counted in layer-times: the mean exit layer plus what its predictors and products with an LM head
cost, as measured on this machine. The cheapest settings are run on tune prompts, and one that leaves as early as can
be. The default is, of those that keep to the full-depth token in `AGREEMENT` of real tokens and are about as fast as
the fastest, the one that leaves earliest. The paper's own setting runs beside them, and so does dense decoding, which
the speed is held against.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from core.choices import Head, Lens, Policy, Record
from core.config import RunSettings, SchedulerSettings
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
FLOORS = {Head.FULL: (0.99,), Head.SLIM: (0.99, 0.993, 0.996)}
"""Real runs agree somewhat less than re-decided ones: the cheapest setting above each of these is tried."""
EARLIEST, WATCHED = 0.993, 16
"""The setting that leaves earliest is sought above this agreement, with no more layers always watched."""
NEW_TOKENS = 48
"""Of each answer in real runs."""
MEASURED = "measured.json"
NEAR = 0.97
"""A setting is about as fast as the fastest from this share of its speed on."""
SHOWN, STEP = 0.85, 0.002
"""Agreement from which a frontier is kept, and by how much its points rise."""
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


@dataclass(frozen=True, slots=True)
class Prices:
    """What the pieces of a token cost, in layer-times."""

    predictor: float
    """Asking one, features and lens included."""
    checks: Mapping[Head, float]
    """A check through either head; through the full one it is a product with it."""

    def of(self, point: Point, head: Head) -> float:
        """What a token costs but for its draft, which all settings pay alike."""
        heads = self.checks[head] * point.verifications + self.checks[Head.FULL] * (1 - point.early)
        return point.mean_exit_layer + self.predictor * point.predictors + heads


def best(found: Found, floor: float, value: Callable[[Point], float]) -> tuple[Lens, Point] | None:
    """The setting of least value among those that agree at least so often."""
    offered = [(lens, point) for lens, points in found.items() for point in points if point.agreement >= floor]
    return min(offered, key=lambda one: value(one[1]), default=None)


def frontier_of(points: Sequence[Point]) -> list[Point]:
    """Points that no other beats in agreement and mean exit layer both, by rising exit layer, a step apart."""
    reached, kept = SHOWN - STEP, []
    for point in sorted(points, key=lambda one: (one.mean_exit_layer, -one.agreement)):
        if point.agreement >= min(reached + STEP, 1.0) and point.agreement > reached:
            reached = point.agreement
            kept.append(point)
    return kept


def candidates(found: Found, parts: TrainedParts, prices: Prices) -> list[Candidate]:
    """What real runs try: dense and the paper first, then the cheapest settings, and one that leaves early."""
    layers, cheapest = parts.predictors.layers, Head.SLIM if parts.trimmed is None else Head.TRIMMED
    drafting = {Head.FULL: Head.FULL, Head.SLIM: cheapest}
    paper = fitted(RunSettings(policy=Policy.SPECEE_T1T2), layers)
    listed = {RunSettings(policy=Policy.DENSE): "dense", paper: "paper"}
    for head in (Head.FULL, Head.SLIM)[: 1 + (parts.slim is not None)]:
        for floor in FLOORS[head]:
            chosen = best(found, floor, partial(_price, prices, head))
            if chosen is not None:
                listed.setdefault(
                    _settings(*chosen, layers, head, drafting[head]), _name(f"cheapest above {floor:.1%}", head)
                )
    earliest = best(found, EARLIEST, _exit_layer)
    if earliest is not None:
        head = Head.FULL if parts.slim is None else Head.SLIM
        listed.setdefault(
            _settings(*earliest, layers, head, drafting[head]), _name(f"earliest above {EARLIEST:.1%}", head)
        )
    return [Candidate(name, settings) for settings, name in listed.items()]


def _price(prices: Prices, head: Head, point: Point) -> float:
    return prices.of(point, head)


def _exit_layer(point: Point) -> float:
    watched = point.offline_layers is not None and point.offline_layers <= WATCHED
    return point.mean_exit_layer if watched else math.inf


def fitted(settings: RunSettings, layers: int) -> RunSettings:
    """The same with M and r no larger than a model with so many predictors takes."""
    scheduler = settings.scheduler
    smaller = replace(
        scheduler, offline_layers=min(scheduler.offline_layers, layers), radius=min(scheduler.radius, layers)
    )
    return replace(settings, scheduler=smaller)


def _settings(lens: Lens, point: Point, layers: int, head: Head, draft_head: Head) -> RunSettings:
    chosen = RunSettings(
        policy=Policy.SPECEE_T1T2,
        threshold=point.threshold,
        gate=point.gate,
        lens=lens,
        check=head,
        draft_head=draft_head,
        scheduler=SchedulerSettings(offline_layers=point.offline_layers or 0),
    )
    return fitted(chosen, layers)


def _name(words: str, head: Head) -> str:
    return f"{words}, cheap heads" if head is Head.SLIM else words


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
    """The row to recommend: of those that agree often enough and are about as fast as the fastest, the earliest.

    Where none agrees enough, the one that agrees most; None where nothing but dense decoding and the paper was tried.
    """
    offered = [row for row in measured if row["name"] not in ("dense", "paper")]
    enough = [row for row in offered if row["agreement"] >= AGREEMENT]
    if not enough:
        return max(offered, key=lambda row: row["agreement"], default=None)
    fastest = max(row["tokens_per_second"] for row in enough)
    fast = [row for row in enough if row["tokens_per_second"] >= NEAR * fastest]
    return min(fast, key=lambda row: row["mean_exit_layer"])


def recommendation(row: Mapping[str, Any]) -> dict[str, Any]:
    """The card's entry "recommended": the fields of `RunSettings` that make up an operating point."""
    names = ("policy", "threshold", "gate", "lens", "check", "draft_head", "scheduler")
    return {name: row["settings"][name] for name in names}
