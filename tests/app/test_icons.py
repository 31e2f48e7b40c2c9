"""Icons: pictures in the theme's colours."""

from __future__ import annotations

import ctypes
import sys

import pytest
from pytestqt.qtbot import QtBot

from app.icons import SIZES, icon

ROOM = 3 * 2**10
"""Bytes for one of an icon's pictures, most of it the largest one's pixels; what paints one would take 8 KiB."""


class _Allocated(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = (("before", ctypes.c_size_t * 7), ("uordblks", ctypes.c_size_t), ("after", ctypes.c_size_t * 2))


def allocated() -> int:
    """Bytes that this thread's heap has given out."""
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = _Allocated
    told: int = ask().uordblks
    return told


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="the 8 KiB are counted by mallinfo2, which only glibc has, since 2.33",
)
def test_that_an_icon_keeps_its_pictures_but_not_what_painted_them(qtbot: QtBot) -> None:
    icon("run", "#123456", "#888888")  # what Qt needs for the first
    count, before = 20, allocated()
    for number in range(count):
        icon("run", f"#1234{number:02x}", "#888888")
    assert (allocated() - before) / (count * 2 * len(SIZES)) < ROOM
