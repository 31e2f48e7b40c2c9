"""Another run is on show: until threads have found what panels say of it, nothing of the run before is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.places import COSTS, INSPECTOR, KV_MAP, LEDGER, Place
from app.tools.costs import ADDING, UNTIMED, CostsTool
from app.tools.inspector import INSPECTING, InspectorTool
from app.tools.kv_map import KVMapTool
from app.tools.ledger import COUNTING, LedgerTool
from app.tools.tool import Tool
from core.analysis.kv_reading import KVReading
from core.trace.events import StageTimes, TokenEmitted
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import fake_run_events
from widgets.calibration_view import WAITING
from widgets.selection import Selection

BEFORE, AFTER = 60, 41
T = TypeVar("T", bound=Tool)


@pytest.fixture(scope="module")
def runs() -> tuple[Trace, Trace]:
    return Trace.of(fake_run_events(BEFORE, 12, audit=True)), Trace.of(fake_run_events(AFTER, 12, audit=True))


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()


def shown(stage: WindowStage, place: Place, kind: type[T], trace: Trace) -> T:
    """The panel's tool as it is right after this run was chosen: threads are heard only while the window is."""
    stage.window.panels[place.key].show()
    stage.window.panels[place.key].raise_()
    stage.session.show_trace(trace)
    stage.session.select(Selection(5))
    tool = stage.work.rack.tool(place)
    assert isinstance(tool, kind)
    stage.work.rack.flush()
    return tool


def subtitle(tool: Tool) -> str:
    return tool.panel.header.subtitle.text()


def test_that_the_ledger_has_no_number_of_the_run_before(stage: WindowStage, runs: tuple[Trace, Trace]) -> None:
    tool = shown(stage, LEDGER, LedgerTool, runs[0])
    rows = tool.view.classes.rows
    stage.qtbot.waitUntil(lambda: subtitle(tool) == f"{BEFORE - 1} tokens", timeout=TIMEOUT)
    assert rows.data(rows.index(0, 1)) != ""
    shown(stage, LEDGER, LedgerTool, runs[1])
    cells = {rows.data(rows.index(row, at)) for row in range(rows.rowCount()) for at in range(1, rows.columnCount())}
    told = (tool.view.words.text(), tool.view.note.text(), subtitle(tool))
    assert (cells, told) == ({""}, ("", "", "")), "words would flicker where it is soon done"
    tool._patience.stop()
    tool._patience.timeout.emit()
    assert tool.view.note.text().startswith(COUNTING)
    stage.qtbot.waitUntil(lambda: subtitle(tool) == f"{AFTER - 1} tokens", timeout=TIMEOUT)
    assert tool.view.note.text() == ""


def test_that_costs_are_none_of_the_run_before(stage: WindowStage, runs: tuple[Trace, Trace]) -> None:
    tool = shown(stage, COSTS, CostsTool, runs[0])
    stage.qtbot.waitUntil(lambda: not tool.is_reading, timeout=TIMEOUT)
    assert len(tool.view.bars.bars) == 2
    shown(stage, COSTS, CostsTool, runs[1])
    assert [bar.title for bar in tool.view.bars.bars] == ["Token 6"]
    assert (tool.view.run_words.text(), tool.view.token_words.text(), subtitle(tool)) == ("", "", "")
    tool._newest.slow.emit()
    assert tool.view.run_words.text() == ADDING
    stage.qtbot.waitUntil(lambda: not tool.is_reading, timeout=TIMEOUT)
    assert f"{AFTER - 1} tokens" in tool.view.bars.bars[1].title
    times = StageTimes(draft=0, layers=0, predictor=0, verification=0, total=0)
    events = [replace(one, times=times) if isinstance(one, TokenEmitted) else one for one in fake_run_events(AFTER, 12)]
    shown(stage, COSTS, CostsTool, Trace.of(events))
    assert tool.panel.empty.accessibleName().startswith(UNTIMED.split("\n")[0])
    assert subtitle(tool) == ""


def test_that_the_inspector_takes_no_judgement_of_the_run_before_apart(
    stage: WindowStage, runs: tuple[Trace, Trace]
) -> None:
    tool = shown(stage, INSPECTOR, InspectorTool, runs[0])
    stage.qtbot.waitUntil(lambda: not tool.is_busy, timeout=TIMEOUT)
    assert tool.view.quality.found is not None
    assert tool.view.words.text() != ""
    shown(stage, INSPECTOR, InspectorTool, runs[1])
    assert tool.view.quality.found is None
    assert (tool.view.words.text(), tool.view.quality.message.text()) == ("", "")
    tool._inspecting.slow.emit()
    tool._gathering.slow.emit()
    assert (tool.view.words.text(), tool.view.quality.message.text()) == (INSPECTING, WAITING)
    stage.qtbot.waitUntil(lambda: not tool.is_busy, timeout=TIMEOUT)
    assert tool.view.words.text() != INSPECTING


def test_that_the_map_holds_no_keys_of_the_run_before(stage: WindowStage, runs: tuple[Trace, Trace]) -> None:
    tool = shown(stage, KV_MAP, KVMapTool, runs[0])
    stage.qtbot.waitUntil(lambda: not tool.is_reading, timeout=TIMEOUT)
    assert tool.reading is not None
    assert tool.reading.known.any()
    shown(stage, KV_MAP, KVMapTool, runs[1])
    assert tool.reading is not None
    assert tool.reading.trace is runs[1]
    np.testing.assert_array_equal(tool.reading.known, KVReading(runs[1]).known)
    known = int(tool.reading.known.sum())
    assert "reading" not in subtitle(tool)
    tool._newest._patience.stop()  # as once it is over
    tool._newest.slow.emit()
    assert f"reading, {known} of {len(tool.reading.known)} tokens" in subtitle(tool)
    stage.qtbot.waitUntil(lambda: not tool.is_reading, timeout=TIMEOUT)
    assert "reading" not in subtitle(tool)
