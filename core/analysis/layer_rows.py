"""One token's pass as rows, one a layer: what the layer itself would say, what its predictor said, what came of it.

An audited token has all of it at every layer. Of a live one the layers' own tokens are known only where an exit was
checked and where the pass ended, and scores only where a predictor was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from core.analysis.counterfactual import Counterfactual, Said, counterfactual
from core.analysis.texts import visible
from core.config import RunSettings
from core.trace.events import FloatArray, TreeVerified, Verified, WalkEnd
from core.trace.overview import candidates_of
from core.trace.records import TokenRecord

NAN = float("nan")


class LayerState(StrEnum):
    """What came of one layer in one token's pass."""

    NOT_RUN = "not run yet"
    RAN = "ran"
    """No predictor belongs here: another policy, prefill, or the last layer of a pass in flight."""
    NOT_SCHEDULED = "not scheduled"
    BELOW = "below threshold"
    PATH_BELOW = "path below"
    """In a tree: the token's own node scored above the threshold, and no path that may end the pass did."""
    PROPOSED = "proposed"
    """An exit was proposed, and no check is recorded."""
    REFUSED = "refused"
    """An exit was proposed, and the full vocabulary said otherwise."""
    GATED = "refused by the gate"
    EXITED = "exit"
    LAST = "full depth"
    """The last layer, which always ends the pass."""
    BEYOND = "beyond the exit"


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer of one token."""

    layer: int
    state: LayerState
    text: str | None = None
    """Visible form of the layer's own token; None where it was not recorded."""
    said: Said | None = None
    """That token held against the full-depth one; None without an audit."""
    probability: float = NAN
    """Of the layer's own token in the whole vocabulary; known where that is a candidate and the run was audited."""
    margin: float = NAN
    """p₁ - p₂ over the whole vocabulary."""
    rank: int | None = None
    """0-based place of the layer's own token in S; -1 where it is none of S, None where that is not known."""
    score: float = NAN
    """Of the predictor, asked by the run or by the audit."""
    threshold: float = NAN
    """NaN where no predictor belongs."""
    asked: bool = False
    """Whether the run itself asked the predictor."""


@dataclass(frozen=True, slots=True)
class LayerColumn:
    """The L rows of one token."""

    token: int
    rows: tuple[LayerRow, ...]
    exit_layer: int
    """Layers run, 1…L; 0 in flight."""
    column: Counterfactual | None
    """What only an audit tells; None for a live recording and in flight."""


def layer_column(record: TokenRecord, settings: RunSettings) -> LayerColumn:
    """All that is known of a token's layers."""
    column = counterfactual(record)
    exit_layer = record.emitted.exit_layer if record.emitted else 0
    scores = _live_scores(record) if column is None else _where_asked(_live_scores(record), column.scores)
    rows = tuple(_row(record, settings, column, scores, layer) for layer in range(record.depth))
    return LayerColumn(record.token, rows, exit_layer, column)


def _row(
    record: TokenRecord, settings: RunSettings, column: Counterfactual | None, scores: FloatArray, layer: int
) -> LayerRow:
    judged = settings.policy.needs_parts and layer < record.depth - 1
    text, margin, rank = _own(record, layer) if column is None else _audited(column, layer)
    return LayerRow(
        layer=layer,
        state=_state(record, settings, layer, float(scores[layer])),
        text=text,
        said=Said(int(column.said[layer])) if column else None,
        probability=_probability(record, rank, layer),
        margin=margin,
        rank=rank,
        score=float(scores[layer]),
        threshold=settings.threshold_at(layer) if judged else NAN,
        asked=bool(record.evaluated[layer]),
    )


def _state(record: TokenRecord, settings: RunSettings, layer: int, score: float) -> LayerState:
    if layer >= record.layers_run:
        return LayerState.BEYOND if record.emitted else LayerState.NOT_RUN
    if record.emitted and layer + 1 == record.emitted.exit_layer:
        return LayerState.EXITED if layer < record.depth - 1 else LayerState.LAST
    check = record.checks.get(layer)
    if check is not None and not check.accepted:
        return LayerState.GATED if _gated(check) else LayerState.REFUSED
    if record.proposed[layer]:
        return LayerState.PROPOSED
    if record.evaluated[layer]:
        by_path = record.tree is not None and score > settings.threshold_at(layer)
        return LayerState.PATH_BELOW if by_path else LayerState.BELOW
    return LayerState.NOT_SCHEDULED if settings.policy.needs_parts and record.schedule else LayerState.RAN


def _gated(check: Verified | TreeVerified) -> bool:
    return check.gated if isinstance(check, Verified) else check.end is WalkEnd.GATED


def _audited(column: Counterfactual, layer: int) -> tuple[str, float, int | None]:
    rank = int(column.candidate_ranks[layer])
    return column.texts[layer], float(column.margins[layer]), rank if rank >= -1 else None


def _own(record: TokenRecord, layer: int) -> tuple[str | None, float, int | None]:
    """A live recording's text, margin and rank of a layer's own token, as far as a check or the exit tells them."""
    check = record.checks.get(layer)
    if isinstance(check, Verified):
        return visible(check.argmax_bytes), check.margin, check.candidate_rank
    if isinstance(check, TreeVerified) and (found := _on_walk(record, check)) is not None:
        return found
    if record.emitted and layer + 1 == record.emitted.exit_layer:
        return visible(record.emitted.token_bytes, record.emitted.special), NAN, None
    return None, NAN, None


def _on_walk(record: TokenRecord, check: TreeVerified) -> tuple[str, float, int | None] | None:
    """What the walk says at the token's own node; None where it did not get there."""
    node = _node(record)
    at = check.walk.tolist().index(node) if node is not None and node in check.walk else None
    candidates = candidates_of(record)
    if at is None or candidates is None:
        return None
    places = np.flatnonzero(candidates == check.argmax_ids[at])
    return visible(check.argmax_bytes[at]), float(check.margins[at]), int(places[0]) if len(places) else -1


def _probability(record: TokenRecord, rank: int | None, layer: int) -> float:
    known = record.audit is not None and rank is not None and rank >= 0
    if not known or record.audit is None or rank >= record.audit.candidate_probabilities.shape[1]:
        return NAN
    return float(record.audit.candidate_probabilities[layer, rank])


def _live_scores(record: TokenRecord) -> FloatArray:
    """What the run's own predictors said, of a tree at the token's own node. Shape [L]; NaN where none was asked."""
    scores, node = record.scores, _node(record)
    if record.tree is None or node is None:
        return scores
    scores = scores.copy()
    for layer, run in record.tree.layers.items():
        if node < len(run.scores):
            scores[layer] = run.scores[node]
    return scores


def _where_asked(asked: FloatArray, otherwise: FloatArray) -> FloatArray:
    return np.where(np.isnan(asked), otherwise, asked)


def _node(record: TokenRecord) -> int | None:
    """The node of a tree after which the token comes; None while the pass runs."""
    if record.tree is None:
        return None
    nodes, at = record.tree.nodes_by_token, record.token - record.tree.drafted.token
    return nodes[at] if at < len(nodes) else None
