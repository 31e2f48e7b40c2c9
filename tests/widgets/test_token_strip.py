from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent, QImage
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from core.analysis.summaries import Outcome, TokenChips
from tests.widgets.plots import alike
from tests.widgets.test_theme import contrast
from widgets.chip_painter import ChipPainter
from widgets.kept_picture import KeptPicture
from widgets.palette import DARK, LIGHT, Theme
from widgets.selection import Selection
from widgets.token_strip import TokenStrip

AWKWARD = (
    *("하늘", "·😀", "👩\u200d👩\u200d👧\u200d👦", "·مرحبا", "שלום", "e\u0301", "◌\u0301"),
    *("a" * 200, "中" * 80, "<E2>", "⏎", "&amp;<b>"),
)
"""Other scripts, joined and combining characters, far too long, spelled-out bytes, markup."""


def chips(texts: Sequence[str], first: int = 0, depth: int = 30) -> TokenChips:
    n = len(texts)
    exit_layers = np.arange(first, first + n) % depth + 1
    outcomes = np.where(exit_layers == depth, Outcome.FULL_DEPTH, Outcome.EARLY_EXIT).astype(np.uint8)
    return TokenChips(first, tuple(texts), exit_layers, outcomes, np.zeros(n, np.int64), depth)


@pytest.fixture
def strip(qtbot: QtBot) -> Iterator[TokenStrip]:
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.selected.connect(strip.set_selection)
    strip.resize(400, 120)
    strip.show()
    strip.setFocus()
    yield strip
    QToolTip.hideText()


def words(count: int) -> list[str]:
    return [f"·word{i % 97}" for i in range(count)]


def image(strip: TokenStrip) -> QImage:
    return strip.viewport().grab().toImage()


@pytest.mark.parametrize("width", [130, 400, 1200])
def test_that_chips_do_not_overlap_and_stay_inside(strip: TokenStrip, width: int) -> None:
    strip.resize(width, 200)
    strip.set_chips(chips([*words(40), *AWKWARD]))
    rects = [strip.chip_rect(token) for token in range(40 + len(AWKWARD))]
    for at, rect in enumerate(rects):
        assert rect.left() >= 0
        assert rect.right() < strip.viewport().width()
        assert not any(rect.intersects(other) for other in rects[at + 1 :])


def test_that_a_hundred_thousand_tokens_make_no_widgets(strip: TokenStrip) -> None:
    before = len(strip.findChildren(QWidget))
    strip.set_chips(chips(words(100_000)))
    strip.viewport().grab()
    assert len(strip.findChildren(QWidget)) == before


def test_that_painting_touches_only_the_rows_in_sight(strip: TokenStrip, monkeypatch: pytest.MonkeyPatch) -> None:
    strip.set_chips(chips(words(5_000)))
    painted: list[int] = []
    monkeypatch.setattr(strip, "_state", lambda box, real=strip._state: painted.append(box) or real(box))
    strip.viewport().grab()
    sight = strip.viewport().rect()
    assert painted
    assert len(painted) < 60
    assert all(strip.chip_rect(token).intersects(sight.adjusted(0, -20, 0, 20)) for token in painted)


def test_that_appending_equals_setting_everything_at_once(strip: TokenStrip, qtbot: QtBot) -> None:
    whole = TokenStrip()
    qtbot.addWidget(whole)
    whole.resize(strip.size())
    whole.show()
    whole.set_chips(chips(words(50)))
    for token, text in enumerate(words(50)):
        strip.set_chips(chips([text], first=token))
    assert [strip.chip_rect(t) for t in range(50)] == [whole.chip_rect(t) for t in range(50)]
    assert [strip.words(t) for t in range(50)] == [whole.words(t) for t in range(50)]


def test_that_chips_from_a_token_on_replace_all_after_it(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(10)))
    strip.set_chips(chips(["·new"], first=4))
    assert "·new" in strip.words(4)
    assert strip.words(5).startswith("token 6 · in flight")


def test_that_a_gap_in_the_tokens_is_refused(strip: TokenStrip) -> None:
    with pytest.raises(ValueError, match="only 0 are there"):
        strip.set_chips(chips(["x"], first=3))


def test_that_the_strip_follows_its_tail_until_the_user_scrolls_away(strip: TokenStrip) -> None:
    bar = strip.verticalScrollBar()
    strip.set_chips(chips(words(100)))
    assert bar.value() == bar.maximum() > 0
    bar.setValue(0)
    strip.set_chips(chips(words(100), first=100))
    assert bar.value() == 0
    bar.setValue(bar.maximum())
    strip.set_chips(chips(words(100), first=200))
    assert bar.value() == bar.maximum()


@pytest.mark.parametrize(
    ("key", "start", "end"),
    [
        (Qt.Key.Key_Left, 50, 49),
        (Qt.Key.Key_Left, 0, 0),
        (Qt.Key.Key_Right, 50, 51),
        (Qt.Key.Key_Right, 99, 99),
        (Qt.Key.Key_Home, 50, 0),
        (Qt.Key.Key_End, 50, 99),
        (Qt.Key.Key_Up, 0, 0),
        (Qt.Key.Key_Down, 99, 99),
        (Qt.Key.Key_Left, None, 99),
        (Qt.Key.Key_Home, None, 0),
    ],
)
def test_that_keys_move_the_selection(
    strip: TokenStrip, qtbot: QtBot, key: Qt.Key, start: int | None, end: int
) -> None:
    strip.set_chips(chips(words(100)))
    strip.set_selection(Selection(start))
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.keyClick(strip, key)
    assert asked.args == [Selection(end)]


@pytest.mark.parametrize(("there", "back"), [("Down", "Up"), ("PageDown", "PageUp")])
def test_that_keys_between_rows_keep_to_the_column(strip: TokenStrip, qtbot: QtBot, there: str, back: str) -> None:
    strip.set_chips(chips(["·same"] * 200))
    strip.set_selection(Selection(2))
    rows = []
    for name in (there, back):
        with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
            qtbot.keyClick(strip, Qt.Key[f"Key_{name}"])
        rect = strip.chip_rect(asked.args[0].token)
        rows.append(rect.left())
        assert strip.viewport().rect().contains(rect)
    assert rows == [strip.chip_rect(2).left()] * 2
    assert asked.args == [Selection(2)]


@pytest.mark.parametrize("modifier", [Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier])
def test_that_keys_with_modifiers_are_left_to_the_windows_shortcuts(
    strip: TokenStrip, qtbot: QtBot, modifier: Qt.KeyboardModifier
) -> None:
    strip.set_chips(chips(words(5)))
    with qtbot.assertNotEmitted(strip.selected):
        qtbot.keyClick(strip, Qt.Key.Key_Left, modifier)


def test_that_keys_on_an_empty_strip_ask_for_nothing(strip: TokenStrip, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(strip.selected):
        qtbot.keyClick(strip, Qt.Key.Key_End)


def test_that_a_click_selects_the_chip_under_it_and_a_gap_nothing(strip: TokenStrip, qtbot: QtBot) -> None:
    strip.set_chips(chips(words(4)))
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=strip.chip_rect(1).center())
    assert asked.args == [Selection(1)]
    with qtbot.assertNotEmitted(strip.selected):
        gap = strip.chip_rect(1).topRight() + QPoint(3, 5)
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=gap)


def test_that_a_selection_made_elsewhere_comes_into_sight(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(500)))
    for token in (3, 250, 499):
        strip.set_selection(Selection(token, layer=7))
        assert strip.viewport().rect().contains(strip.chip_rect(token))


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


def test_that_the_token_in_flight_stands_last_and_can_be_selected(strip: TokenStrip, qtbot: QtBot) -> None:
    strip.set_chips(chips(words(3)))
    strip.set_in_flight(12, 30)
    assert strip.words(3) == "token 4 · in flight · 12 of 30 layers run"
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=strip.chip_rect(3).center())
    assert asked.args == [Selection(3)]
    strip.set_in_flight(None)
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.keyClick(strip, Qt.Key.Key_End)
    assert asked.args == [Selection(2)]


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_the_small_amber_numbers_of_refusals_can_be_read(strip: TokenStrip, theme: Theme) -> None:
    fill = ChipPainter(strip.font(), theme).fill
    assert contrast(theme.caution, fill) >= 4.5
    assert contrast(theme.muted, fill) >= 4.5


def test_that_hovering_tells_the_numbers_in_words(strip: TokenStrip) -> None:
    data = chips(["The", "·blue", "·sky"])
    outcomes = np.array([Outcome.PREFILL, Outcome.EARLY_EXIT, Outcome.REFUSED], np.uint8)
    refusals = np.array([0, 1, 2])
    strip.set_chips(TokenChips(0, data.texts, np.array([30, 23, 30]), outcomes, refusals, 30))
    assert strip.words(0) == "token 1 ‘The’ · exit layer 30 of 30 · from prefill, always full depth"
    assert strip.words(1) == "token 2 ‘·blue’ · exit layer 23 of 30 · early exit · 1 proposed exit refused"
    assert strip.words(2) == "token 3 ‘·sky’ · exit layer 30 of 30 · full depth · 2 proposed exits refused"


def test_that_a_tool_tip_has_the_whole_of_a_cut_token(strip: TokenStrip) -> None:
    strip.set_chips(chips(["<b>" + "a" * 300]))
    spot = strip.chip_rect(0).center()
    QApplication.sendEvent(strip.viewport(), QHelpEvent(QEvent.Type.ToolTip, spot, strip.mapToGlobal(spot)))
    assert "&lt;b&gt;" + "a" * 300 in QToolTip.text()


def test_that_a_screen_reader_hears_the_selected_token(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(3)))
    strip.set_selection(Selection(1))
    assert strip.accessibleDescription() == strip.words(1)
    strip.set_selection(Selection())
    assert "Arrow keys" in strip.accessibleDescription()


def test_that_clearing_leaves_nothing_behind(strip: TokenStrip) -> None:
    blank = image(strip)
    strip.set_chips(chips(words(300)))
    strip.set_in_flight(3, 30)
    strip.clear()
    assert strip.verticalScrollBar().maximum() == 0
    assert image(strip) == blank


def test_that_a_larger_font_makes_larger_chips(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(3)))
    before = strip.chip_rect(0)
    font = strip.font()
    font.setPointSizeF(font.pointSizeF() * 2)
    strip.setFont(font)
    assert strip.chip_rect(0).width() > before.width()
    assert strip.chip_rect(0).height() > before.height()


def test_that_a_wrong_exit_is_told_with_both_tokens_even_after_a_refusal(strip: TokenStrip) -> None:
    data = chips(["The", "·red"])
    outcomes = np.array([Outcome.PREFILL, Outcome.EARLY_EXIT], np.uint8)
    right = TokenChips(0, data.texts, np.array([30, 23]), outcomes, np.array([0, 1]), 30)
    strip.set_chips(right)
    before = image(strip)
    wrong = np.array([Outcome.PREFILL, Outcome.WRONG_EXIT], np.uint8)
    strip.set_chips(TokenChips(0, data.texts, np.array([30, 23]), wrong, np.array([0, 1]), 30))
    assert image(strip) != before
    strip.set_notes(lambda token: "left early with ‘ red’; full depth gives ‘ blue’")
    assert strip.words(1) == (
        "token 2 ‘·red’ · exit layer 23 of 30 · wrong exit: left early with ‘ red’; full depth gives ‘ blue’"
        " · 1 proposed exit refused"
    )
    assert "≠" in TokenStrip.legend_html(DARK, audited=True)
    assert "≠" not in TokenStrip.legend_html(DARK)


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


def test_that_a_token_chosen_before_it_is_there_comes_into_sight_with_its_run(strip: TokenStrip) -> None:
    strip.set_selection(Selection(3))
    strip.set_chips(chips(words(500)))
    assert strip.viewport().rect().contains(strip.chip_rect(3))


def test_that_a_selected_token_in_sight_stays_there_when_the_strip_becomes_lower(strip: TokenStrip) -> None:
    strip.resize(400, 160)
    strip.set_chips(chips(words(24)))
    strip.set_selection(Selection(2))
    strip.resize(400, 60)
    QApplication.processEvents()
    assert strip.viewport().rect().contains(strip.chip_rect(2))
