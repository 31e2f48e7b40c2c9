"""The predictor files that SpecEE's authors released, read without running anything in them.

Each `.pth` file is the pickle of a whole module `MLP` with two linear layers, `fc1` (12→512) and `fc2` (512→1). torch's
restricted reader rebuilds tensors only; the four classes that such a file names all become one inert class of ours,
which keeps attributes and does nothing else. Allowing the real classes would let a crafted file replace their methods.
"""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import CANDIDATES
from core.errors import UserError
from core.exits.predictors import PredictorBank
from core.trace.events import FloatArray

LARGEST = 16 * 2**20
"""Bytes of a file and of what it unpacks to; the released ones have 27 KB."""
NEVER = -30.0
"""Bias of a layer without a predictor: its score is below 1e-12 whatever it sees."""
NAMES = (
    "__main__.MLP",
    "torch.nn.modules.linear.Linear",
    "torch.nn.modules.activation.ReLU",
    "torch.nn.modules.activation.Sigmoid",
)
_LOCK = threading.Lock()
"""torch's list of allowed classes belongs to the process."""


class _Inert:
    """Stands in for every class that a file names."""

    def __setstate__(self, state: Any) -> None:
        # Plain data beside the class's own names: nothing that a file holds can be called.
        object.__setattr__(self, "kept", dict(state) if isinstance(state, dict) else {})


def read_predictor(path: Path) -> dict[str, Tensor]:
    """The four tensors of one file, `fc1.weight` [h, 3k], `fc1.bias` [h], `fc2.weight` [1, h], `fc2.bias` [1].

    Raises:
        UserError: it is no such file, holds anything else, or does not fit SpecEE's predictors.
    """
    _check_container(path)
    try:
        with _LOCK, torch.serialization.safe_globals([(_Inert, name) for name in NAMES]):
            module = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # torch's own text would advise to unpickle the file after all.
        raise _refusal(path, "it asks for more than reading numbers") from error
    tensors = _tensors(module)
    if tensors is None or not _fits(tensors):
        raise _refusal(path, f"it does not hold an MLP of {3 * CANDIDATES} inputs, one hidden layer and one output")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values()):
        raise _refusal(path, "its weights are not finite")
    return tensors


def read_bank(files: Sequence[Path], layers: int) -> tuple[PredictorBank, list[int]]:
    """The predictors of files named by their 0-based layer, as in `model15.pth`, for a model of `layers` + 1 layers.

    Returns:
        The bank, and which layers have a predictor, in the order of the files; the others never propose an exit.

    Raises:
        UserError: a file is refused, names no layer of the model or one twice, or widths differ.
    """
    found: dict[int, dict[str, FloatArray]] = {}
    for path in files:
        layer = _layer_of(path, layers)
        if layer in found:
            raise UserError(f"{path.name} is the second file for layer {layer + 1}; give one a layer.")
        found[layer] = _arrays(read_predictor(path))
    widths = {len(one["b1"]) for one in found.values()}
    if len(widths) != 1:
        raise UserError("The predictor files differ in hidden width, or there are none; give those of one training.")
    bank = _empty(layers, widths.pop())
    for layer, arrays in found.items():
        for name, array in arrays.items():
            bank[name][layer] = array
    return PredictorBank(bank), list(found)


def _check_container(path: Path) -> None:
    try:
        if path.stat().st_size > LARGEST:
            raise _refusal(path, "it is far larger than a predictor")
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                raise _refusal(path, "it unpacks to far more than a predictor")
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}; check its name.") from error
    except (OSError, zipfile.BadZipFile, RuntimeError) as error:  # the last where an entry names a zip version to come
        raise _refusal(path, "it is no file that torch.save wrote") from error


def _tensors(module: object) -> dict[str, Tensor] | None:
    """The tensors of `fc1` and `fc2`; None where the file holds something else."""
    found = {}
    for name in ("fc1", "fc2"):
        linear = _kept(_kept(module).get("_modules")).get(name)
        for part in ("weight", "bias"):
            tensor = _kept(_kept(linear).get("_parameters")).get(part)
            if not isinstance(tensor, Tensor) or tensor.layout is not torch.strided:
                return None
            found[f"{name}.{part}"] = tensor.detach().clone()
    return found


def _kept(value: object) -> Mapping[str, Any]:
    if isinstance(value, _Inert):
        value = getattr(value, "kept", None)
    return value if isinstance(value, dict) else {}


def _fits(tensors: Mapping[str, Tensor]) -> bool:
    hidden = tensors["fc1.bias"].numel()
    wanted = {
        "fc1.weight": (hidden, 3 * CANDIDATES),
        "fc1.bias": (hidden,),
        "fc2.weight": (1, hidden),
        "fc2.bias": (1,),
    }
    return hidden > 0 and all(
        tensors[name].is_floating_point() and tuple(tensors[name].shape) == shape for name, shape in wanted.items()
    )


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, FloatArray]:
    plain = {name: tensor.float().numpy() for name, tensor in tensors.items()}
    return {
        "w1": plain["fc1.weight"].T,
        "b1": plain["fc1.bias"],
        "w2": plain["fc2.weight"][0],
        "b2": plain["fc2.bias"][0],
    }


def _empty(layers: int, hidden: int) -> dict[str, FloatArray]:
    return {
        "w1": np.zeros((layers, 3 * CANDIDATES, hidden), np.float32),
        "b1": np.zeros((layers, hidden), np.float32),
        "w2": np.zeros((layers, hidden), np.float32),
        "b2": np.full(layers, NEVER, np.float32),
    }


def _layer_of(path: Path, layers: int) -> int:
    digits = re.fullmatch(r"\D*(\d{1,4})", path.stem, re.ASCII)
    if digits is None:
        raise UserError(f"The name of {path.name} gives no layer; name the file as in model15.pth.")
    layer = int(digits[1])
    if layer >= layers:
        raise UserError(f"{path.name} is for layer index {layer}; this model has predictors on 0 to {layers - 1}.")
    return layer


def _refusal(path: Path, reason: str) -> UserError:
    return UserError(f"{path} is no predictor of SpecEE's release ({reason}); nothing in it was run. Name another.")
