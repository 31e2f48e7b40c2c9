"""Two runs aligned by token, as a view shows them: rows, where to look next, and what one token is in each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.analysis.compare import Comparison, compare
from core.analysis.summaries import CandidateCurves, Outcome, candidate_curves, outcomes
from core.analysis.texts import visible
from core.analysis.tree_curves import node_curves
from core.config import RunSettings
from core.trace.events import BoolArray, ExitReason
from core.trace.reading import ReadableTrace

MOST_CANDIDATES = 4
"""Candidates of a token that are told."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run's side of a row."""

    text: str
    """In its visible form."""
    exit_layer: int
    """Layers run, 1…L."""
    outcome: Outcome
    seconds: float
    """0 where nothing was measured."""


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """The n-th token of both runs."""

    token: int
    """0-based."""
    cells: tuple[Cell | None, Cell | None]
    """Of A and of B; None where the run has ended before."""
    same: bool
    """Whether both emitted the same token."""
    first: bool
    """Whether the runs part here."""

    @property
    def layers_delta(self) -> int | None:
        """B's exit layer minus A's; None where one run has no such token."""
        a, b = self.cells
        return b.exit_layer - a.exit_layer if a is not None and b is not None else None

    @property
    def seconds_delta(self) -> float | None:
        """B's time minus A's; None where one run has no such token, or its time was not measured."""
        a, b = self.cells
        return b.seconds - a.seconds if a is not None and b is not None and a.seconds and b.seconds else None


class Aligned:
    """Runs A and B held against each other as they were when this was made; a row is put together when asked for."""

    def __init__(self, a: ReadableTrace, b: ReadableTrace) -> None:
        self.runs = (a, b)
        self.found: Comparison = compare(a, b)
        self.counts = tuple(int((column > 0).sum()) for column in self.found.exit_layers)
        """How many tokens A and B have."""
        self.depths = (a.depth, b.depth)
        self._outcomes: tuple[NDArray[np.uint8], ...] = (outcomes(a), outcomes(b))
        self.differs: BoolArray = _differs(self.found)
        """Shape [rows]: whether text or exit layer differ, or only one run has the token."""

    def __len__(self) -> int:
        return len(self.found.same)

    def row(self, token: int) -> AlignedRow:
        """Of a 0-based token that one of the runs has."""
        same = bool(self.found.same[token])
        cells = (self._cell(0, token), self._cell(1, token))
        return AlignedRow(token, cells, same, token == self.found.first_divergence)

    def next_difference(self, token: int | None, *, forward: bool = True) -> int | None:
        """The nearest token that differs after (or before) a 0-based one; None where there is none.

        Args:
            token: is not asked itself; None asks from the beginning (or the end) on.
            forward: False looks backwards.
        """
        at = np.flatnonzero(self.differs)
        if token is not None:
            at = at[at > token] if forward else at[at < token]
        if not len(at):
            return None
        return int(at[0] if forward else at[-1])

    @property
    def layers_saved(self) -> int:
        """Layers that A ran and B did not, over the tokens that both have; negative where B ran more."""
        return -int(self.found.exit_delta.sum())

    @property
    def share_saved(self) -> float | None:
        """`layers_saved` as a share of A's; None where both have no token."""
        ran = int(self.found.exit_layers[0][: self.found.aligned].sum())
        return self.layers_saved / ran if ran else None

    @property
    def same_texts(self) -> int:
        """How many tokens are the same in both."""
        return int(self.found.same.sum())

    def _cell(self, run: int, token: int) -> Cell | None:
        if token >= self.counts[run]:
            return None
        seen = self.runs[run].overview
        return Cell(
            text=visible(seen.texts[token], bool(seen.special[token])),
            exit_layer=int(self.found.exit_layers[run][token]),
            outcome=Outcome(int(self._outcomes[run][token])),
            seconds=float(self.found.seconds[run][token]),
        )


def _differs(found: Comparison) -> BoolArray:
    differs: BoolArray = ~found.same | (found.exit_layers[0] != found.exit_layers[1])
    return differs


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the drafter's guesses for a token."""

    text: str
    drafted: float
    """The drafter's probability."""
    local: float | None
    """Its share among the candidates where the run looked last; None where it never did."""
    emitted: bool


class Asked(NamedTuple):
    """What a predictor that was asked said."""

    layer: int
    """0-based."""
    score: float
    proposed: bool
    """Whether the score is above the layer's threshold."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one token is in one run."""

    text: str
    exit_layer: int
    """Layers run, 1…L; those so far of a token in flight."""
    depth: int
    seconds: float
    """0 where nothing was measured."""
    given: bool
    """Whether it belongs to a branch's past, and nothing was decided."""
    candidates: tuple[Candidate, ...]
    scores: tuple[Asked, ...]
    """In the order of the layers."""


def side(trace: ReadableTrace, token: int) -> Side | None:
    """What a 0-based token is in a run; None where the run has no such token."""
    if trace.started is None or token >= len(trace.records):
        return None
    record = trace.records[token]
    emitted = record.emitted
    curves = candidate_curves(trace, token) if record.tree is None else node_curves(trace, token)
    return Side(
        text=visible(emitted.token_bytes, emitted.special) if emitted else "",
        exit_layer=emitted.exit_layer if emitted else record.layers_run,
        depth=trace.depth,
        seconds=emitted.times.total if emitted else 0.0,
        given=bool(emitted and emitted.reason is ExitReason.GIVEN),
        candidates=_candidates(curves) if curves else (),
        scores=_scores(curves, trace.started.settings) if curves else (),
    )


def _candidates(curves: CandidateCurves) -> tuple[Candidate, ...]:
    last = curves.probabilities[-1] if len(curves.layers) else None
    return tuple(
        Candidate(
            text=text,
            drafted=float(curves.drafter_probabilities[at]),
            local=None if last is None else float(last[at]),
            emitted=at == curves.emitted_candidate,
        )
        for at, text in enumerate(curves.candidate_texts[:MOST_CANDIDATES])
    )


def _scores(curves: CandidateCurves, settings: RunSettings) -> tuple[Asked, ...]:
    pairs = zip(curves.layers.tolist(), curves.scores.tolist(), strict=True)
    return tuple(Asked(layer, s, s > settings.threshold_at(layer)) for layer, s in pairs if not np.isnan(s))
