"""The palette and the sheet of keys over the real window: everything is found, triggered and re-keyed from there."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

from app.actions import Actions
from app.command_palette import CommandPalette, spoken
from app.shortcut_keys import Keys
from app.shortcut_sheet import ShortcutSheet
from tests.app.window_stage import WindowStage


def palette(stage: WindowStage) -> CommandPalette:
    stage.trigger("palette")
    return next(one for one in stage.window.findChildren(CommandPalette) if one.isVisible())


def sheet(stage: WindowStage) -> ShortcutSheet:
    stage.trigger("keys")
    return next(one for one in stage.window.findChildren(ShortcutSheet) if one.isVisible())


def test_that_every_action_has_a_place_in_a_menu_and_so_an_entry_in_the_palette(stage: WindowStage) -> None:
    named = {command.action.objectName(): command for command in stage.window.desk.commands}
    assert set(stage.window.commands.names) <= set(named)
    for name in stage.window.commands.names:
        command = named[name]
        assert command.path, name
        assert command.title, name
        assert "&" not in command.title, name
        assert command.shortcut, name
        assert not command.action.icon().isNull(), name
        assert f"({command.shortcut})" in command.action.toolTip(), name
        assert spoken(command).startswith(command.title), name


def test_that_enter_triggers_what_was_typed_and_remembers_it(stage: WindowStage) -> None:
    shown = palette(stage)
    stage.qtbot.keyClicks(shown.query, "hide why")
    assert shown.rows.command(0).key == "panel_why"
    with stage.qtbot.waitSignal(stage.window.commands["panel_why"].toggled):
        stage.qtbot.keyClick(shown.query, Qt.Key.Key_Return)
    assert stage.window.panels["why"].isHidden()
    assert palette(stage).rows.command(0).key == "panel_why"


def test_that_an_action_that_cannot_be_used_says_why_and_arrow_keys_move_the_choice(stage: WindowStage) -> None:
    shown = palette(stage)
    stage.qtbot.keyClicks(shown.query, "step token")
    stage.qtbot.keyClick(shown.query, Qt.Key.Key_Return)
    assert shown.isVisible()
    assert "no model" in shown.note.text()
    stage.qtbot.keyClicks(shown.query, "zzzz")
    assert "No action answers" in shown.note.text()
    stage.qtbot.keyClick(shown.query, Qt.Key.Key_Return)
    assert shown.isVisible()
    shown.query.setText("漢<b>" * 1000)
    assert len(shown.note.text()) < 200
    shown.query.clear()
    rows = [Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown]
    for key, row in zip(rows, (1, 2, 1, 0, 8), strict=True):
        stage.qtbot.keyClick(shown.query, key)
        assert shown.list.currentIndex().row() == row
    shown.reject()


def test_that_a_key_is_changed_by_pressing_it_and_is_there_again_at_the_next_launch(stage: WindowStage) -> None:
    shown = sheet(stage)
    shown.choose("run")
    shown.catch()
    held = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    stage.qtbot.keyClick(shown.catcher, Qt.Key.Key_F9, held)
    run = stage.window.commands["run"]
    assert run.shortcut() == QKeySequence("Ctrl+Alt+F9")
    assert "(Ctrl+Alt+F9)" in run.toolTip()
    assert not shown.catcher.isVisible()
    stage.window.close()
    window = stage.open()
    assert window.commands["run"].shortcut() == QKeySequence("Ctrl+Alt+F9")
    shown = sheet(stage)
    shown.reset_all.click()
    assert window.commands["run"].shortcut() == QKeySequence("F5")
    assert window.preferences.desk.keys == {}
    shown.reject()


def test_that_a_key_that_is_taken_is_refused_in_a_sentence_and_actions_are_found_and_tab_leads_on(
    stage: WindowStage,
) -> None:
    shown = sheet(stage)
    shown.choose("run")
    refused = (
        (Qt.Key.Key_F6, Qt.KeyboardModifier.NoModifier, "“Pause”"),
        (Qt.Key.Key_R, Qt.KeyboardModifier.NoModifier, "hold Ctrl or Alt"),
        (Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier, "copies"),
    )
    for key, held, words in refused:
        shown.catch()
        stage.qtbot.keyClick(shown.catcher, key, held)
        assert words in shown.note.text()
        assert stage.window.commands["run"].shortcut() == QKeySequence("F5")
    stage.qtbot.keyClick(shown.catcher, Qt.Key.Key_Escape)
    assert not shown.catcher.isVisible()
    assert shown.isVisible()
    check_the_filter(shown)
    check_that_tab_leads_out(stage, shown)
    shown.reject()


def check_the_filter(shown: ShortcutSheet) -> None:
    for text in ("Step lay", "Theme", "F11"):
        shown.filter.setText(text)
        assert 0 < shown.table.model().rowCount() < 6
    assert shown.name == "step_layer"
    shown.filter.setText("zzz")
    assert shown.name == ""
    assert not shown.change.isEnabled()
    shown.filter.clear()


@pytest.mark.parametrize(
    "stored",
    [
        {"run": "F6"},
        {"run": ""},
        {"run": "R"},
        {"run": "Ctrl+C"},
        {"run": "no key"},
        {"run": "Ctrl+K, Ctrl+L"},
        {"no action": "Ctrl+Alt+F9"},
        {"run": "Ctrl+Alt+F9", "pause": "Ctrl+Alt+F9"},
        {"run": "F6", "pause": "F10", "step_token": "F11"},
    ],
)
def test_that_stored_keys_never_leave_an_action_without_a_key_or_two_with_one(stored: dict[str, str]) -> None:
    parent = QObject()
    actions = Actions(parent)
    keys = Keys(actions)
    keys.recall(stored)
    used = [keys.key(name) for name in actions.names]
    assert all(used)
    assert len(set(used)) == len(used)


def test_that_two_actions_may_exchange_their_keys() -> None:
    parent = QObject()
    keys = Keys(Actions(parent))
    swapped = {"run": "F6", "pause": "F5"}
    keys.recall(swapped)
    assert keys.chosen() == swapped
    assert "Pause" in keys.reset("run"), "F5 is taken"
    keys.reset_all()
    assert keys.chosen() == {}


def check_that_tab_leads_out(stage: WindowStage, shown: ShortcutSheet) -> None:
    shown.choose("run")
    shown.catch()
    visited: set[QWidget] = set()
    for _ in range(12):
        stage.qtbot.keyClick(shown.focusWidget(), Qt.Key.Key_Tab)
        visited.add(shown.focusWidget())
    assert {shown.filter, shown.table, shown.close_button} <= visited
