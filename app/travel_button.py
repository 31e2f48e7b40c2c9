"""The toolbar's button that plays a recording back, with its speeds."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from app.actions import Actions

SPEEDS = (1, 2, 5, 10, 20, 50)
"""Tokens a second."""


class ReplayButton(QToolButton):
    """Plays and stops; its arrow opens the speeds."""

    speed_chosen = Signal(int)
    """Tokens a second."""

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self.setDefaultAction(actions["play_recording"])
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.setProperty("role", "slim")
        self.setAccessibleName("Play recording")
        menu = QMenu(self)
        self._speeds = {speed: self._speed(menu, speed) for speed in SPEEDS}
        group = QActionGroup(self)
        for action in self._speeds.values():
            group.addAction(action)
        group.triggered.connect(self._choose)
        menu.addSeparator()
        menu.addActions([actions["replay_faster"], actions["replay_slower"]])
        self.setMenu(menu)

    def show_speed(self, speed: int) -> None:
        """Mark the speed at which it plays."""
        self._speeds[speed].setChecked(True)
        self.setAccessibleDescription(f"Plays {speed} tokens a second")

    def _speed(self, menu: QMenu, speed: int) -> QAction:
        action = menu.addAction(f"{speed} token{'' if speed == 1 else 's'}/s")
        action.setCheckable(True)
        action.setData(speed)
        return action

    @Slot(QAction)
    def _choose(self, action: QAction) -> None:
        self.speed_chosen.emit(action.data())
