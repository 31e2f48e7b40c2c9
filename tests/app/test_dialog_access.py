"""The window's dialogs by keyboard and for screen readers: everything is named, Tab goes round, Esc leaves."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QWidget

from app.failure import Failure
from tests.app.window_stage import WindowStage

FAULT = Failure("Something went wrong.", "Traceback", False)


def by_action(name: str) -> Callable[[WindowStage], object]:
    return lambda stage: stage.trigger(name)


DIALOGS: dict[str, Callable[[WindowStage], object]] = {
    "command palette": by_action("palette"),
    "shortcuts": by_action("keys"),
    "settings": by_action("settings"),
    "layout's name": by_action("save_layout"),
    "hub's id": by_action("open_hub"),
    "about": by_action("about"),
    "error": lambda stage: stage.session.failed.emit(FAULT),
    "reset": lambda stage: stage.window.desk.appearance._ask_to_reset(),
}


def open_dialog(stage: WindowStage, key: str) -> QDialog:
    DIALOGS[key](stage)
    dialogs = [one for one in stage.window.findChildren(QDialog) if one.isVisible()]
    assert len(dialogs) == 1
    stage.qtbot.waitUntil(lambda: dialogs[0].isActiveWindow())
    return dialogs[0]


def reached(dialog: QDialog) -> list[QWidget]:
    """What Tab is to reach."""
    return [
        one
        for one in dialog.findChildren(QWidget)
        if one.isVisible() and one.isEnabled() and one.focusPolicy() & Qt.FocusPolicy.TabFocus and not one.focusProxy()
    ]


def test_that_everything_in_every_dialog_is_named_and_tab_goes_round_and_esc_leaves(stage: WindowStage) -> None:
    for key in DIALOGS:  # in one window: making one takes longer than all that is done in it
        dialog = open_dialog(stage, key)
        assert dialog.windowTitle(), key
        wanted = reached(dialog)
        for widget in wanted:
            if not isinstance(widget, QLabel):  # that can be selected speaks its text
                assert QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name), (key, widget)
        visited = []
        for _ in range(2 * len(wanted) + 2):
            visited.append(QApplication.focusWidget())
            stage.qtbot.keyClick(visited[-1], Qt.Key.Key_Tab)
        assert not [one for one in wanted if one not in visited], key
        stage.qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
        stage.qtbot.waitUntil(lambda: not any(one.isVisible() for one in stage.window.findChildren(QDialog)))
