"""Tools are made when they are first seen, and drawn in sight only, once for many changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QLabel, QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from app.panel import Panel
from app.places import Place
from app.tools import rack
from app.tools.rack import ToolRack
from app.tools.tool import Tool
from widgets.palette import DARK, LIGHT, Theme
from widgets.selection import Selection

PLACES = (
    Place("front", "Front", "panel-why", "", "", tool="rack_of_tests:Noted"),
    Place("back", "Back", "panel-why", "", "", tool="rack_of_tests:Noted"),
)


class Noted(Tool):
    """A tool that writes down what it is asked for."""

    def build(self) -> QWidget:
        self.drawn: list[int | None] = []
        self.themes: list[Theme] = []
        self.closed = False
        self.says: str | None = None
        return QLabel("view")

    def draw(self, first: int | None) -> str | None:
        self.drawn.append(first)
        return self.says

    def apply_theme(self, theme: Theme) -> None:
        self.themes.append(theme)

    def close(self) -> None:
        self.closed = True


class Window(QMainWindow):
    def __init__(self) -> None:
        super().__init__()
        self.theme = DARK
        self.panels = {place.key: Panel(place, self) for place in PLACES}


class FakeSession(QObject):
    asked = Signal(object)

    def select(self, selection: Selection) -> None:
        self.asked.emit(selection)


class Work(QObject):
    """As much of a workbench as a rack needs."""

    def __init__(self) -> None:
        super().__init__()
        self.window, self.session = Window(), FakeSession()


class Stage:
    """A rack with two tools that lie behind each other, and nothing made yet."""

    def __init__(self, qtbot: QtBot) -> None:
        self.work = Work()
        qtbot.addWidget(self.work.window)
        self.panels = self.work.window.panels
        self.rack = ToolRack(self.work)  # type: ignore[arg-type]

    @property
    def made(self) -> list[str]:
        return list(self.rack._tools)

    def tool(self, at: int) -> Noted:
        tool = self.rack.tool(PLACES[at])
        assert isinstance(tool, Noted)
        return tool

    def see(self, key: str, visible: bool = True) -> None:
        """What Qt says where a panel comes into sight, or is covered by another one."""
        self.panels[key].visibilityChanged.emit(visible)


@pytest.fixture
def stage(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    module = ModuleType("app.tools.rack_of_tests")
    module.Noted = Noted  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(rack, "TOOLS", PLACES)
    stage = Stage(qtbot)
    yield stage
    stage.rack.close()


def test_that_a_tool_is_made_when_its_panel_is_first_seen_and_then_drawn_whole(stage: Stage) -> None:
    assert stage.made == []
    stage.see("front")
    assert stage.made == ["front"]
    assert stage.tool(0).drawn == []
    stage.rack.flush()
    assert stage.tool(0).drawn == [0]
    assert stage.tool(0).themes == [DARK]
    stage.see("front")
    assert stage.made == ["front"]


def test_that_many_changes_are_one_draw_from_the_first_that_changed(stage: Stage) -> None:
    stage.see("front")
    stage.rack.flush()
    for first in (7, 3, 5):
        stage.rack.show_trace(first)
    stage.rack.show_selection()
    stage.rack.flush()
    assert stage.tool(0).drawn == [0, 3]
    stage.rack.flush()
    assert stage.tool(0).drawn == [0, 3]


def test_that_a_moved_selection_alone_is_no_change_of_the_trace(stage: Stage) -> None:
    stage.see("front")
    stage.rack.flush()
    stage.rack.show_selection()
    stage.rack.show_selection()
    stage.rack.flush()
    assert stage.tool(0).drawn == [0, None]


def test_that_a_tool_out_of_sight_is_not_drawn_and_catches_up_when_it_is_seen(stage: Stage) -> None:
    for key in ("front", "back"):
        stage.see(key)
    stage.rack.flush()
    stage.see("back", False)
    stage.rack.show_trace(9)
    stage.rack.show_trace(4)
    stage.rack.flush()
    assert (stage.tool(0).drawn, stage.tool(1).drawn) == ([0, 4], [0])
    stage.see("back")
    stage.rack.flush()
    assert stage.tool(1).drawn == [0, 4]


def test_that_a_tool_covered_after_it_asked_is_not_drawn(stage: Stage) -> None:
    stage.see("front")
    stage.see("front", False)
    stage.rack.flush()
    assert stage.tool(0).drawn == []


def test_that_nothing_is_made_for_changes_that_nobody_sees(stage: Stage) -> None:
    stage.rack.show_trace(0)
    stage.rack.show_selection()
    stage.rack.apply_theme(LIGHT)
    stage.rack.flush()
    assert stage.made == []


def test_that_what_a_tool_says_stands_in_its_place_until_it_has_something_to_show(stage: Stage) -> None:
    stage.tool(0).says = "Nothing yet.\nRun a prompt."
    stage.see("front")
    stage.rack.flush()
    assert stage.panels["front"].empty.headline.text() == "Nothing yet."
    assert stage.panels["front"].is_empty
    stage.tool(0).says = None
    stage.rack.show_trace(0)
    stage.rack.flush()
    assert not stage.panels["front"].is_empty


def test_that_a_theme_reaches_what_is_in_sight_in_its_turn_and_the_rest_when_it_is_seen(stage: Stage) -> None:
    stage.see("front")
    stage.tool(1)
    stage.rack.flush()
    stage.rack.apply_theme(LIGHT)
    assert stage.tool(0).themes == [DARK], "all of them in one frame take too long for one"
    stage.rack.flush()
    assert stage.tool(0).themes == [DARK, LIGHT]
    assert stage.tool(1).themes == [DARK]
    stage.see("back")
    assert stage.tool(1).themes == [DARK, LIGHT]
    stage.see("front", False)
    stage.see("front")
    stage.rack.flush()
    assert stage.tool(0).themes == [DARK, LIGHT]


def test_that_a_tools_selection_is_asked_of_the_session_and_its_end_is_told(stage: Stage) -> None:
    asked: list[Selection] = []
    stage.work.session.asked.connect(asked.append)
    stage.tool(0).selected.emit(Selection(3, 2))
    assert asked == [Selection(3, 2)]
    stage.rack.close()
    assert stage.tool(0).closed
