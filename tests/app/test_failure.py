from __future__ import annotations

import errno
import os

import pytest

from app.failure import describe
from core import memory
from core.errors import UserError


def raised(error: Exception) -> Exception:
    """The error with a traceback."""
    try:
        raise error
    except Exception as caught:
        return caught


def test_that_what_the_user_can_put_right_is_shown_as_it_is_written() -> None:
    failure = describe(raised(UserError("The prompt is empty; type something.")))
    assert (failure.sentence, failure.details, failure.user_error) == ("The prompt is empty; type something.", "", True)


def test_that_an_unforeseen_error_keeps_its_traceback_for_the_details() -> None:
    failure = describe(raised(KeyError("weight")))
    assert "inside the engine (KeyError)" in failure.sentence
    assert "Traceback" in failure.details
    assert "weight" in failure.details
    assert not failure.user_error


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has", "20 MiB"),
        ("CUDA out of memory. Tried to allocate 2.50 GiB.", "2.5 GiB"),
        ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 3221225472 bytes.", "3.0 GiB"),
        ("DefaultCPUAllocator: not enough memory: you tried to allocate 5242880 bytes.", "5 MiB"),
    ],
)
def test_that_a_lack_of_memory_says_how_much_was_missing(text: str, amount: str) -> None:
    sentence = describe(raised(RuntimeError(text))).sentence
    assert sentence.startswith("There is not enough memory")
    assert f"{amount} more were needed" in sentence


def test_that_a_lack_of_memory_without_a_number_still_says_how_much_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 3 * 2**29)
    sentence = describe(raised(MemoryError())).sentence
    assert sentence.startswith("There is not enough memory; 1.5 GiB are free. Close other programs")


def test_that_another_runtime_error_is_not_mistaken_for_a_lack_of_memory() -> None:
    assert "memory" not in describe(raised(RuntimeError("shapes cannot be multiplied"))).sentence


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP])
def test_that_a_path_which_the_system_refuses_is_named_and_is_no_fault_of_the_engine(number: int) -> None:
    failure = describe(raised(OSError(number, os.strerror(number), "/data/model")))
    assert failure.sentence == (
        f"/data/model cannot be used ({os.strerror(number)}); check the path and its permissions."
    )
    assert failure.user_error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_that_a_full_disk_is_no_fault_of_the_engine(number: int) -> None:
    failure = describe(raised(OSError(number, os.strerror(number))))
    assert (failure.sentence, failure.user_error) == ("The disk is full; free some space and try again.", True)


def test_that_an_unforeseen_system_error_keeps_its_traceback_for_the_details() -> None:
    failure = describe(raised(FileNotFoundError(errno.ENOENT, "No such file or directory", "icons/run.svg")))
    assert not failure.user_error
    assert "icons/run.svg" in failure.details
