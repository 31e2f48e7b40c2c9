"""Trained parts put together from what others have published for a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from core.drafting.eagle import read_eagle
from core.drafting.head import DraftHead
from core.errors import UserError
from core.exits.official import read_bank
from core.exits.parts import TrainedParts
from core.exits.parts_reading import load_parts
from core.model.loading import LoadedModel


def import_parts(
    model: LoadedModel, *, drafter: Path | None = None, predictors: Sequence[Path] = (), base: Path | None = None
) -> TrainedParts:
    """Parts with these pieces instead of the base's.

    Args:
        model: the target.
        drafter: an EAGLE-1 head in its public layout.
        predictors: SpecEE's released files, named by layer; the layers that have one lead the offline ranking.
        base: trained parts to start from; needed for what is not given.

    Raises:
        UserError: a file is refused or does not fit the model, or a piece is neither given nor in the base.
    """
    if drafter is None and not predictors:
        raise UserError("There is nothing to import; name a draft head, predictor files, or both.")
    start = load_parts(base, model) if base else None
    card = {"imported": {"drafter": drafter.name if drafter else None, "predictors": [one.name for one in predictors]}}
    pieces = {"card": card, **_drafter(model, drafter), **_predictors(predictors, model.config.depth - 1)}
    if start:
        return replace(start, **pieces)
    missing = {"a draft head": "drafter", "predictor files": "predictors"}
    for name, piece in missing.items():
        if piece not in pieces:
            raise UserError(f"Parts need a draft head and predictors; name {name} too, or parts to start from.")
    return TrainedParts(model.info.fingerprint, **pieces)


def _drafter(model: LoadedModel, path: Path | None) -> dict[str, Any]:
    return {"drafter": DraftHead.from_state(model.decoder, read_eagle(path))} if path else {}


def _predictors(files: Sequence[Path], layers: int) -> dict[str, Any]:
    if not files:
        return {}
    bank, present = read_bank(files, layers)
    others = [layer for layer in range(layers) if layer not in present]
    return {"predictors": bank, "offline_ranking": np.array([*present, *others], np.int64)}
