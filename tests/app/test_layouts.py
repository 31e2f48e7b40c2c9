"""Layouts over the real window: what each shows, what one panel over all leaves, and what a launch brings back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QByteArray, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar
from pytestqt.qtbot import QtBot

from app import layout
from app.layouts import FIRST, NAMED
from app.main_window import MainWindow
from app.places import LEDGER, PLACES, TOOLS, WHY
from tests.app.window_stage import WindowStage


@pytest.fixture
def window(qtbot: QtBot) -> Iterator[MainWindow]:
    stage = WindowStage(qtbot)
    stage.window.resize(1520, 940)
    yield stage.window
    stage.window.close()


def shown(window: MainWindow) -> set[str]:
    """Panels that are neither closed nor hidden, in front or behind."""
    return {key for key, panel in window.panels.items() if not panel.isHidden()}


def in_front(window: MainWindow) -> set[str]:
    return {key for key, panel in window.panels.items() if not panel.visibleRegion().isEmpty()}


def tabs(window: MainWindow) -> list[int]:
    """How many tabs each visible tab bar between the panels has."""
    bars = window.host.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return sorted(bar.count() for bar in bars if bar.isVisible())


def test_that_each_layout_shows_its_panels_and_only_those_at_any_order(window: MainWindow, qtbot: QtBot) -> None:
    known = set(window.panels)
    for key in (*NAMED, *reversed(NAMED)):
        window.commands[f"layout_{key}"].trigger()
        assert shown(window) == NAMED[key].shown & known, key
        fronts = {group.keys[0] for group in NAMED[key].among(known).groups}
        qtbot.waitUntil(lambda fronts=fronts: fronts == in_front(window))
    window.commands["reset_layout"].trigger()
    assert shown(window) == FIRST.shown & known
    piles = sorted(len(group.keys) for group in FIRST.among(known).groups if len(group.keys) > 1)
    qtbot.waitUntil(lambda: tabs(window) == piles)


def test_that_every_panel_is_in_the_first_layout_or_kept_for_who_asks() -> None:
    hidden = {place.key for place in TOOLS if not place.behind}
    assert FIRST.shown == {place.key for place in PLACES} - hidden


def test_that_a_layout_without_some_panels_leaves_no_gap() -> None:
    few = NAMED["teaching"].among({"tokens", "why"})
    assert [[group.keys for group in row.groups] for row in few.rows] == [[("tokens",)], [("why",)]]


def test_that_one_panel_has_all_the_room_until_the_others_are_wanted_back(window: MainWindow, qtbot: QtBot) -> None:
    before = shown(window)
    maximise = window.commands["maximise"]
    window.panels["why"].header.hide_button.setFocus()
    maximise.trigger()
    assert shown(window) == {"why"}
    assert maximise.isChecked()
    qtbot.waitUntil(lambda: window.panels["why"].width() > 1400)
    maximise.trigger()
    assert shown(window) == before
    assert not maximise.isChecked()
    double_click(window, "exits")
    assert shown(window) == {"exits"}
    window.panels["exits"].header.hide_button.click()
    qtbot.waitUntil(lambda: shown(window) == before)
    assert not maximise.isChecked()


def test_that_a_panel_out_of_sight_is_not_the_one_that_gets_all_the_room(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: WHY.key in in_front(window))
    window.desk.layouts.focused = LEDGER.key  # it had the focus before others came in front of it
    window.commands["maximise"].trigger()
    assert shown(window) == {"tokens"}


def test_that_a_maximised_panel_that_is_dragged_out_floats_and_gives_the_others_back(
    window: MainWindow, qtbot: QtBot
) -> None:
    before, panel = shown(window), window.panels["tokens"]
    window.host.maximise("tokens")
    QApplication.processEvents()
    at, handle = panel.header.mapTo(window, QPoint(30, 8)), window.windowHandle()
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    for _ in range(4):
        at += QPoint(40, 60)
        QTest.mouseMove(handle, at)
    assert window.host.is_maximised  # nothing else moves while the panel does
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    qtbot.waitUntil(lambda: not window.host.is_maximised)
    assert panel.isFloating()
    assert shown(window) == before


def test_that_a_floating_panel_comes_back_to_be_maximised_and_floats_again(window: MainWindow) -> None:
    panel = window.panels["why"]
    panel.setFloating(True)
    window.host.maximise("why")
    QApplication.processEvents()
    assert in_front(window) == {"why"}
    assert not panel.isFloating()
    window.host.maximise("why")
    assert panel.isFloating()


def test_that_a_floating_panel_that_is_put_back_is_in_front_and_ends_that_another_has_all_the_room(
    window: MainWindow, qtbot: QtBot
) -> None:
    before, why = shown(window), window.panels[WHY.key]
    why.header.float_button.click()
    qtbot.waitUntil(lambda: {WHY.key, LEDGER.key} & in_front(window) != set())
    why.header.float_button.click()
    qtbot.waitUntil(lambda: WHY.key in in_front(window) and not why.isFloating())
    why.header.float_button.click()
    window.host.maximise("exits")
    QApplication.processEvents()
    assert window.host.is_maximised, "a panel that floats is in nobody's way"
    why.header.float_button.click()
    qtbot.waitUntil(lambda: not window.host.is_maximised)
    assert shown(window) == before
    assert not why.isFloating()
    qtbot.waitUntil(lambda: WHY.key in in_front(window))


def test_that_panels_that_are_given_back_their_room_lie_before_and_behind_each_other_as_they_did(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.commands["layout_debugging"].trigger()
    prompt = window.panels["prompt"]
    prompt.setFloating(True)
    window.panels[LEDGER.key].raise_()
    qtbot.waitUntil(lambda: LEDGER.key in in_front(window))
    before = in_front(window)
    window.host.maximise("scheduler")
    QApplication.processEvents()
    prompt.setFloating(False)
    window.panels["tree"].show()  # asked for while the others are on their way
    window.panels["tree"].raise_()
    qtbot.waitUntil(lambda: not window.host.is_maximised)
    qtbot.waitUntil(lambda: "tree" in in_front(window))
    assert in_front(window) >= before - {"candidates", "settings"}


def double_click(window: MainWindow, key: str) -> None:
    header, at = window.panels[key].header, QPointF(60, 12)
    button, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    where = header.mapToGlobal(at)
    QApplication.sendEvent(header, QMouseEvent(QEvent.Type.MouseButtonDblClick, at, where, button, button, none))


def test_that_a_maximised_panel_and_a_named_layout_are_not_what_is_remembered(window: MainWindow) -> None:
    before = shown(window)
    window.host.maximise("tokens")
    kept = window.host.state()
    window.commands["layout_tree"].trigger()
    assert not window.host.is_maximised
    assert not window.commands["maximise"].isChecked()
    assert window.host.restore(kept)
    assert shown(window) == before


def test_that_an_own_layout_is_there_at_the_next_launch_until_it_is_forgotten(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.trigger("layout_tree")
    stage.window.desk.layouts.save("  my  & own ")
    stage.window.close()
    window = stage.open()
    stage.trigger("reset_layout")
    menus = window.desk.layouts
    (own,) = menus.own.actions()
    assert own.text() == "my && own"
    own.trigger()
    assert shown(window) == NAMED["tree"].shown & set(window.panels)
    menus.forget.actions()[0].trigger()
    assert menus.own.actions() == []
    assert window.preferences.desk.layouts == {}
    window.preferences.desk.layouts = {"spoilt": QByteArray(b"no state")}
    menus.own.aboutToShow.emit()
    menus.own.actions()[0].trigger()
    assert shown(window) == FIRST.shown & set(window.panels)
    assert window.preferences.desk.layouts == {}, "what cannot be read is forgotten"
    window.close()


def test_that_a_window_that_would_lie_off_every_screen_comes_back(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.window.panels["why"].header.float_button.click()
    stage.window.panels["why"].move(QPoint(-9000, 50))
    stage.window.move(QPoint(9000, 9000))
    stage.window.close()
    window = stage.open()
    screen = QGuiApplication.primaryScreen().availableGeometry()
    for one in (window, window.panels["why"]):
        assert screen.intersects(one.frameGeometry())
    window.panels["why"].move(QPoint(-9000, 50))
    layout.bring_back(window, window.host)
    assert screen.contains(window.panels["why"].frameGeometry().topLeft() + QPoint(0, 4))
    window.close()


def test_that_panels_never_moved_keep_their_shares_in_a_larger_window_of_the_next_launch(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.window.resize(1000, 640)
    qtbot.waitUntil(lambda: stage.window.panels["prompt"].width() < 340)
    stage.window.close()
    window = stage.open()
    window.resize(1520, 940)
    qtbot.waitUntil(lambda: window.width() == 1520 and window.panels["prompt"].width() < 340)
    window.close()


def test_that_a_panel_that_is_asked_for_comes_forward_and_only_one_in_sight_is_hidden(
    window: MainWindow, qtbot: QtBot
) -> None:
    toggle = window.commands["panel_tree"]
    qtbot.waitUntil(lambda: "candidates" in in_front(window))
    for sight in (True, False, True):
        toggle.trigger()
        qtbot.waitUntil(lambda sight=sight: ("tree" in in_front(window)) is sight)
    window.commands["panel_log"].trigger()
    qtbot.waitUntil(lambda: "log" in in_front(window))


def test_that_a_panel_behind_others_floats_on_the_screen(window: MainWindow, qtbot: QtBot) -> None:
    front, behind = window.panels[WHY.key], window.panels[LEDGER.key]
    front.raise_()
    qtbot.waitUntil(lambda: WHY.key in in_front(window))
    assert LEDGER.key not in in_front(window)
    behind.header.float_button.click()
    assert behind.isFloating()
    assert window.geometry().contains(behind.geometry().topLeft()), "else beyond the screen"
    qtbot.waitUntil(lambda: LEDGER.key in in_front(window))
