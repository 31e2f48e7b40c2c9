"""The lesson and the debugging session of `docs/guide.md`, done in a real window as the text says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from pytestqt.qtbot import QtBot

from app.places import BREAKPOINTS, GUESS, LAYERS, LEDGER, PLACES, WHAT_IF, Place
from app.tools.breakpoints import Breakpoints
from app.tools.guess import GuessTool
from app.tools.ledger import LedgerTool
from app.tools.tool import Tool
from app.tools.what_if import WhatIf
from core.analysis.ledger import Entry
from core.analysis.why import why_plain
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from widgets.selection import Selection

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
PLAIN = " ".join(GUIDE.split())
NAMED = re.compile(r"\*\*([^*]+)\*\* \(([^)]+)\)")
TIMES = ("Minutes",)


def claim(sentence: str) -> None:
    """The guide says so; what it says was computed from the window."""
    assert sentence in PLAIN, f"the guide does not say {sentence!r}"


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.resize(1440, 900)
    stage.trigger("sample")
    stage.qtbot.waitUntil(lambda: stage.session.trace is not None and not stage.work.files.is_busy, timeout=TIMEOUT)
    yield stage
    stage.window.close()


def until(stage: WindowStage, condition: Callable[[], bool]) -> None:
    stage.qtbot.waitUntil(condition, timeout=TIMEOUT)


def brought(stage: WindowStage, place: Place) -> Tool:
    """A panel in front, drawn."""
    stage.window.panels[place.key].show()
    stage.window.panels[place.key].raise_()
    tool = stage.work.rack.tool(place)
    stage.work.rack.flush()
    return tool


def asked(stage: WindowStage, tool: WhatIf, threshold: float) -> str:
    """What the panel says of another threshold, without its markup."""
    tool.view.form.threshold.setValue(threshold)
    stage.work.rack.flush()
    until(stage, lambda: not tool.desk.is_busy)
    stage.work.rack.flush()
    return re.sub("<[^>]*>", "", tool.view.totals.text())


def token(stage: WindowStage) -> int:
    """The selected token, counted from 1."""
    selected = stage.session.selection.token
    assert selected is not None
    return selected + 1


def test_that_whatever_the_guide_names_with_a_key_is_called_so_and_has_that_key(stage: WindowStage) -> None:
    commands = stage.window.commands
    keys = {commands[name].text().replace("&", ""): commands[name].shortcut() for name in commands.names}
    found = [(name, key) for name, key in NAMED.findall(GUIDE) if not name.startswith(TIMES)]
    assert len(found) > 25
    for name, key in found:
        assert keys[name] == QKeySequence(key), name
    titles = {place.title for place in PLACES}
    others = set(re.findall(r"\*\*([^*]+)\*\*", GUIDE)) - {name for name, _ in found}
    assert {name for name in others if not name.startswith(TIMES)} <= titles | set(keys)


def test_that_the_lesson_goes_as_it_is_written(stage: WindowStage) -> None:
    trace = stage.session.trace
    assert trace is not None
    assert trace.started is not None
    claim(f"The prompt was *{trace.started.prompt}*")
    stage.trigger("layout_teaching")
    stage.session.select(Selection(2))
    left, depth = int(trace.exit_layers[2]), trace.depth
    claim(f"says {left}: this token left after {left} of {depth} layers, and {depth - left} layers were saved")
    assert "left after layer 27" in why_plain(trace, 2, None)
    stage.trigger("previous_token")
    assert "ran all 30 layers" in why_plain(trace, 1, None)
    stage.session.select(Selection(5))
    stage.trigger("step_layer")
    assert stage.session.selection == Selection(6, 0)
    stage.trigger("step_back_layer")
    assert stage.session.selection == Selection(5)
    claim(f"It leaves after layer {int(trace.exit_layers[6])}, and ≠ says")
    assert "‘ a’ instead: wrong exit" in why_plain(trace, 6, None)
    stage.trigger("first_token")
    tool = brought(stage, GUESS)
    assert isinstance(tool, GuessTool)
    tool.view.turn.click()
    claim(f"*{tool.view.turn.text()}*")
    for guess in (30, 30, 27):
        assert stage.work.views.figures.count <= token(stage) + 1
        stage.trigger("step_token")
        tool.view.spin.setValue(guess)
        tool.view.spin.lineEdit().returnPressed.emit()
    assert [one.exit_layer for one in tool.guessing.guesses] == trace.exit_layers[1:4].tolist()
    claim(f"*{tool.view.export.text()}*")
    tool.view.turn.click()
    claim("Right for most tokens of this run")
    assert (trace.exit_layers == depth).mean() > 0.5


def test_that_the_lessons_thresholds_cost_what_it_says(stage: WindowStage) -> None:
    tool = brought(stage, WHAT_IF)
    assert isinstance(tool, WhatIf)
    until(stage, lambda: not tool.desk.is_busy and bool(tool.view.totals.text()))
    claim(f"The run's threshold is {tool.view.form.threshold.value():.2f}")
    bold = asked(stage, tool, 0.5)
    claim("Enter 0.50: about half of the tokens leave early, and agreement falls to 74.6%")
    assert "agreement 74.6%" in bold
    assert "early 46" in bold
    timid = asked(stage, tool, 0.9)
    claim("Enter 0.90: it is 96.8%")
    assert "agreement 96.8%" in timid
    stage.trigger("reset_what_if")
    assert f"{tool.view.form.threshold.value():.2f}" == "0.70"


def test_that_the_wrong_exit_is_found_and_explained_as_written(stage: WindowStage) -> None:
    trace = stage.session.trace
    assert trace is not None
    stage.trigger("layout_debugging")
    stage.session.select(Selection(6))
    words = why_plain(trace, 6, None)
    assert "Token 7 ‘ the’ left after layer 23" in words
    assert "‘ a’ instead: wrong exit" in words
    claim("‘ the’ left after layer 23, and full depth gives ‘ a’")
    stage.trigger("toggle_break")
    breakpoints = brought(stage, BREAKPOINTS)
    assert isinstance(breakpoints, Breakpoints)
    assert [one.condition.label for one in stage.work.debugging.breakpoints] == ["wrong exit"]
    assert trace.overview.wrong.sum() == 8
    claim("lists *wrong exit* with 8 hits")
    for action, to in (
        ("continue_to_break", 18),
        ("continue_to_break", 20),
        *(("reverse_to_break", at) for at in (18, 7)),
    ):
        stage.trigger(action)
        until(stage, lambda to=to: token(stage) == to)
    brought(stage, LAYERS)
    record = trace.records[6]
    claim(f"where the score was {record.scores[22]:.3f}, above")
    stable = brought(stage, LAYERS).panel.header.subtitle.text()
    assert "left 7 layers before settling" in stable or "settled at layer 30" in stable


def test_that_ledger_and_what_if_say_what_the_session_says(stage: WindowStage) -> None:
    ledger = brought(stage, LEDGER)
    assert isinstance(ledger, LedgerTool)
    until(stage, lambda: ledger.found is not None and not ledger.is_behind and ledger.found.told == 63)
    assert ledger.found is not None
    counts = {row.entry: row.count for row in ledger.found.rows}
    right, wrong, drafter = (counts[one] for one in (Entry.RIGHT_EXIT, Entry.WRONG_EXIT, Entry.MISSED_BY_DRAFTER))
    claim(f"{right} right exits and {wrong} wrong ones, {drafter} tokens missed by the drafter")
    tool = brought(stage, WHAT_IF)
    assert isinstance(tool, WhatIf)
    until(stage, lambda: not tool.desk.is_busy and bool(tool.view.totals.text()))
    asked(stage, tool, 0.8)
    assert tool._answer is not None
    some = tool._answer.compared
    assert (len(some.changes), some.estimate_from) == (9, 18)
    assert 6 not in [one.token for one in some.changes]
    claim("Nine decisions change, token 7 is not among them, and everything is exact through token 18")
    words = asked(stage, tool, 0.9)
    more = tool._answer.compared
    assert 6 in [one.token for one in more.changes]
    claim(f"{len(more.changes)} change, token 7 runs on to the last layer")
    claim(f"agreement rises from {more.before.agreement:.1%} to {more.after.agreement:.1%}")
    assert f"{more.after.mean_exit_layer:.2f}" in words
    claim(f"mean exit layer {more.after.mean_exit_layer:.2f} instead of {more.before.mean_exit_layer:.2f}")
