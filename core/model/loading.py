"""From a ready folder to a model that runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from core.choices import DType
from core.errors import UserError
from core.memory import is_shortage, readable, shortage
from core.model.config import ModelConfig, read_config
from core.model.decoder import Decoder
from core.model.devices import check_format, fastest_dtype, find_device, free_on
from core.model.fingerprint import fingerprint
from core.model.folders import model_name
from core.model.int8 import to_int8
from core.model.native import make_fused, make_native
from core.model.placement import AUTO, Placement, on_one, piece_bytes, plan
from core.model.quantised import load_quantised, quantisation
from core.model.tokens import Tokenizer, load_tokenizer
from core.model.weights import tensors, weight_files
from core.progress import Progress, Report, check, quiet
from core.trace.events import ModelInfo

FUSED_FROM = 32 << 20
"""Bytes of a model that are worth compiled code."""
_RELIEF = "close other programs, choose bfloat16, or take a smaller model"


@dataclass(frozen=True)
class LoadedModel:
    """A model, ready to run."""

    info: ModelInfo
    config: ModelConfig
    decoder: Decoder
    tokenizer: Tokenizer


def load_model(
    folder: Path,
    *,
    dtype: DType | None = None,
    device: str = "cpu",
    threads: int | None = None,
    fuse: bool = False,
    report: Report = quiet,
    cancel: threading.Event | None = None,
) -> LoadedModel:
    """Load the model in `folder`; about 2 s for the default model.

    Args:
        dtype: None chooses by what the device does fastest, see `fastest_dtype`.
        device: as torch writes it: "cpu", "cuda", "cuda:1", "mps"; or "auto", which fills one after another.
        threads: how many torch may use from now on, in the whole process; None leaves that alone.
        fuse: whether compiled code may run a float32 model's layers on a CPU, where that is possible and the model is
            large enough to gain. They compute the same sooner, but their weights are then no more to be had.

    Raises:
        Cancelled: `cancel` was set.
        UserError: no such device, files that are missing or damaged, an unsupported architecture, too little memory,
            or no grid for the format native.
    """
    first = find_device(device)
    if threads is not None:
        _set_threads(threads)
    report(Progress("Reading the model's files"))
    config, tokenizer = read_config(folder), load_tokenizer(folder)
    mark = fingerprint(folder, config)
    form = _number_format(folder, dtype, first)
    place = _placement(folder, config, form.compute, first if device != AUTO else None)
    with _memory_explained(folder):
        decoder = _decoder(folder, config, form, place, report, cancel)
        if fuse and form.can_fuse and first.type == "cpu" and _gains_by_fusing(folder, config, first):
            make_fused(decoder, report, cancel)
    return LoadedModel(_info(folder, config, mark, str(form), place), config, decoder, tokenizer)


@dataclass(frozen=True, slots=True)
class _NumberFormat:
    """What a model's weights are made of, and what is computed with them."""

    chosen: DType
    quantised_by: str | None
    """The method by which the folder's weights were quantised before."""
    compute: torch.dtype
    """Of the activations."""

    @property
    def can_fuse(self) -> bool:
        return self.chosen is DType.FLOAT32 and not self.quantised_by

    def __str__(self) -> str:
        return f"{self.quantised_by}, {self.chosen.value}" if self.quantised_by else self.chosen.value


def _number_format(folder: Path, wanted: DType | None, device: torch.device) -> _NumberFormat:
    """Raises `UserError` where the device or the folder's weights cannot have it."""
    chosen, method = wanted or fastest_dtype(device), quantisation(folder)
    _check_choice(chosen, method, device, folder)
    compute: torch.dtype = getattr(torch, chosen.activations or fastest_dtype(device).value)
    check_format(device, compute)
    return _NumberFormat(chosen, method, compute)


def _gains_by_fusing(folder: Path, config: ModelConfig, device: torch.device) -> bool:
    """Whether a model is large enough, and memory too: for a while there are its layers' weights twice."""
    sizes, free = piece_bytes(tensors(weight_files(folder)), config, torch.float32.itemsize), free_on(device)
    return sizes.total >= FUSED_FROM and (free is None or free > sizes.total)


def _check_choice(chosen: DType, method: str | None, device: torch.device, folder: Path) -> None:
    if chosen is DType.NATIVE and device.type != "cpu":
        raise UserError(f"The format native runs on the CPU only; choose float16 or bfloat16 on {device}.")
    if method and chosen in (DType.INT8, DType.NATIVE):
        raise UserError(
            f"{model_name(folder)} is already quantised, by {method}; choose a floating-point dtype for what is "
            f"computed with it, instead of {chosen.value}."
        )


def _placement(folder: Path, config: ModelConfig, compute: torch.dtype, device: torch.device | None) -> Placement:
    """All on `device`, if it has room, or where accelerate puts it.

    Weights to be packed are counted as they are before, when all of them are there at once.

    Raises:
        UserError: it does not fit.
    """
    sizes = piece_bytes(tensors(weight_files(folder)), config, compute.itemsize)
    if device is None:
        return plan(sizes, config, compute.itemsize)
    free = free_on(device)
    if free is not None and sizes.total > free:
        raise UserError(
            f"There is not enough memory to load {model_name(folder)}: it takes {readable(sizes.total)} in "
            f"{str(compute).removeprefix('torch.')}, and {readable(free)} are free on {device}; {_RELIEF}."
        )
    return on_one(device, config.depth)


def _decoder(
    folder: Path,
    config: ModelConfig,
    form: _NumberFormat,
    place: Placement,
    report: Report,
    cancel: threading.Event | None,
) -> Decoder:
    if form.quantised_by:
        return load_quantised(folder, form.quantised_by, config, form.compute, place)
    weights = read_weights(folder, report, cancel)
    check(cancel)
    report(Progress("Preparing the layers"))
    decoder = Decoder(config, weights, form.compute, place)
    if form.chosen is DType.NATIVE:
        make_native(decoder, report, cancel)
    if form.chosen is DType.INT8:
        to_int8(decoder)
    return decoder


def read_weights(folder: Path, report: Report = quiet, cancel: threading.Event | None = None) -> dict[str, Tensor]:
    """Every tensor in the folder's safetensors files, as stored.

    Raises:
        Cancelled: `cancel` was set.
        UserError: a file is missing or damaged.
    """
    files = weight_files(folder)
    tensors(files)
    weights: dict[str, Tensor] = {}
    for done, path in enumerate(files):
        check(cancel)
        report(Progress("Reading the weights", done, len(files), "files"))
        try:
            weights.update(load_file(path))
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path} is damaged or incomplete; download the model again.") from error
    return weights


def _info(folder: Path, config: ModelConfig, mark: str, dtype: str, place: Placement) -> ModelInfo:
    return ModelInfo(
        name=model_name(folder),
        fingerprint=mark,
        architecture=config.architecture,
        depth=config.depth,
        hidden_size=config.hidden,
        vocabulary=config.vocabulary,
        context=config.context,
        dtype=dtype,
        device=str(place),
        threads=torch.get_num_threads(),
    )


def _set_threads(threads: int) -> None:
    if threads < 1:
        raise UserError(f"The number of threads is {threads}; ask for at least 1.")
    torch.set_num_threads(threads)


@contextlib.contextmanager
def _memory_explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        if not is_shortage(error):
            raise
        raise UserError(
            f"There is not enough memory to load {model_name(folder)}{shortage(error)}; {_RELIEF}."
        ) from error
