"""Tables of a whole run: a row a token, or a row a token and layer. Tokens and layers count from 1, as on screen.

Token texts stand in quotation marks in their visible form, so that no program that opens the table takes one for a
formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.analysis import costs, kv_map, ledger, summaries
from core.analysis.calibration import Judgements, calibration, judgements
from core.analysis.frontier import Frontier
from core.analysis.ledger import Entry
from core.analysis.summaries import Outcome
from core.analysis.texts import quoted
from core.analysis.why import why_plain
from core.report.table import Row, Table
from core.trace.overview import REASONS, UNKNOWN, CellState
from core.trace.reading import ReadableTrace

OUTCOMES = {
    Outcome.PREFILL: "prefill",
    Outcome.EARLY_EXIT: "early exit",
    Outcome.FULL_DEPTH: "full depth",
    Outcome.REFUSED: "proposed and refused",
    Outcome.WRONG_EXIT: "wrong exit",
    Outcome.GIVEN: "given",
}
TOKENS = (
    *("token", "text", "token_id", "exit_layer", "outcome", "reason", "refusals", "full_depth_id", "final_rank"),
    *("active_layers", "pass", "seconds", "special"),
)
EXITS = ("token", "exit_layer", "outcome", "running_mean")
SCHEDULER = ("token", "layer", "offline", "online", "evaluated", "proposed", "refused", "exited", "wrong")
KV_MAP = ("token", "layer", "state", "caught_up_by")
COSTS = (
    "token",
    *(f"{stage}_seconds" for stage in costs.STAGES),
    "layers_saved",
    "saved_seconds",
    *(f"{part.replace(' ', '_')}_spent_seconds" for part in costs.PARTS),
    "net_seconds",
)
LEDGER = ("class", "tokens", "layers_saved", "layers_lost")
LEDGER_TOKENS = ("token", "class", "layers_saved", "layers_lost", "refusals", "gated")
FRONTIER = ("threshold", "mean_exit_layer", "agreement", "early", "verifications", "exact_tokens")
CALIBRATION = ("layer", "from", "to", "tokens", "mean_score", "came_true", "low", "high")
WHY = ("token", "text", "why")


def token_table(trace: ReadableTrace) -> Table:
    """The token strip."""
    return Table(TOKENS, _tokens(trace))


def _tokens(trace: ReadableTrace) -> Iterator[Row]:
    seen, outcomes = trace.overview, summaries.outcomes(trace)
    for at, text in enumerate(seen.texts):
        full, rank, active = (
            _known(int(column[at])) for column in (seen.full_depth_ids, seen.final_ranks, seen.active_layers)
        )
        yield (
            *(at + 1, quoted(text, bool(seen.special[at])), int(seen.token_ids[at]), int(seen.exit_layers[at])),
            *(OUTCOMES[Outcome(int(outcomes[at]))], REASONS[int(seen.reasons[at])].value, int(seen.refusals[at])),
            *(full, _rank(rank), active, int(seen.passes[at]) + 1, float(seen.seconds[at]), bool(seen.special[at])),
        )


def _known(value: int) -> int | None:
    return None if value == UNKNOWN else value


def _rank(rank: int | None) -> int | str | None:
    """The full-depth token's place among the candidates, from 1 on."""
    return None if rank is None else rank + 1 if rank >= 0 else "none"


def exit_table(trace: ReadableTrace) -> Table:
    """The exit chart."""
    series = summaries.exit_series(trace)
    names = [OUTCOMES[Outcome(one)] for one in series.outcomes.tolist()]
    columns = zip(series.exit_layers.tolist(), names, series.running_mean.tolist(), strict=True)
    return Table(EXITS, ((at + 1, *row) for at, row in enumerate(columns)))


def scheduler_table(trace: ReadableTrace) -> Table:
    """The scheduler map, a row a cell."""
    states = summaries.scheduler_map(trace).states
    rows = (
        (token + 1, layer + 1, *(bool(state & flag) for flag in CellState if flag))
        for token, layers in enumerate(states)
        for layer, state in enumerate(layers.tolist())
    )
    return Table(SCHEDULER, rows)


def kv_table(trace: ReadableTrace) -> Table:
    """The K/V map, a row an entry."""
    found = kv_map.kv_map(trace)
    rows = (
        (token + 1, layer + 1, kv_map.LABELS[kv_map.KVState(state)], by + 1 if by >= 0 else None)
        for token in range(len(found.states))
        for layer, (state, by) in enumerate(
            zip(found.states[token].tolist(), found.caught_up_by[token].tolist(), strict=True)
        )
    )
    return Table(KV_MAP, rows)


def cost_table(trace: ReadableTrace) -> Table:
    """The cost bar, a row a token."""
    found = costs.costs(trace)
    columns = zip(found.stages, found.layers_saved, found.saved, found.spent, found.net, strict=True)
    rows = (
        (at + 1, *stages.tolist(), int(layers), float(saved), *spent.tolist(), float(net))
        for at, (stages, layers, saved, spent, net) in enumerate(columns)
    )
    return Table(COSTS, rows)


def ledger_table(found: ledger.Ledger) -> Table:
    """The outcome ledger, a row a class."""
    return Table(LEDGER, [(row.label, row.count, row.saved, row.lost) for row in found.rows])


def ledger_token_table(found: ledger.Ledger) -> Table:
    """The outcome ledger, a row a token; the class is empty where a token has none."""
    columns = zip(found.entries, found.saved, found.lost, found.refusals, found.gated, strict=True)
    rows = ((at + 1, _label(int(row[0])), *map(int, row[1:])) for at, row in enumerate(columns))
    return Table(LEDGER_TOKENS, rows)


def _label(entry: int) -> str | None:
    return ledger.LABELS.get(Entry(entry))


def frontier_table(found: Frontier) -> Table:
    """The frontier, a row a threshold."""
    return Table(FRONTIER, [tuple(getattr(point, name) for name in FRONTIER) for point in found.points])


def calibration_table(trace: ReadableTrace, layer: int | None = None) -> Table:
    """Calibration of every layer's predictor, or of one's, against exits that would be verified and right."""
    judged = judgements(trace)
    layers = range(trace.depth - 1) if layer is None else [layer]
    return Table(CALIBRATION, (row for one in layers for row in _bins(judged, one)))


def _bins(judged: Judgements, layer: int) -> Iterator[Row]:
    found = calibration(judged.of_layer(layer))
    true = found.came_true
    for at, count in enumerate(found.counts.tolist()):
        numbers: tuple[Any, ...] = (found.mean_scores[at], true.values[at], true.low[at], true.high[at])
        yield layer + 1, *found.edges[at : at + 2].tolist(), count, *map(float, numbers)


def why_table(trace: ReadableTrace) -> Table:
    """The why panel's paragraph of every token."""
    seen = trace.overview
    rows = (
        (at + 1, quoted(text, bool(seen.special[at])), why_plain(trace, at, None)) for at, text in enumerate(seen.texts)
    )
    return Table(WHY, rows)
