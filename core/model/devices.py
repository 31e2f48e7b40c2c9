"""The devices of this machine, and the number formats that they compute in."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from core.choices import DType
from core.errors import UserError
from core.memory import free_bytes
from core.model.placement import AUTO

PROBE_ROWS, PROBE_SIZE, PROBE_ROUNDS = 4, 512, 5
"""The product that decides between bfloat16 and float32: [4, 512] by [512, 2048], best of 5."""


def devices() -> list[str]:
    """The devices that a model can be put on, by torch's names; the CPU comes last."""
    found = [f"cuda:{index}" for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return [*found, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]


def find_device(name: str) -> torch.device:
    """The device of this name; the one that is filled first for "auto".

    Raises:
        UserError: there is none; the sentence lists those that there are.
    """
    there = devices()
    if name == AUTO:
        return torch.device(there[0])
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise _absent(f"{name!r} is no device that torch knows", there) from error
    if device.type == "cuda" and device.index is None and "cuda:0" in there:
        device = torch.device("cuda", torch.cuda.current_device())
    if str(device) not in there:
        raise _absent(f"This machine, or this build of torch, has no device {name}", there)
    return device


def _absent(what: str, there: list[str]) -> UserError:
    return UserError(f"{what}; choose {', '.join(there)} or {AUTO}, which takes them all in turn.")


def free_on(device: torch.device) -> int | None:
    """Bytes that are free on a device; None where nobody tells."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return free_bytes()


def check_format(device: torch.device, dtype: torch.dtype) -> None:
    """Try the operations of a layer in a number format, on a handful of numbers.

    Raises:
        UserError: the device lacks one of them.
    """
    try:
        x = torch.ones(2, 8, dtype=dtype, device=device)
        F.silu(F.rms_norm(F.linear(x, torch.ones(8, 8, dtype=dtype, device=device)), (8,), x[0], 1e-5))
        F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None])
        x.float().topk(2)
    except (RuntimeError, TypeError) as error:
        name = str(dtype).removeprefix("torch.")
        raise UserError(f"The device {device} does not compute in {name}; choose another dtype, as float32.") from error


def fastest_dtype(device: torch.device) -> DType:
    """bfloat16 where it is measured to be faster than float32, else float32; float16 on accelerators without it.

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
