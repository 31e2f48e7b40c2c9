"""A lack of memory says how much was asked for and how much is free."""

from __future__ import annotations

import pytest
import torch

from core import memory
from core.memory import is_shortage, readable, shortage


def test_that_torchs_own_error_tells_what_was_asked_and_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 3 * 2**30)
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**55)
    assert is_shortage(caught.value)
    assert shortage(caught.value) == f"; {2**57 / 2**30:.1f} GiB more were needed at once, and 3.0 GiB are free"


def test_that_a_gpus_own_count_of_what_is_free_is_taken() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 11.91 GiB of which 512.00 MiB "
        "is free. Process 1 has 11 GiB memory in use."
    )
    assert shortage(RuntimeError(text)) == "; 2.5 GiB more were needed at once, and 512 MiB are free"


def test_that_the_main_memory_is_not_given_for_a_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 3 * 2**30)
    text = "MPS backend out of memory (max allowed: 6.77 GB). Tried to allocate 256 bytes on shared pool."
    assert shortage(RuntimeError(text)) == "; 256 bytes more were needed at once"


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_that_only_a_lack_of_memory_counts_as_one(error: Exception, is_one: bool) -> None:
    assert is_shortage(error) is is_one


def test_that_this_machine_has_some_memory_free() -> None:
    free = memory.free_bytes()
    assert free is not None
    assert free > 0


@pytest.mark.parametrize(("size", "text"), [(0, "0 bytes"), (1536, "2 KiB"), (5 * 2**20, "5 MiB"), (2**31, "2.0 GiB")])
def test_that_sizes_are_rounded_with_their_unit(size: int, text: str) -> None:
    assert readable(size) == text
