"""A what-if held against a run with its settings: the exact part must be decided the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.active_sets import TOLERANCE
from core.analysis.what_if import Decisions
from core.analysis.what_if_trees import TreeDecisions
from core.analysis.wording import bold, joined
from core.trace.events import BoolArray, IntArray
from core.trace.reading import ReadableTrace


@dataclass(frozen=True, slots=True)
class Truth:
    """How far a run went along with what had been decided for it."""

    unit: str
    """"token", or "pass" of a token tree."""
    promised: int
    """Tokens or passes that are exact, the prompt's pass left out."""
    reached: int
    """Those of them that the run came to before it ended."""
    same: int
    """Those of them with the same exit layer and text."""
    first_other: int | None
    """The first that is not, 0-based; None where all are."""
    score_gap: float
    """The largest distance between two scores of the same layer; NaN where no scores are compared."""
    doubt_from: int | None
    """The first exact one whose decision is flagged, so that a run may decide otherwise there; None where none is."""

    @property
    def holds(self) -> bool:
        """Whether the run took every exact decision that it came to, up to the first that is in doubt."""
        return self.first_other is None or (self.doubt_from is not None and self.first_other >= self.doubt_from)


def hold_tokens(decided: Decisions, rerun: ReadableTrace) -> Truth:
    """The exact tokens against a run of one token a pass."""
    promised = min(decided.estimate_from, len(decided.exit_layers))
    reached = min(promised, rerun.emitted_count)
    same = (decided.exit_layers[:reached] == rerun.exit_layers[:reached]) & (
        decided.token_ids[:reached] == rerun.overview.token_ids[:reached]
    )
    other = _first(~same)
    return Truth(
        unit="token",
        promised=max(promised - 1, 0),
        reached=max(reached - 1, 0),
        same=int(same[1:].sum()),
        first_other=other,
        score_gap=_gap(decided, rerun, reached if other is None else other),
        doubt_from=_first(decided.doubts[:promised] != 0),
    )


def _gap(decided: Decisions, rerun: ReadableTrace, until: int) -> float:
    """The largest distance of scores over the tokens before `until`; NaN where none were given."""
    gaps = [np.abs(decided.scores[token] - rerun.records[token].scores) for token in range(1, until)]
    found = np.array(gaps)
    return float(np.nanmax(found)) if len(gaps) and not np.isnan(found).all() else float("nan")


def hold_passes(decided: TreeDecisions, rerun: ReadableTrace) -> Truth:
    """The exact passes against a run of token trees, whose newest pass may have been cut short by its limit."""
    promised = min(decided.estimate_from, len(decided.firsts))
    stretches = _stretches(rerun.overview.passes)
    reached = min(promised, len(stretches))
    ids, layers = rerun.overview.token_ids, rerun.exit_layers
    same = np.array(
        [
            layers[first] == decided.exit_layers[at]
            and tuple(ids[first:end].tolist()) == decided.tokens[at][: end - first]
            for at, (first, end) in enumerate(stretches[:reached])
        ],
        np.bool_,
    )
    doubt_from = _first(decided.doubts[:promised] != 0)
    return Truth("pass", promised, reached, int(same.sum()), _first(~same), float("nan"), doubt_from)


def _first(found: BoolArray) -> int | None:
    at = np.flatnonzero(found)
    return int(at[0]) if len(at) else None


def _stretches(passes: IntArray) -> list[tuple[int, int]]:
    """First token and last token + 1 of each pass after prefill."""
    firsts = np.flatnonzero(passes == np.arange(len(passes)))[1:].tolist()
    return list(zip(firsts, [*firsts[1:], len(passes)], strict=True))


def truth_words(truth: Truth) -> str:
    """What the run said to the what-if, in sentences (minimal HTML)."""
    plural = {"token": "tokens", "pass": "passes"}[truth.unit]
    if not truth.reached:
        return f"The re-run ended before the first of the {bold(truth.promised)} exact {plural}."
    said = f"The re-run decided {bold(f'{truth.same} of {truth.reached}')} exact {plural} the same"
    return joined(f"{said}{_scores(truth)}.", _otherwise(truth))


def _scores(truth: Truth) -> str:
    if np.isnan(truth.score_gap):
        return ""
    if truth.score_gap <= TOLERANCE:
        return f", scores within {bold(f'{TOLERANCE:.5f}')}"
    return f", but scores differ by up to {bold(f'{truth.score_gap:.5f}')}"


def _otherwise(truth: Truth) -> str:
    if truth.first_other is None:
        return ""
    start = f"It first departs at {truth.unit} {bold(truth.first_other + 1)}"
    if truth.holds:
        return f"{start}, where a decision was in doubt."
    return f"{start}: parts, number format or threads must differ from the recording’s."
