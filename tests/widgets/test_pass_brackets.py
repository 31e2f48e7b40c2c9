"""Tokens of one pass are joined below their chips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from tests.widgets.strip_stage import chips, words
from widgets.palette import DARK
from widgets.pass_brackets import Span, spans
from widgets.token_strip import TokenStrip


@pytest.fixture
def strip(qtbot: QtBot) -> TokenStrip:
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.resize(300, 200)
    strip.show()
    return strip


def grown(sizes: list[int]) -> list[int]:
    """Passes that emit so many tokens each."""
    made: list[int] = []
    for size in sizes:
        made += [len(made)] * size
    return made


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20), st.integers(1, 9))
def test_that_brackets_join_exactly_the_tokens_that_share_a_pass(sizes: list[int], row: int) -> None:
    passes = grown(sizes)
    joined = set()
    for start in range(0, len(passes), row):
        boxes = range(start, min(start + row, len(passes)))
        for span in spans(passes, boxes):
            assert {passes[box] for box in range(span.first, span.last + 1)} == {passes[span.first]}
            assert span.from_before is (span.first > passes[span.first])
            joined |= set(range(span.first, span.last + 1))
    sizes_of = {first: passes.count(first) for first in passes}
    assert joined == {box for box, first in enumerate(passes) if sizes_of[first] > 1}


def test_that_a_pass_broken_over_rows_has_open_ends() -> None:
    passes = [0, 1, 1, 1, 4]
    assert list(spans(passes, range(0, 3))) == [Span(1, 2, False, True)]
    assert list(spans(passes, range(3, 5))) == [Span(3, 3, True, False)]


def below(strip: TokenStrip, first: int, last: int) -> QImage:
    """The stretch of pixels right below these chips."""
    one, other = strip.chip_rect(first), strip.chip_rect(last)
    return strip.viewport().grab(QRect(one.left(), one.bottom() + 1, other.right() - one.left(), 3)).toImage()


def test_that_only_chips_of_one_pass_are_joined_on_screen(strip: TokenStrip) -> None:
    apart = chips(words(4))
    strip.set_chips(apart)
    plain = below(strip, 1, 2)
    strip.set_chips(replace(apart, passes=np.array([0, 1, 1, 3])))
    assert below(strip, 1, 2) != plain
    strip.set_chips(replace(apart, passes=np.arange(4)))
    assert below(strip, 1, 2) == plain


def test_that_a_bracket_goes_on_as_the_tokens_of_its_pass_arrive(strip: TokenStrip) -> None:
    strip.resize(130, 200)  # so narrow that each row holds one or two chips
    whole = replace(chips(words(6)), passes=np.array([0, 1, 1, 1, 1, 5]))
    strip.set_chips(whole)
    at_once = strip.viewport().grab().toImage()
    strip.clear()
    for token in range(6):
        one = chips(words(6)[token : token + 1], first=token)
        strip.set_chips(replace(one, passes=whole.passes[token : token + 1] if whole.passes is not None else None))
    assert strip.viewport().grab().toImage() == at_once


def test_that_a_hover_and_a_screen_reader_are_told_of_the_pass(strip: TokenStrip) -> None:
    strip.set_chips(replace(chips(words(4)), passes=np.array([0, 1, 1, 3])))
    assert "token 2 of 2 from one pass" in strip.words(2)
    assert "pass" not in strip.words(3)


def test_that_the_legend_names_the_bracket_where_trees_are_run() -> None:
    assert "⎵ one pass" in TokenStrip.legend_html(DARK, trees=True)
    assert "one pass" not in TokenStrip.legend_html(DARK)
