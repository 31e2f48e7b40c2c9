"""Breakpoints in the window: live and in replay, by keyboard alone, remembered between launches."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QObject, QSettings, Qt
from pytestqt.qtbot import QtBot

from app.live_watch import LiveWatch
from app.places import BREAKPOINTS
from app.run_state import RunState
from app.settings import Preferences
from app.tools.breakpoint_editor import KINDS, BreakpointEditor
from app.tools.breakpoint_list import MOST, BreakpointList
from app.tools.breakpoints import Breakpoints
from core.analysis.breakpoints import INTERESTING, SIMPLE, Breakpoint, find
from core.analysis.conditions import Condition, ExitAtLeast, ExitAtMost, NearThreshold, Refused, WrongExit
from core.analysis.text_conditions import TextContains, TokenMatches
from core.errors import UserError
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine
from tests.hit_counts import hit_counts
from widgets.selection import Selection

DOCKED = 291
"""Pixels: how wide the panel is in the first layout."""

Key = Qt.Key


class Desk:
    """The breakpoints' panel of a window, in front."""

    def __init__(self, stage: WindowStage) -> None:
        self.stage = stage
        stage.window.panels[BREAKPOINTS.key].show()
        stage.window.panels[BREAKPOINTS.key].raise_()
        tool = stage.work.rack.tool(BREAKPOINTS)
        assert isinstance(tool, Breakpoints)
        self.tool, self.view, self.list = tool, tool.view, stage.work.debugging.breakpoints

    def settle(self) -> None:
        """Wait until all that is counted and looked for is there."""
        self.stage.work.rack.flush()
        moves = self.stage.work.debugging.moves
        self.stage.qtbot.waitUntil(
            lambda: not self.tool._counting.is_busy and not moves.newest.is_busy, timeout=TIMEOUT
        )
        self.stage.work.rack.flush()

    def press(self, key: Qt.Key, widget: QObject | None = None) -> None:
        self.stage.qtbot.keyClick(widget or self.view.table, key)

    def shown(self) -> list[tuple[str, bool, int | None]]:
        return [(row.label, row.enabled, row.hits) for row in self.view.table.rows.rows]

    def go(self, name: str) -> int | None:
        self.stage.trigger(name)
        self.settle()
        return self.stage.session.selection.token


@pytest.fixture
def desk(stage: WindowStage) -> Desk:
    stage.load(FakeEngine(tokens=16))
    return Desk(stage)


def test_that_a_live_run_stops_at_each_hit_and_replay_goes_to_the_very_same_tokens(desk: Desk) -> None:
    stage, stops = desk.stage, []
    desk.list.add(Refused())
    desk.list.add(ExitAtLeast(12))
    desk.list.enable(1, False)
    assert stage.window.panels[BREAKPOINTS.key].header.subtitle.text() == "1 on · 1 off"
    stage.trigger("run")
    while True:
        stage.qtbot.waitUntil(lambda: stage.session.is_held or not stage.session.is_running, timeout=TIMEOUT)
        if not stage.session.is_running:
            break
        token = stage.session.selection.token
        assert stage.session.trace.emitted_count == token + 1
        assert f"after token {token + 1}, hit: proposed but refused" in stage.window.status.state.text()
        stops.append(token)
        stage.trigger("continue_to_break")
        stage.qtbot.waitUntil(lambda seen=token: stage.session.selection.token != seen, timeout=TIMEOUT)
    trace = stage.session.trace
    assert stops == [at for at in range(16) if Refused().found(trace, at, at + 1)[0]]
    assert len(stops) > 2
    stage.session.select(Selection(0))
    assert [desk.go("continue_to_break") for _ in stops] == stops
    assert desk.go("continue_to_break") == 15  # no further hit: the end
    assert [desk.go("reverse_to_break") for _ in stops] == stops[::-1]
    assert desk.go("reverse_to_break") == 0
    assert stage.window.status.currentMessage() == "No token before token 3 is hit."
    assert desk.shown() == [
        (one.label, one.enabled, hits)
        for one, hits in zip(desk.list, hit_counts(desk.list.conditions, trace), strict=True)
    ]


def test_that_without_breakpoints_one_key_goes_to_what_is_worth_a_look(desk: Desk) -> None:
    desk.stage.finish()
    trace = desk.stage.session.trace
    expected, at = [], 0
    desk.stage.session.select(Selection(0))
    while hit := find(INTERESTING.conditions, trace, at):
        at = hit.token
        expected.append(at)
    assert [desk.go("next_interesting") for _ in expected] == expected
    assert desk.go("next_interesting") == expected[-1]
    assert desk.go("previous_interesting") == expected[-2]
    assert desk.go("continue_to_break") == expected[-2]
    assert "No breakpoint is enabled" in desk.stage.window.status.currentMessage()


def test_that_a_key_breaks_on_what_happened_to_the_selected_token_and_takes_it_away_again(desk: Desk) -> None:
    stage = desk.stage
    stage.trigger("toggle_break")
    assert "Select a token first" in stage.window.status.currentMessage()
    stage.finish()
    for token, condition in ((1, ExitAtMost(8)), (2, Refused()), (3, ExitAtLeast(12)), (0, TextContains(" the"))):
        stage.session.select(Selection(token))
        stage.trigger("toggle_break")
        assert desk.list.conditions == (condition,)
        desk.settle()
        assert desk.shown()[0][2] == hit_counts([condition], stage.session.trace)[0] > 0
        stage.trigger("toggle_break")
        assert not len(desk.list)


def test_that_the_list_is_worked_from_the_keyboard(desk: Desk) -> None:
    view = desk.view
    view.editor.kind.setCurrentIndex([one.made for one in KINDS].index(TokenMatches))
    text = view.editor.inputs["text"]
    desk.stage.qtbot.keyClicks(text, "(")
    desk.press(Key.Key_Return, text)
    assert "is no regular expression" in view.editor.note.text()
    assert not len(desk.list)
    desk.stage.qtbot.keyClicks(text, "a)")
    desk.press(Key.Key_Return, text)
    assert desk.list.conditions == (TokenMatches("(a)"),)
    desk.list.add(Refused())
    desk.settle()
    view.table.choose(1)
    desk.press(Key.Key_Space)
    assert [one.enabled for one in desk.list] == [True, False]
    view.table.choose(0)
    desk.press(Key.Key_Return)
    assert view.editor.is_changing
    view.editor.kind.setFocus()
    view.editor.kind.setCurrentIndex([one.made for one in KINDS].index(Refused))
    desk.press(Key.Key_Return, view.editor.kind)
    assert "There is a breakpoint on “proposed but refused” already" in view.editor.note.text()
    desk.press(Key.Key_Escape, view.editor.kind)
    assert not view.editor.is_changing
    desk.press(Key.Key_Delete)
    assert desk.list.conditions == (Refused(),)
    assert not view.hint.isVisible()
    desk.press(Key.Key_Delete)
    assert view.hint.isVisible()


def test_that_two_digits_of_breakpoints_are_told_whole_in_the_title_of_a_docked_panel(desk: Desk) -> None:
    for layer in range(1, 23):
        desk.list.add(ExitAtMost(layer))
    for row in range(10):
        desk.list.enable(row, False)
    desk.settle()
    header = desk.tool.panel.header
    header.resize(DOCKED, header.height())
    header.layout().activate()
    assert header.subtitle.text() == "12 on · 10 off"
    assert header.subtitle.shown().startswith("12 on")


def test_that_what_a_live_run_cannot_tell_is_no_count(desk: Desk) -> None:
    desk.list.add(WrongExit())
    desk.stage.finish()
    desk.settle()
    assert desk.shown() == [("wrong exit", True, None)]
    assert "audit" in desk.view.table.rows.rows[0].tip


@pytest.fixture
def store(qapp: object) -> Preferences:
    return Preferences(QSettings())


def test_that_breakpoints_are_remembered_and_what_is_none_is_left_out(store: Preferences) -> None:
    kept = BreakpointList(store, LiveWatch())
    for condition in (ExitAtMost(5), NearThreshold(0.05), TextContains("天空"), *INTERESTING.conditions):
        kept.add(condition)
    kept.enable(1, False)
    kept.change(2, TextContains("空"))
    kept.remove(0)
    assert list(BreakpointList(Preferences(QSettings()), LiveWatch())) == list(kept)
    good = Breakpoint(Refused()).to_json()
    spoilt = [good, good, 3, None, {"condition": {"kind": "any"}, "enabled": True}, {"condition": good}]
    store.breakpoints = spoilt
    assert list(BreakpointList(store, LiveWatch())) == [Breakpoint(Refused())]


@pytest.mark.parametrize("spoilt", ["{", "3", "[" * 100_000, '{"a": 1}', "\x00"])
def test_that_a_spoilt_list_of_breakpoints_is_an_empty_one(spoilt: str, qapp: object) -> None:
    settings = QSettings()
    settings.setValue("debug/breakpoints", spoilt)
    assert list(BreakpointList(Preferences(settings), LiveWatch())) == []


def test_that_there_is_a_limit_to_breakpoints_and_none_comes_twice(store: Preferences) -> None:
    kept = BreakpointList(store, LiveWatch())
    assert [kept.add(ExitAtMost(at + 1)) for at in range(MOST)] == list(range(MOST))
    assert kept.add(ExitAtMost(3)) == 2
    with pytest.raises(UserError, match="remove one first"):
        kept.add(Refused())
    with pytest.raises(UserError, match="already; change that one"):
        kept.change(0, ExitAtMost(2))
    assert json.loads(json.dumps(store.breakpoints)) == [one.to_json() for one in kept]


def test_that_the_editor_makes_every_condition_and_shows_it_again(qtbot: QtBot) -> None:
    editor, made = BreakpointEditor(), list[Condition]()
    qtbot.addWidget(editor)
    editor.made.connect(made.append)
    editor.inputs["text"].setText("sky")  # type: ignore[attr-defined]
    for place in range(len(KINDS)):
        editor.kind.setCurrentIndex(place)
        editor.go.click()
    assert {type(one) for one in made} == set(SIMPLE.values())
    for condition in made:
        editor.leave()
        editor.change(condition)
        assert editor.condition() == condition


def test_that_a_search_is_called_off_when_another_run_comes_on_show(desk: Desk) -> None:
    stage = desk.stage
    stage.finish()
    stage.session.select(Selection(0))
    stage.trigger("next_interesting")
    stage.trigger("reset")
    desk.settle()
    assert stage.session.state is RunState.READY
    assert stage.session.selection == Selection()
