"""A token strip on show, and what to fill it with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from core.analysis.summaries import Outcome, TokenChips
from widgets.token_strip import TokenStrip

AWKWARD = (
    *("하늘", "·😀", "👩\u200d👩\u200d👧\u200d👦", "·مرحبا", "שלום", "e\u0301", "◌\u0301"),
    *("a" * 200, "中" * 80, "<E2>", "⏎", "&amp;<b>"),
)
"""Other scripts, joined and combining characters, far too long, spelled-out bytes, markup."""


def chips(texts: Sequence[str], first: int = 0, depth: int = 30) -> TokenChips:
    """Chips of these texts from the 0-based token `first` on, one layer deeper each."""
    n = len(texts)
    exit_layers = np.arange(first, first + n) % depth + 1
    outcomes = np.where(exit_layers == depth, Outcome.FULL_DEPTH, Outcome.EARLY_EXIT).astype(np.uint8)
    return TokenChips(first, tuple(texts), exit_layers, outcomes, np.zeros(n, np.int64), depth)


def words(count: int) -> list[str]:
    return [f"·word{i % 97}" for i in range(count)]


def image(strip: TokenStrip) -> QImage:
    return strip.viewport().grab().toImage()


def shown_strip(qtbot: QtBot) -> TokenStrip:
    """A strip of some rows that has the focus and selects as the window would."""
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.selected.connect(strip.set_selection)
    strip.resize(400, 120)
    strip.show()
    strip.setFocus()
    return strip
