"""Threads for compiled functions, and scratch memory for them."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Team:
    """Threads that run one compiled function together: torch's own, through the OpenMP library that torch brings.

    A second pool beside torch's would fight it for the cores. Where torch brings another library than GNU's, a function
    runs on the calling thread alone.
    """

    def __init__(self) -> None:
        self._counters = np.zeros(2, np.int64)
        self._gomp = _find_gomp()

    def enlist(self, job: Any) -> None:
        """Tell a record, or an array of records, whose team will work on it."""
        job["counters"] = self._counters.ctypes.data
        if self._gomp is not None:
            job["members"] = _address(self._gomp.omp_get_num_threads)
            job["give_way"] = _address(ctypes.CDLL(None).sched_yield)

    @property
    def size(self) -> int:
        """How many threads `run` uses at most."""
        return torch.get_num_threads() if self._gomp is not None else 1

    def run(self, function: int, job: int) -> None:
        """Call the C function at an address, with a record's address, on all the team's threads at once."""
        if self._gomp is None:
            _CALL(function)(job)
        else:
            self._counters.fill(0)
            self._gomp.GOMP_parallel(function, job, torch.get_num_threads(), 0)


_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _find_gomp() -> Any:
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*")):
        library = ctypes.CDLL(str(path))
        library.GOMP_parallel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        library.GOMP_parallel.restype = None
        return library
    return None


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


class Room:
    """Scratch memory by name."""

    def __init__(self) -> None:
        self._kept: dict[str, Tensor] = {}

    def __call__(self, name: str, numbers: int) -> int:
        """The address of new room for so many float32, in place of what the name had."""
        self._kept[name] = torch.zeros(numbers, dtype=torch.float32)
        return self._kept[name].data_ptr()
