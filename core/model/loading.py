"""From a ready folder to a model that runs."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from core.config import DType
from core.errors import UserError
from core.model.config import ModelConfig, read_config
from core.model.decoder import Decoder
from core.model.fingerprint import fingerprint
from core.model.folders import model_name
from core.model.tokens import Tokenizer, load_tokenizer
from core.model.weights import tensors, weight_files
from core.progress import Progress, Report, check, quiet
from core.trace.events import ModelInfo

PROBE_ROWS, PROBE_SIZE, PROBE_ROUNDS = 4, 512, 5
"""The product that decides between bfloat16 and float32: [4, 512] by [512, 2048], best of 5."""


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
    report: Report = quiet,
    cancel: threading.Event | None = None,
) -> LoadedModel:
    """Load the model in `folder`; about 2 s for the default model.

    Args:
        dtype: None chooses by what the device does fastest, see `fastest_dtype`.
        device: as torch writes it: "cpu", "cuda", "cuda:1", "mps".
        threads: how many torch may use from now on, in the whole process; None leaves that alone.

    Raises:
        Cancelled: `cancel` was set.
        UserError: no such device, files that are missing or damaged, an unsupported architecture, too little memory.
    """
    place = _device(device)
    if threads is not None:
        _set_threads(threads)
    report(Progress("Reading the model's files"))
    config = read_config(folder)
    tokenizer = load_tokenizer(folder)
    mark = fingerprint(folder, config)
    chosen = dtype or fastest_dtype(place)
    with _memory_explained(folder):
        weights = read_weights(folder, report, cancel)
        check(cancel)
        report(Progress("Preparing the layers"))
        decoder = Decoder(config, weights, getattr(torch, chosen.value), place)
    return LoadedModel(_info(folder, config, mark, chosen, place), config, decoder, tokenizer)


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


def fastest_dtype(device: torch.device) -> DType:
    """bfloat16 where it is measured to be faster than float32, else float32.

    A CPU without bfloat16 units widens every weight first and crawls; whether it has them is found by a product that
    takes some hundredths of a second, once for each device.
    """
    return _fastest_dtype(str(device))


@functools.cache
def _fastest_dtype(device: str) -> DType:
    if device.startswith("mps"):
        return DType.FLOAT16
    if device.startswith("cuda"):
        return DType.BFLOAT16 if torch.cuda.is_bf16_supported(including_emulation=False) else DType.FLOAT16
    brief, wide = _probe(torch.bfloat16), _probe(torch.float32)
    # Taken in turns and by the shortest time, so that other work on the machine does not decide.
    times = [(brief(), wide()) for _ in range(PROBE_ROUNDS)]
    return DType.BFLOAT16 if min(a for a, _ in times) < min(b for _, b in times) else DType.FLOAT32


def _probe(dtype: torch.dtype) -> Callable[[], float]:
    """Something that runs the probe's product on the CPU and tells its seconds."""
    x = torch.ones(PROBE_ROWS, PROBE_SIZE, dtype=dtype)
    weight = torch.ones(4 * PROBE_SIZE, PROBE_SIZE, dtype=dtype)

    def run() -> float:
        start = time.perf_counter()
        with torch.inference_mode():
            F.linear(x, weight)
        return time.perf_counter() - start

    return run


def _info(folder: Path, config: ModelConfig, mark: str, dtype: DType, device: torch.device) -> ModelInfo:
    return ModelInfo(
        name=model_name(folder),
        fingerprint=mark,
        architecture=config.architecture,
        depth=config.depth,
        hidden_size=config.hidden,
        vocabulary=config.vocabulary,
        context=config.context,
        dtype=dtype.value,
        device=str(device),
        threads=torch.get_num_threads(),
    )


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f"{name!r} is no device that torch knows; choose cpu, cuda or mps.") from error
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device.type, False):
        raise UserError(f"This machine, or this build of torch, has no device {name}; choose cpu.")
    if device.type == "cuda" and device.index is not None and device.index >= torch.cuda.device_count():
        raise UserError(f"This machine has no {name}; it has {torch.cuda.device_count()} CUDA device(s), from cuda:0.")
    return device


def _set_threads(threads: int) -> None:
    if threads < 1:
        raise UserError(f"The number of threads is {threads}; ask for at least 1.")
    torch.set_num_threads(threads)


@contextlib.contextmanager
def _memory_explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "memory" not in str(error):
            raise
        raise UserError(
            f"There is not enough memory to load {model_name(folder)}; close other programs, choose bfloat16, or take "
            "a smaller model."
        ) from error
