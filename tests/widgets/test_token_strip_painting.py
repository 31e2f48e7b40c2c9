"""What the token strip paints, and how little of it again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractSlider, QApplication, QToolTip
from pytestqt.qtbot import QtBot

from core.analysis.summaries import Outcome, TokenChips
from tests.widgets.plots import alike
from tests.widgets.strip_stage import AWKWARD, chips, image, shown_strip, words
from tests.widgets.test_theme import contrast
from widgets.chip_painter import ChipPainter
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
        strip._picture = strip._blank(DARK)
        assert alike(kept, image(strip))


JOINED = np.arange(40) // 3 * 3
"""Passes of three tokens each."""

Step = Callable[[TokenStrip], object]
STEPS: dict[str, list[Step]] = {
    "a token more": [lambda strip: strip.set_chips(chips(["·one"], first=12))],
    "a row breaks": [lambda strip: strip.set_chips(chips(["·a·much·longer·token·than·most"] * 3, first=12))],
    "a shorter last one": [lambda strip: strip.set_chips(chips(["·a"], first=11))],
    "a longer last one": [lambda strip: strip.set_chips(chips(["·a·much·longer·token·than·most"], first=11))],
    "it scrolls": [lambda strip: strip.set_chips(chips(words(30), first=12))],
    "it scrolls and shrinks": [
        lambda strip: strip.set_chips(chips(words(30), first=12)),
        lambda strip: strip.set_chips(chips(["·a"], first=20)),
    ],
    "fewer": [lambda strip: strip.set_chips(chips([], first=5))],
    "only the first": [lambda strip: strip.set_chips(chips([], first=1))],
    "one in flight": [lambda strip: strip.set_in_flight(3, 30), lambda strip: strip.set_in_flight(7, 30)],
    "none in flight any more": [lambda strip: strip.set_in_flight(3, 30), lambda strip: strip.set_in_flight(None)],
    "in flight, then a longer one": [
        lambda strip: strip.set_in_flight(3, 30),
        lambda strip: strip.set_chips(chips(["·a·much·longer·token·than·most"], first=12)),
        lambda strip: strip.set_in_flight(None),
    ],
    "of the same pass": [lambda strip: strip.set_chips(replace(chips(words(3), first=12), passes=np.array([11] * 3)))],
    "no more of the same pass": [
        lambda strip: strip.set_chips(replace(chips(words(40)), passes=JOINED)),
        lambda strip: strip.set_chips(replace(chips(["·a"], first=31), passes=np.array([31]))),
    ],
    "a pass over a row's end": [
        lambda strip: strip.set_chips(replace(chips(words(20)), passes=np.arange(20) // 10 * 10)),
        lambda strip: strip.set_chips(replace(chips(words(9), first=20), passes=np.array([10] * 9))),
    ],
    "marks": [lambda strip: strip.set_bookmarks([2, 9]), lambda strip: strip.set_highlight(np.array([1, 10]))],
    "another theme": [lambda strip: strip.apply_theme(LIGHT), lambda strip: strip.apply_theme(DARK)],
    "another size": [lambda strip: strip.resize(300, 150), lambda strip: strip.resize(400, 120)],
    "nothing": [lambda strip: strip.clear()],
}


def on_screen(strip: TokenStrip) -> QImage:
    """What was painted there, which lags behind what would be painted now where nobody asked for it."""
    QApplication.processEvents()
    window = strip.window()
    return strip.screen().grabWindow(window.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)


def painted_anew(strip: TokenStrip) -> QImage:
    """All of it as it is now, with nothing taken from before."""
    strip._picture = strip._blank(strip._chip.theme)
    return strip.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


@pytest.fixture
def twelve(strip: TokenStrip, qtbot: QtBot) -> TokenStrip:
    with qtbot.waitExposed(strip):
        strip.set_chips(chips(words(12)))
    on_screen(strip)
    return strip


@pytest.mark.parametrize("selected", [None, 11, 13])
@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_that_a_strip_that_was_held_shows_what_came_meanwhile(
    twelve: TokenStrip, steps: list[Step], prepared: bool, selected: int | None
) -> None:
    twelve.set_selection(Selection(selected))
    on_screen(twelve)
    for step in steps:
        twelve.hold()
        step(twelve)
        on_screen(twelve)
        for _ in twelve.prepare() if prepared else ():
            on_screen(twelve)
        twelve.release()
        shown = on_screen(twelve)
        assert alike(shown, painted_anew(twelve))


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_that_little_is_painted_again_and_nothing_left_out(twelve: TokenStrip, steps: list[Step]) -> None:
    for step in steps:
        step(twelve)
        shown = on_screen(twelve)
        assert alike(shown, painted_anew(twelve))


@pytest.mark.parametrize("key", ["a token more", "it scrolls", "marks", "none in flight any more"])
def test_that_nothing_of_what_is_held_is_on_the_screen_before_its_release(twelve: TokenStrip, key: str) -> None:
    before = on_screen(twelve)
    twelve.verticalScrollBar().hide()  # its handle follows at once
    before = on_screen(twelve)
    twelve.hold()
    for step in STEPS[key][:1]:
        step(twelve)
    for _ in twelve.prepare():
        pass
    assert alike(on_screen(twelve).copy(0, 0, 380, 120), before.copy(0, 0, 380, 120))
    twelve.release()
    assert not alike(on_screen(twelve).copy(0, 0, 380, 120), before.copy(0, 0, 380, 120))


def test_that_a_prepared_strip_paints_no_chip_when_it_is_released(strip: TokenStrip, painted: set[int]) -> None:
    strip.hold()
    strip.set_chips(chips(["new"], first=12))
    for _ in strip.prepare():
        pass
    assert painted == {12}
    painted.clear()
    strip.release()
    QApplication.processEvents()
    assert painted == set()


@pytest.mark.parametrize(
    "act",
    [
        lambda strip: strip.set_selection(Selection(3)),
        lambda strip: strip._hover(3),
        lambda strip: strip.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderSingleStepSub),
    ],
    ids=["chosen", "hovered", "scrolled"],
)
def test_that_who_uses_a_held_strip_sees_it_as_it_is(twelve: TokenStrip, act: Step) -> None:
    twelve.set_chips(chips(words(40)))
    on_screen(twelve)
    twelve.hold()
    twelve.set_chips(chips(["new", "and", "another"], first=40))
    act(twelve)
    shown = on_screen(twelve)
    assert alike(shown, painted_anew(twelve))
