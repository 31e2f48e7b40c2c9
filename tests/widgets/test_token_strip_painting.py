"""What the token strip paints, and how little of it again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from core.analysis.summaries import Outcome, TokenChips
from tests.widgets.plots import alike
from tests.widgets.strip_stage import AWKWARD, chips, image, shown_strip, words
from tests.widgets.test_theme import contrast
from widgets.chip_painter import ChipPainter
from widgets.kept_picture import KeptPicture
from widgets.palette import DARK, LIGHT, Theme
from widgets.selection import Selection
from widgets.token_strip import TokenStrip


@pytest.fixture
def strip(qtbot: QtBot) -> Iterator[TokenStrip]:
    yield shown_strip(qtbot)
    QToolTip.hideText()


@pytest.fixture
def painted(strip: TokenStrip, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The chips that were painted after the first twelve; emptied by whoever looks."""
    with qtbot.waitExposed(strip):
        strip.set_chips(chips(words(12)))
    strip.set_selection(Selection(11))
    QApplication.processEvents()
    painted: set[int] = set()
    monkeypatch.setattr(strip, "_state", lambda box, real=strip._state: painted.add(box) or real(box))
    return painted


def test_that_painting_touches_only_the_rows_in_sight(strip: TokenStrip, monkeypatch: pytest.MonkeyPatch) -> None:
    strip.set_chips(chips(words(5_000)))
    painted: list[int] = []
    monkeypatch.setattr(strip, "_state", lambda box, real=strip._state: painted.append(box) or real(box))
    strip.viewport().grab()
    sight = strip.viewport().rect()
    assert painted
    assert len(painted) < 60
    assert all(strip.chip_rect(token).intersects(sight.adjusted(0, -20, 0, 20)) for token in painted)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_any_text_renders_in_both_themes(strip: TokenStrip, theme: Theme) -> None:
    strip.apply_theme(theme)
    strip.resize(700, 300)
    empty = image(strip)
    strip.set_chips(chips(AWKWARD))
    strip.set_in_flight(4, 30)
    plain = image(strip)
    strip.set_selection(Selection(2))
    assert empty != plain != image(strip)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_the_small_amber_numbers_of_refusals_can_be_read(strip: TokenStrip, theme: Theme) -> None:
    fill = ChipPainter(strip.font(), theme).fill
    assert contrast(theme.caution, fill) >= 4.5
    assert contrast(theme.muted, fill) >= 4.5


def test_that_a_larger_font_makes_larger_chips(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(3)))
    before = strip.chip_rect(0)
    font = strip.font()
    font.setPointSizeF(font.pointSizeF() * 2)
    strip.setFont(font)
    assert strip.chip_rect(0).width() > before.width()
    assert strip.chip_rect(0).height() > before.height()


def test_that_given_tokens_and_bookmarks_have_marks_of_their_own(strip: TokenStrip) -> None:
    data = chips(["The", "·red"])
    looks = []
    for kind in (Outcome.EARLY_EXIT, Outcome.GIVEN):
        strip.set_chips(
            TokenChips(0, data.texts, np.array([30, 23]), np.array([0, kind], np.uint8), np.zeros(2, int), 30)
        )
        looks.append(image(strip))
    strip.set_bookmarks([1])
    looks.append(image(strip))
    strip.set_highlight(np.array([1]))
    looks.append(image(strip))
    assert all(one != other for one, other in itertools.pairwise(looks))
    assert strip.words(1) == (
        "token 2 ‘·red’ · exit layer 23 of 30 · given to the branch, nothing was decided · bookmarked"
    )
    strip.set_bookmarks([])
    strip.set_highlight(np.array([], np.int64))
    assert image(strip) == looks[1]
    assert "↳" in TokenStrip.legend_html(DARK, branch=True)
    assert "↳" not in TokenStrip.legend_html(DARK, audited=True)


def test_that_the_same_layer_of_a_deeper_model_has_a_shorter_bar(strip: TokenStrip) -> None:
    strip.set_chips(chips(["·first"], depth=4))
    image(strip)
    strip.set_chips(chips(["·first"], depth=24))
    kept = image(strip)
    strip.apply_theme(DARK)
    assert kept == image(strip)


def test_that_another_theme_leaves_the_selected_chip_in_sight(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(60)))
    strip.resize(400, strip.chip_rect(0).height() + 20)
    bar = strip.verticalScrollBar()
    last = strip.chip_rect(59).top()
    row = next(at for at in range(59, 0, -1) if strip.chip_rect(at).top() < last)
    strip.set_selection(Selection(row))
    bar.setValue(bar.maximum() - 20)  # close to the newest token, with the chosen one half in sight
    assert strip.chip_rect(row).top() < 0 < strip.chip_rect(row).bottom()
    strip.apply_theme(LIGHT)
    assert strip.chip_rect(row).top() >= 0


def test_that_moving_the_selection_paints_two_chips_only(strip: TokenStrip, painted: set[int]) -> None:
    strip.set_selection(Selection(9))
    QApplication.processEvents()
    assert painted == {9, 11}


def test_that_a_new_token_paints_only_its_own_chip(strip: TokenStrip, painted: set[int]) -> None:
    strip.set_chips(chips(["new"], first=12))
    QApplication.processEvents()
    assert painted == {12}
    painted.clear()
    strip.set_in_flight(1, 30)
    strip.set_in_flight(2, 30)
    QApplication.processEvents()
    assert painted == {13}


def test_that_a_token_of_the_same_pass_paints_the_chip_before_for_its_bracket(
    strip: TokenStrip, painted: set[int]
) -> None:
    strip.set_chips(replace(chips(["new"], first=12), passes=np.array([11])))
    QApplication.processEvents()
    assert painted == {11, 12}


def test_that_what_is_exposed_again_is_not_painted_again(strip: TokenStrip, painted: set[int]) -> None:
    strip.hide()
    strip.show()
    strip.viewport().update()
    QApplication.processEvents()
    assert painted == set()


def test_that_another_theme_paints_everything(strip: TokenStrip, painted: set[int]) -> None:
    strip.apply_theme(LIGHT)
    QApplication.processEvents()
    in_sight = {t for t in range(12) if strip.chip_rect(t).intersects(strip.viewport().rect())}
    assert painted == in_sight
    assert image(strip).pixelColor(1, 1).name() == LIGHT.surface


def test_that_what_was_kept_looks_as_if_painted_now(strip: TokenStrip, qtbot: QtBot) -> None:
    with qtbot.waitExposed(strip):
        strip.set_chips(replace(chips([*words(9), *AWKWARD]), passes=np.arange(9 + len(AWKWARD)) // 2 * 2))
    happenings: list[Callable[[], object]] = [
        lambda: strip.set_in_flight(3, 30),
        lambda: strip.set_selection(Selection(5)),
        lambda: strip.set_chips(chips(["a much longer token than before"], first=17)),
        lambda: strip.set_selection(Selection(17)),
        lambda: strip.set_highlight(np.array([2, 16])),
        lambda: strip.verticalScrollBar().setValue(strip.verticalScrollBar().value() - 17),
        lambda: strip._hover(15),
        lambda: strip.set_chips(chips(words(90), first=3)),
        lambda: strip.resize(400, 170),
        lambda: strip.resize(330, 90),
        lambda: strip.set_in_flight(None),
        lambda: strip.set_selection(Selection()),
        lambda: strip.set_highlight(np.arange(3, 90)),
        lambda: strip.set_chips(chips(words(2), first=1)),
    ]
    for happen in happenings:
        happen()
        QApplication.processEvents()
        kept = image(strip)
        strip._picture = KeptPicture(DARK.surface)
        assert alike(kept, image(strip))
