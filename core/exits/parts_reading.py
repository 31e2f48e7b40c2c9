"""Reads trained parts, and refuses those that do not fit the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from core.config import CANDIDATES
from core.errors import UserError
from core.exits.adainfer import AdaInferParts
from core.exits.parts import TrainedParts
from core.exits.parts_folder import (
    ADAINFER,
    CARD,
    DRAFTER,
    LENS,
    LENS_PREDICTORS,
    PREDICTORS,
    SLIM,
    TRIMMED,
    damaged,
    read_card,
)
from core.exits.predictors import PredictorBank
from core.trace.events import IntArray

if TYPE_CHECKING:
    import torch

    from core.exits.lens import ExitLens
    from core.model.loading import LoadedModel

T = TypeVar("T")


def load_parts(folder: Path, model: LoadedModel) -> TrainedParts:
    """The parts in `folder`, on the model's device and in its dtype.

    What SpecEE can do without and cannot be read is left out and explained in `TrainedParts.problems`, so that it
    stands in the way of those runs only that ask for it.

    Raises:
        UserError: they are missing, damaged, not finite, of other shapes, or trained for another model.
    """
    from core.drafting.head import DraftHead
    from core.exits.judge import compiled_judge

    values = read_card(folder)
    if values.get("fingerprint") != model.info.fingerprint:
        raise UserError(
            f"The trained parts in {folder} belong to another model than {model.info.name}; train parts for this one "
            "with `specee-viewer train`."
        )
    if model.decoder.fused is not None:
        compiled_judge()  # here, so that no run waits for the compiler
    card, layers = values.get("card"), model.config.depth - 1
    return TrainedParts(
        fingerprint=model.info.fingerprint,
        drafter=DraftHead.from_state(model.decoder, _read_finite(folder / DRAFTER)),
        predictors=_read_predictors(folder / PREDICTORS, layers),
        offline_ranking=_ranking(values, layers, folder),
        card=card if isinstance(card, dict) else {},
        **_read_optional(folder, model),
    )


def _read_optional(folder: Path, model: LoadedModel) -> dict[str, Any]:
    """The fields of `TrainedParts` that may be absent."""
    from core.model.slim_head import SlimHead
    from core.model.trimmed_head import TrimmedHead

    pieces, decoder, depth = _Pieces(folder), model.decoder, model.config.depth
    lens, lens_predictors = _read_lens(pieces, model)
    return {
        "adainfer": pieces.read("adainfer", ADAINFER, lambda path: _read_adainfer(path, depth)),
        "slim": pieces.read("slim", SLIM, lambda path: SlimHead.from_state(decoder, _read_finite(path))),
        "trimmed": pieces.read("trimmed", TRIMMED, lambda path: TrimmedHead.from_state(decoder, _read_tensors(path))),
        "lens": lens,
        "lens_predictors": lens_predictors,
        "problems": pieces.problems,
    }


class _Pieces:
    """Files that may be absent; why one cannot be used is noted instead of raised."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: dict[str, str] = {}

    def read(self, name: str, file: str, make: Callable[[Path], T]) -> T | None:
        try:
            return make(self.folder / file) if (self.folder / file).exists() else None
        except UserError as error:
            self.problems[name] = str(error)
            return None


def _read_lens(pieces: _Pieces, model: LoadedModel) -> tuple[ExitLens, PredictorBank] | tuple[None, None]:
    """The lens and the predictors for what is seen through it: both or none."""
    from core.exits.lens import ExitLens

    layers = model.config.depth - 1
    lens = pieces.read("lens", LENS, lambda path: ExitLens.from_state(model.decoder, _read_finite(path)))
    bank = pieces.read("lens", LENS_PREDICTORS, lambda path: _read_predictors(path, layers))
    if lens is not None and bank is not None:
        return lens, bank
    if lens is not None or bank is not None:
        absent = LENS if lens is None else LENS_PREDICTORS
        pieces.problems.setdefault("lens", str(damaged(pieces.folder / absent)))
    return None, None


def _read_finite(path: Path) -> dict[str, torch.Tensor]:
    import torch

    state = _read_tensors(path)
    if not all(torch.is_floating_point(one) and bool(torch.isfinite(one).all()) for one in state.values()):
        raise damaged(path)
    return state


def _read_tensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state: dict[str, torch.Tensor] = load_file(path)
    except (SafetensorError, OSError) as error:
        raise damaged(path) from error
    return state


def _read_predictors(path: Path, layers: int) -> PredictorBank:
    bank = PredictorBank({name: tensor.float().numpy() for name, tensor in _read_finite(path).items()})
    if bank.layers != layers or bank.inputs != 3 * CANDIDATES:
        raise UserError(
            f"The predictors in {path} are for {bank.layers} layers of {bank.inputs} features, but this model needs "
            f"{layers} layers of {3 * CANDIDATES}; train them again."
        )
    return bank


def _read_adainfer(path: Path, depth: int) -> AdaInferParts:
    adainfer = AdaInferParts({name: tensor.double().numpy() for name, tensor in _read_finite(path).items()})
    if adainfer.layers != depth - 1:
        raise UserError(
            f"AdaInfer's classifiers in {path} are for a model of {adainfer.layers + 1} layers, but this one has "
            f"{depth}; train them again with `specee-viewer train --stage adainfer`."
        )
    return adainfer


def _ranking(values: Mapping[str, Any], layers: int, folder: Path) -> IntArray:
    listed = values.get("offline_ranking")
    whole = isinstance(listed, list) and all(type(layer) is int for layer in listed)
    if not whole or sorted(values["offline_ranking"]) != list(range(layers)):
        raise damaged(folder / CARD)
    return np.array(listed, dtype=np.int64)
