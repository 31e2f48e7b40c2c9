"""What every layer would have said of one token, had the pass ended there (audit recordings only)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from core.analysis.texts import visible
from core.exits.stability import first_stable
from core.trace.events import BoolArray, FloatArray, IntArray
from core.trace.overview import candidates_of, emitted_of
from core.trace.records import TokenRecord


class Said(IntEnum):
    """A layer's own token held against the full-depth one."""

    OTHER = 0
    """Another token: leaving here would have been wrong."""
    PASSING = 1
    """The full-depth token, but a layer above says otherwise again."""
    STABLE = 2
    """The full-depth token, as every layer above says."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The L layers of one token's pass, those beyond its exit included."""

    token: int
    texts: tuple[str, ...]
    """L visible forms of each layer's own token."""
    said: NDArray[np.uint8]
    """Shape [L], values of `Said`."""
    margins: FloatArray
    """Shape [L], p₁ - p₂ over the whole vocabulary."""
    candidate_ranks: IntArray
    """Shape [L], 0-based place of the layer's own token among the candidates; -1 where it is none of them, so that an
    exit proposed there would be refused; -2 where nothing was drafted."""
    scores: FloatArray
    """Shape [L], the predictors' scores; NaN where there is none."""
    evaluated: BoolArray
    """Shape [L], whether the run itself asked the layer's predictor."""
    run: BoolArray
    """Shape [L], layers that the token's own pass ran; the audit ran the others on the side."""
    exit_layer: int
    """Layers run, 1…L."""
    stable_layer: int
    """Layers, 1…L, after which the full-depth token first stays: where an oracle leaves."""

    @property
    def wasted(self) -> int:
        """Layers run after the token was settled; 0 where the pass left before."""
        return max(0, self.exit_layer - self.stable_layer)

    @property
    def missing(self) -> int:
        """Layers by which the pass left too early to be sure; the exit may be right all the same."""
        return max(0, self.stable_layer - self.exit_layer)


def counterfactual(record: TokenRecord) -> Counterfactual | None:
    """One token's column; None where it was not audited."""
    audit = record.audit
    if audit is None or record.emitted is None:
        return None
    at, stable = np.arange(record.depth), first_stable(audit.token_ids)
    right = audit.token_ids == audit.full_depth_id
    exit_layer = emitted_of(record).exit_layer
    asked = ~np.isnan(record.scores)
    return Counterfactual(
        token=record.token,
        texts=tuple(map(visible, audit.token_bytes)),
        said=np.where(right, np.where(at >= stable, Said.STABLE, Said.PASSING), Said.OTHER).astype(np.uint8),
        margins=audit.margins,
        candidate_ranks=_ranks(audit.token_ids, candidates_of(record)),
        scores=np.where(asked, record.scores, audit.scores),
        evaluated=record.evaluated,
        run=at < exit_layer,
        exit_layer=exit_layer,
        stable_layer=stable + 1,
    )


def _ranks(ids: IntArray, candidates: IntArray | None) -> IntArray:
    if candidates is None or not len(candidates):
        return np.full(len(ids), -2, np.int64)
    equal = ids[:, None] == candidates
    return np.where(equal.any(1), equal.argmax(1), -1)
