"""The table of actions: complete, without double keys, and told in words."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.action_table import ALL, THEMES
from app.actions import Actions
from app.icons import app_icon, icon, pixmap
from app.main_window import PLACES
from resources.paths import ICONS, icon_file
from tests.app.window_stage import WindowStage
from widgets.palette import DARK, LIGHT, Theme
from widgets.theme import mixed


def test_that_every_action_has_words_an_icon_a_key_a_tooltip_with_the_key_and_a_status_tip(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.window.commands.paint_icons()
    actions = list(stage.window.commands)
    assert len(actions) == len(ALL) + len(PLACES)
    for action in actions:
        key = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        assert action.text(), action
        assert not action.icon().isNull(), action.text()
        assert key, action.text()
        assert f"({key})" in action.toolTip(), action.text()
        assert action.statusTip().endswith("."), action.text()
    stage.window.close()


def test_that_a_window_waits_for_no_icon_that_only_menus_show(qtbot: QtBot) -> None:
    holder, button = QObject(), QToolButton()
    qtbot.addWidget(button)
    actions = Actions(holder)
    button.setDefaultAction(actions["stop"])
    actions.apply_theme(DARK)
    assert [action.objectName() for action in actions if not action.icon().isNull()] == ["stop"]
    qtbot.waitUntil(lambda: not any(action.icon().isNull() for action in actions))


def test_that_no_icon_keeps_the_colours_of_the_theme_before(qtbot: QtBot) -> None:
    holder = QObject()
    actions = Actions(holder)
    for theme in (DARK, LIGHT):
        actions.apply_theme(theme)
    actions.paint_icons()
    names, faint = {spec.name: spec.icon for spec in ALL}, mixed(LIGHT.muted, LIGHT.surface, 0.35)
    for action in actions:
        assert action.icon().cacheKey() == icon(names[action.objectName()], LIGHT.text, faint).cacheKey()


def test_that_no_two_actions_share_a_key(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    keys = [action.shortcut().toString() for action in stage.window.commands]
    assert len(set(keys)) == len(keys)
    stage.window.close()


def test_that_every_action_answers_to_its_key_without_its_menu(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    assert set(stage.window.commands) <= set(stage.window.actions())
    stage.window.close()


def test_that_a_key_acts_in_the_window(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.window.activateWindow()
    with qtbot.waitActive(stage.window):
        pass  # a key reaches only the active window
    with qtbot.waitSignal(stage.window.commands["panel_why"].toggled, timeout=5000):
        qtbot.keyClick(stage.window, Qt.Key.Key_7, Qt.KeyboardModifier.ControlModifier)
    stage.window.close()


def test_that_themes_exclude_each_other(qtbot: QtBot) -> None:
    parent = QObject()
    actions = Actions(parent)
    for spec in THEMES:
        actions[spec.name].trigger()
        assert [action.isChecked() for action in actions.some(THEMES)].count(True) == 1


@pytest.mark.parametrize("name", sorted(path.stem for path in ICONS.glob("*.svg")))
def test_that_every_drawn_icon_paints_something(qtbot: QtBot, name: str) -> None:
    image = pixmap(name, "#ff0000", 32).toImage()
    assert any(image.pixelColor(x, y).alpha() > 0 for x in range(32) for y in range(32))


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_icons_take_the_colour_they_are_given(qtbot: QtBot, theme: Theme) -> None:
    image = icon("stop", theme.text, theme.muted).pixmap(24, 24).toImage()
    assert image.pixelColor(12, 12).name() == theme.text


def test_that_every_named_icon_exists() -> None:
    for spec in (*ALL, *PLACES):
        assert icon_file(spec.icon).is_file(), spec.icon


def test_that_the_programs_icon_has_the_sizes_that_desktops_ask_for(qtbot: QtBot) -> None:
    assert {16, 32, 48, 256} <= {size.width() for size in app_icon().availableSizes()}
