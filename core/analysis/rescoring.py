"""Predictors' scores of a recorded run under other active sets, where variations are taken to other layers."""

from __future__ import annotations

import numpy as np

from core.analysis.columns import AuditColumns
from core.exits.predictors import PredictorBank
from core.trace.events import BoolArray, FloatArray, IntArray


class Rescorer:
    """Scores by token, layer and the last active layer below it; what has been scored once is kept."""

    def __init__(self, columns: AuditColumns, bank: PredictorBank | None) -> None:
        self._columns, self._bank = columns, bank
        self._previous = columns.previous
        self._kept: dict[tuple[int, int, int], float] = {}
        self._recorded, self._below = columns.scores.data, self._previous.data  # one number of these is read fastest
        self._scratch = np.zeros(3 * columns.logits.shape[2], np.float32)

    def score(self, token: int, layer: int, previous: int) -> float:
        """One score; `previous` is the last active layer below `layer`, -1 for none.

        Without predictors it is the recorded one, whose variation may be to another layer.
        """
        if self._bank is None or self._below[token, layer] == previous:
            return float(self._recorded[token, layer])
        key = (token, layer, previous)
        if (known := self._kept.get(key)) is None:
            known = self._kept[key] = self._bank.score(layer, self._features(token, layer, previous))
        return known

    def _features(self, token: int, layer: int, previous: int) -> FloatArray:
        """As `core.exits.predictors.features_of` makes them, in place, since this runs once a token and layer."""
        columns, out = self._columns, self._scratch
        k = columns.logits.shape[2]
        local = columns.local[token, layer]
        out[:k], out[k : 2 * k] = columns.logits[token, layer], local
        out[2 * k :] = local if previous < 0 else local - columns.local[token, previous]
        return out

    def scores(self, judged: BoolArray, previous: IntArray) -> tuple[FloatArray, BoolArray]:
        """The scores of all layers in `judged`, and which of them are recorded with another variation for want of
        predictors. All shaped [n, L]; scores are NaN elsewhere."""
        scores = np.where(judged, self._columns.scores, np.float32(np.nan))
        differs = judged & (previous != self._previous)
        if self._bank is None:
            return scores, differs
        for layer in np.flatnonzero(differs.any(0)).tolist():
            tokens = np.flatnonzero(differs[:, layer])
            scores[tokens, layer] = self._score_rows(layer, tokens, previous[tokens, layer])
        return scores, np.zeros_like(judged)

    def _score_rows(self, layer: int, tokens: IntArray, previous: IntArray) -> FloatArray:
        columns, bank = self._columns, self._bank
        assert bank is not None
        local = columns.local[tokens, layer]
        variation = local - np.where(previous[:, None] < 0, np.float32(0), columns.local[tokens, previous])
        return bank.score_rows(layer, np.concatenate([columns.logits[tokens, layer], local, variation], 1))
