"""What the palette and the sheet of keys find in the menus."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QMenuBar
from pytestqt.qtbot import QtBot

from app.command_list import commands_of


def test_that_menus_that_empty_each_other_when_they_open_are_listed_whole(qtbot: QtBot) -> None:
    bar = QMenuBar()
    qtbot.addWidget(bar)
    view = bar.addMenu("&View")
    own, forget = (view.addMenu(name) for name in ("Own", "Forget"))

    def fill() -> None:
        for menu in (own, forget):
            menu.clear()
            menu.addAction("mine")

    menus: list[QMenu] = [own, forget]
    for menu in menus:
        menu.aboutToShow.connect(fill)
    assert [command.key for command in commands_of(bar)] == ["View ▸ Own ▸ mine", "View ▸ Forget ▸ mine"]
