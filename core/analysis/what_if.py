"""What a recorded audit run would have decided under other settings, without the model.

Threshold (of all layers or of one), margin gate, N, r, M, distinct and T1 against T1+T2 are decided anew from what the
audit kept: each layer's own token with its margin, the candidates' logits, and the predictors' weights. The result is
exact through the first token whose exit layer or text changes. From the next one on it is an estimate: another exit
leaves the drafter another input, and another token another context; only a run tells what they give.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.active_sets import TOLERANCE, ActiveSets, as_masks, as_rows, check_settings
from core.analysis.active_sets import Doubt as Doubt
from core.analysis.columns import AuditColumns, last_below
from core.analysis.rescoring import Rescorer
from core.choices import Head
from core.config import RunSettings
from core.exits.predictors import PredictorBank
from core.trace.events import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Decisions:
    """What every token of a run would have done; one row a token, as in `AuditColumns`."""

    settings: RunSettings
    exit_layers: IntArray
    """Shape [n], 1…L."""
    token_ids: IntArray
    """Shape [n]."""
    final_ids: IntArray
    """Shape [n], the full-depth tokens; -1 where the recording does not know."""
    active: BoolArray
    """Shape [n, L], the active sets that these exits give."""
    scores: FloatArray
    """Shape [n, L]; NaN where no predictor would have been asked."""
    proposed: BoolArray
    """Shape [n, L]."""
    changed: BoolArray
    """Shape [n], whether exit layer or token differ from the recording's."""
    doubts: NDArray[np.uint8]
    """Shape [n], flags of `Doubt`."""

    @property
    def first_change(self) -> int | None:
        """The first token that differs: the last one that is exact. None where none differs."""
        at = np.flatnonzero(self.changed)
        return int(at[0]) if len(at) else None

    @property
    def estimate_from(self) -> int:
        """The first token that is an estimate; n where there is none."""
        return len(self.changed) if self.first_change is None else self.first_change + 1

    @property
    def exact(self) -> BoolArray:
        """Shape [n], whether a run would decide the same, where no token before is in doubt."""
        exact: BoolArray = np.arange(len(self.changed)) < self.estimate_from
        return exact

    @property
    def early(self) -> BoolArray:
        """Shape [n], tokens that would leave before the last layer."""
        early: BoolArray = self.exit_layers < self.active.shape[1]
        return early

    @property
    def refusals(self) -> IntArray:
        """Shape [n], proposed exits that the check or the gate would refuse."""
        refused: IntArray = self.proposed.sum(1) - self.early
        return refused

    @property
    def wrong(self) -> BoolArray:
        """Shape [n], tokens that full depth would not have given."""
        wrong: BoolArray = (self.final_ids >= 0) & (self.token_ids != self.final_ids)
        return wrong


class Redecider:
    """A recorded run, ready to be decided again and again."""

    def __init__(
        self, columns: AuditColumns, bank: PredictorBank | None = None, ranking: IntArray | None = None
    ) -> None:
        """`bank` scores layers whose variations change; `ranking`, shape [L-1], is the whole offline ranking, best
        layer first, without which M cannot grow beyond the recording's."""
        self.columns = columns
        self._rescorer = Rescorer(columns, bank)
        self._ranking = columns.offline if ranking is None else ranking

    def decide(self, settings: RunSettings) -> Decisions:
        """Decide every token anew.

        Raises:
            UserError: the settings differ in more than `DECIDED_ANEW`, or need what was not recorded.
        """
        columns = self.columns
        check_settings(columns.settings, settings, columns.depth, self._ranking)
        thresholds = settings.thresholds(columns.depth)
        acceptable = columns.among & ~(columns.margins < settings.gate)
        acceptable[:, -1] = False
        exits, masks = self._walk(settings, as_masks(acceptable), thresholds)
        active = as_rows(masks, columns.depth)
        return self._told(settings, exits, active, acceptable, thresholds)

    def _walk(
        self, settings: RunSettings, acceptable: list[int], thresholds: list[float]
    ) -> tuple[IntArray, list[int]]:
        """Token after token, since each exit moves the next active sets: last layers run and active sets, as bits."""
        columns, masks = self.columns, [0] * len(self.columns)
        last, exits = columns.depth - 1, columns.exit_layers - 1
        sets = ActiveSets(settings, columns.depth, self._ranking)
        for token, audited in enumerate(columns.audited[1:].tolist(), 1):
            active = masks[token] = sets.next()
            if audited:
                left = self._leave(token, active, active & acceptable[token], thresholds)
                exits[token] = last if left is None else left
            sets.record(int(exits[token]))
        return exits, masks

    def _leave(self, token: int, active: int, possible: int, thresholds: list[float]) -> int | None:
        """The first of the `possible` layers whose predictor proposes."""
        while possible:
            bit = possible & -possible
            layer = bit.bit_length() - 1
            if self._rescorer.score(token, layer, (active & (bit - 1)).bit_length() - 1) > thresholds[layer]:
                return layer
            possible ^= bit
        return None

    def _told(
        self,
        settings: RunSettings,
        exits: IntArray,
        active: BoolArray,
        acceptable: BoolArray,
        thresholds: list[float],
    ) -> Decisions:
        """Everything about the passes that end at `exits`, 0-based last layers."""
        columns = self.columns
        at = np.arange(columns.depth)
        judged = active & (at <= exits[:, None])
        scores, guessed = self._rescorer.scores(judged, last_below(active))
        proposed = judged & (scores > np.array(thresholds))
        # The walk has asked these already, one by one; a last bit of rounding must not make the two differ.
        proposed = np.where(judged & acceptable, at == exits[:, None], proposed)
        ids = np.where(columns.audited, columns.own_ids[np.arange(len(exits)), exits], columns.token_ids)
        changed = (exits + 1 != columns.exit_layers) & columns.audited
        ids[~changed] = columns.token_ids[~changed]
        doubts = self._doubts(settings, scores, proposed, guessed, np.array(thresholds))
        return Decisions(settings, exits + 1, ids, columns.own_ids[:, -1], active, scores, proposed, changed, doubts)

    def _doubts(
        self,
        settings: RunSettings,
        scores: FloatArray,
        proposed: BoolArray,
        guessed: BoolArray,
        thresholds: FloatArray,
    ) -> NDArray[np.uint8]:
        columns = self.columns
        doubts = np.where((np.abs(scores - thresholds) < TOLERANCE).any(1), Doubt.SCORE, Doubt.NONE).astype(np.uint8)
        if settings.gate > 0:
            near = proposed & columns.among & (np.abs(columns.margins - settings.gate) < TOLERANCE)
            doubts |= np.where(near.any(1), Doubt.MARGIN, 0).astype(np.uint8)
        if settings.check is Head.SLIM:
            doubts |= np.where((proposed & ~columns.checked).any(1), Doubt.SHORTLIST, 0).astype(np.uint8)
        return doubts | np.where(guessed.any(1), Doubt.PREDICTOR, 0).astype(np.uint8)
