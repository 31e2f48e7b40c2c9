"""A what-if beside its recording, token by token: what changes, why, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.analysis.active_sets import Doubt
from core.analysis.columns import AuditColumns
from core.analysis.what_if import Decisions
from core.analysis.what_if_trees import TreeDecisions
from core.config import RunSettings
from core.trace.events import BoolArray, IntArray
from core.trace.lazy import Lazy
from core.trace.reading import ReadableTrace

DOUBT_WORDS = {Doubt.SCORE: "score", Doubt.MARGIN: "margin", Doubt.PREDICTOR: "predictor", Doubt.SHORTLIST: "shortlist"}
"""A word a doubt, as the documentation lists them."""


@dataclass(frozen=True, slots=True)
class Change:
    """One token, of a tree the first token of one pass, whose decision is another."""

    token: int
    recorded: int
    """Exit layer, 1…L."""
    asked: int
    """Exit layer, 1…L; the least it can be where `known` is False."""
    known: bool
    """Whether the recording tells where the pass would leave."""
    reason: str
    exact: bool
    doubts: Doubt


class Changes(Lazy[Change]):
    """In the order of their tokens. Each is put into words when somebody looks: a long run has tens of thousands."""

    def __init__(self, tokens: IntArray, change_of: Callable[[int], Change]) -> None:
        """The tokens of the changes, rising, and what makes the one at a place among them."""
        self.tokens, self._change_of = tokens, change_of

    def __len__(self) -> int:
        return len(self.tokens)

    def item(self, place: int) -> Change:
        return self._change_of(place)


@dataclass(frozen=True, slots=True)
class Totals:
    """Figures over the tokens after the first."""

    mean_exit_layer: float
    """Layers run, 1…L; NaN without such tokens, as the shares are."""
    early: float
    """Share that leaves before the last layer."""
    agreement: float
    """Share that full depth would have given too; NaN where that is not known."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Recorded and asked exit layers, one entry a token of the recording."""

    settings: RunSettings
    """What was asked."""
    depth: int
    recorded: IntArray
    """Shape [n], 1…L."""
    asked: IntArray
    """Shape [n], 1…L; the least it can be where `known` is False."""
    known: BoolArray
    """Shape [n]."""
    estimate_from: int
    """The first token that is an estimate; n where there is none."""
    changes: Changes
    before: Totals
    after: Totals

    @property
    def exact_tokens(self) -> int:
        """Tokens after the first that a run decides the same."""
        return max(min(self.estimate_from, len(self.asked)) - 1, 0)


def totals(exit_layers: IntArray, right: BoolArray | None, decided: BoolArray, depth: int) -> Totals:
    """Figures of the `decided` ones of n tokens. All shaped [n]; `right` says which full depth gives too, if that is
    known."""
    layers = exit_layers[decided]
    if not len(layers):
        return Totals(float("nan"), float("nan"), float("nan"))
    agreement = float("nan") if right is None else float(right[decided].mean())
    return Totals(float(layers.mean()), float((layers < depth).mean()), agreement)


def compare_tokens(decided: Decisions, columns: AuditColumns) -> Comparison:
    """A run of one token a pass, beside what was decided for it."""
    final, moved = columns.own_ids[:, -1], np.flatnonzero(decided.changed)
    return Comparison(
        settings=decided.settings,
        depth=columns.depth,
        recorded=columns.exit_layers,
        asked=decided.exit_layers,
        known=np.ones(len(columns), np.bool_),
        estimate_from=decided.estimate_from,
        changes=Changes(moved, lambda at: _change(decided, columns, int(moved[at]), exact=at == 0)),
        before=totals(columns.exit_layers, columns.token_ids == final, columns.audited, columns.depth),
        after=totals(decided.exit_layers, decided.token_ids == final, columns.audited, columns.depth),
    )


def _change(decided: Decisions, columns: AuditColumns, token: int, *, exact: bool) -> Change:
    return Change(
        token=token,
        recorded=int(columns.exit_layers[token]),
        asked=int(decided.exit_layers[token]),
        known=True,
        reason=reason(decided, columns, token),
        exact=exact,
        doubts=Doubt(int(decided.doubts[token])),
    )


def reason(decided: Decisions, columns: AuditColumns, token: int) -> str:
    """Why a token whose exit layer changed leaves elsewhere, in a few words."""
    before, after = int(columns.exit_layers[token]) - 1, int(decided.exit_layers[token]) - 1
    return (
        _why_sooner(decided, columns, token, after) if after < before else _why_later(decided, columns, token, before)
    )


def _why_sooner(decided: Decisions, columns: AuditColumns, token: int, at: int) -> str:
    """What lets the pass go at layer `at`, where the recorded one did not leave."""
    score, threshold = float(decided.scores[token, at]), decided.settings.threshold_at(at)
    if not columns.active[token, at]:
        return f"layer {at + 1} is watched now, score {_compared(score, threshold)}"
    if columns.scores[token, at] > columns.settings.threshold_at(at):
        return f"margin {_compared(float(columns.margins[token, at]), decided.settings.gate)} passes the gate"
    return f"score {_compared(score, threshold)} at layer {at + 1}"


def _why_later(decided: Decisions, columns: AuditColumns, token: int, at: int) -> str:
    """What keeps the pass from leaving at layer `at`, where the recorded one did."""
    if not decided.active[token, at]:
        return f"layer {at + 1} is not watched"
    if decided.proposed[token, at]:
        return f"margin {_compared(float(columns.margins[token, at]), decided.settings.gate)} fails the gate"
    return f"score {_compared(float(decided.scores[token, at]), decided.settings.threshold_at(at))} at layer {at + 1}"


def _compared(value: float, limit: float) -> str:
    """`0.71 > 0.50`, with as many digits as it takes to see the difference."""
    for digits in (2, 3, 4, 6):
        one, other = f"{value:.{digits}f}", f"{limit:.{digits}f}"
        if one != other:
            break
    sign = ">" if value > limit else "<" if value < limit else "="
    return f"{one} {sign} {other}"


def compare_passes(decided: TreeDecisions, trace: ReadableTrace) -> Comparison:
    """A run of token trees beside what was decided for it; each pass's tokens share its exit layer."""
    count = decided.count
    at = np.searchsorted(decided.firsts, np.arange(count), "right") - 1
    has_pass = at >= 0
    recorded = trace.exit_layers[:count].copy()
    asked, known = recorded.copy(), np.ones(count, np.bool_)
    layers = np.where(decided.known, decided.exit_layers, np.maximum(decided.followed, 1))
    asked[has_pass], known[has_pass] = layers[at[has_pass]], decided.known[at[has_pass]]
    first, seen = decided.estimate_from, trace.overview
    audited, moved = has_pass & seen.audited[:count], np.flatnonzero(decided.changed | ~decided.known)
    return Comparison(
        settings=decided.settings,
        depth=trace.depth,
        recorded=recorded,
        asked=asked,
        known=known,
        estimate_from=int(decided.firsts[first]) if first < len(decided.firsts) else count,
        changes=Changes(
            decided.firsts[moved], lambda at: _pass_change(decided, int(moved[at]), exact=moved[at] < first)
        ),
        before=totals(recorded, ~seen.wrong[:count], audited, trace.depth),
        after=totals(asked, None, audited, trace.depth),
    )


def _pass_change(decided: TreeDecisions, at: int, *, exact: bool) -> Change:
    known, recorded = bool(decided.known[at]), int(decided.recorded_exits[at])
    followed = max(int(decided.followed[at]), 1)
    asked = int(decided.exit_layers[at]) if known else followed
    if not known:
        why = f"not known beyond layer {followed}"
    elif asked == recorded:
        why = "emits other tokens"
    else:
        why = "leaves sooner" if asked < recorded else "leaves later"
    return Change(int(decided.firsts[at]), recorded, asked, known, why, exact, Doubt(int(decided.doubts[at])))


def doubt_words(doubts: Doubt) -> str:
    """The doubts of a decision, a word each; "" where there are none."""
    return ", ".join(word for doubt, word in DOUBT_WORDS.items() if doubts & doubt)
