"""What a session keeps of the trained parts, so that what-if and the inspector need no model: plain named arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.errors import UserError
from core.exits.predictors import SHAPES, PredictorBank
from core.trace.events import FloatArray, IntArray

RANKING = "offline_ranking"


def to_record(bank: PredictorBank, ranking: IntArray) -> dict[str, FloatArray]:
    """The predictors' arrays and the whole offline ranking, shape [L-1], best layer first, as float32 arrays."""
    return {**bank.arrays(), RANKING: ranking.astype(np.float32)}


def from_record(kept: Mapping[str, FloatArray] | None) -> tuple[PredictorBank | None, IntArray | None]:
    """What `to_record` made; either is None where it was not kept.

    Raises:
        UserError: what was kept is damaged.
    """
    kept = kept or {}
    bank = PredictorBank({name: kept[name] for name in SHAPES if name in kept}) if kept.keys() & SHAPES.keys() else None
    if RANKING not in kept:
        return bank, None
    ranking = np.nan_to_num(kept[RANKING], nan=-1, posinf=-1, neginf=-1).ravel()
    whole = sorted(ranking.tolist()) == list(range(len(ranking)))
    if not whole or (bank is not None and bank.layers != len(ranking)):
        raise UserError("The offline ranking that was recorded with this run is damaged; record the run again.")
    return bank, ranking.astype(np.int64)
