"""The K/V map's panel: the analysis' states in picture and table, one selection, and what is still to be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from app.places import KV_MAP
from app.tools.kv_map import KVMapTool
from core.analysis.kv_map import KVState, kv_map
from core.analysis.kv_reading import UNREAD, KVLook, KVReading, read_updates
from core.choices import KVPolicy
from core.config import RunSettings
from core.trace.events import KVUpdated
from core.trace.reading import ReadableTrace
from core.trace.session_file import SessionFile
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.core.sessions import written
from tests.fakes import fake_run_events
from tests.widgets.plots import click, colour_at, painted, pixel, shown
from widgets.kv_items import state_colour
from widgets.kv_map import KVMapView
from widgets.kv_words import layers_in
from widgets.palette import DARK
from widgets.selection import Selection


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.panels[KV_MAP.key].raise_()
    yield stage
    stage.window.close()


def opened(stage: WindowStage, trace: ReadableTrace, token: int = 3) -> KVMapTool:
    stage.session.show_trace(trace)
    stage.session.select(Selection(token))
    tool = stage.work.rack.tool(KV_MAP)
    assert isinstance(tool, KVMapTool)
    stage.work.rack.flush()
    stage.qtbot.waitUntil(lambda: not tool.is_reading, timeout=TIMEOUT)
    return tool


def row(tool: KVMapTool, token: int) -> list[str]:
    rows = tool.view.table.rows
    return [str(rows.data(rows.index(token, column))) for column in range(rows.columnCount())]


def test_that_a_run_that_does_not_tell_of_its_cache_says_so(stage: WindowStage) -> None:
    events = fake_run_events(9)
    opened(stage, Trace.of(event for event in events if not isinstance(event, KVUpdated)))
    panel = stage.window.panels[KV_MAP.key]
    assert panel.is_empty
    assert panel.empty.headline.text() == "This run does not tell of its K/V cache."
    opened(stage, Trace.of(events))
    assert not panel.is_empty


def test_that_map_and_table_show_what_the_analysis_says(stage: WindowStage) -> None:
    trace = Trace.of(fake_run_events(24))
    tool, whole = opened(stage, trace), kv_map(trace)
    look = tool.view.plot.look
    assert look is not None
    np.testing.assert_array_equal(look.rows(0, 24), whole.states)
    for token in (0, 4, 9):
        cells = row(tool, token)
        assert cells[2] == layers_in(whole.states[token], KVState.HELD)
        assert cells[3] == layers_in(whole.states[token], KVState.SKIPPED)
        by = sorted({int(one) + 1 for one in whole.caught_up_by[token] if one >= 0})
        assert cells[6] == ", ".join(map(str, by))
    caught = int(np.argwhere(whole.states == KVState.RECOMPUTED)[0][0])
    at = int(np.flatnonzero(whole.states[caught] == KVState.RECOMPUTED)[0])
    words = tool.view.plot.readout(caught + 1, at + 1) or ""
    assert f"recomputed by the pass of token {whole.caught_up_by[caught, at] + 1}" in words


def test_that_a_click_selects_and_the_selection_is_marked_in_both(stage: WindowStage) -> None:
    tool = opened(stage, Trace.of(fake_run_events(24)))
    click(stage.qtbot, tool.view.plot, 6, 4)
    assert stage.session.selection == Selection(5, 3)
    stage.session.select(Selection(9, 2))
    stage.work.rack.flush()
    assert tool.view.plot.selection == Selection(9, 2)
    assert tool.view.table.currentIndex().row() == 9
    tool.view.table.setCurrentIndex(tool.view.table.rows.index(2, 0))
    assert stage.session.selection == Selection(2, 2)


def test_that_the_map_as_of_a_token_knows_nothing_of_later_passes(stage: WindowStage) -> None:
    trace = Trace.of(fake_run_events(24))
    tool = opened(stage, trace, token=6)
    tool.view.as_of_action.setChecked(True)
    look = tool.view.plot.look
    assert look is not None
    np.testing.assert_array_equal(look.rows(0, 7), kv_map(trace, 6).states)
    stage.session.select(Selection(12))
    stage.work.rack.flush()
    look = tool.view.plot.look
    assert look is not None
    np.testing.assert_array_equal(look.rows(0, 13), kv_map(trace, 12).states)


def test_that_of_a_long_recorded_run_only_what_is_in_view_is_read(stage: WindowStage, tmp_path: Path) -> None:
    file = SessionFile(written(tmp_path / "long.specee", fake_run_events(900)))
    trace = file.trace(0)
    tool = opened(stage, trace, token=880)
    assert tool.reading is not None
    first, last = tool.view.in_view()
    assert tool.reading.known[first:last].all()
    assert not tool.reading.known[:300].any()
    stage.session.select(Selection(10))
    stage.work.rack.flush()
    reading = tool.reading
    stage.qtbot.waitUntil(lambda: bool(reading.known[:20].all()) and not tool.is_reading, timeout=TIMEOUT)
    np.testing.assert_array_equal(reading.states[:20], kv_map(trace).states[:20])
    stage.session.show_trace(None)
    file.close()


def test_that_there_is_a_sentence_before_the_first_fed_token(stage: WindowStage) -> None:
    tool = opened(stage, Trace.of(fake_run_events(1)), token=0)
    assert tool.panel.is_empty
    assert "begins with the second token" in tool.panel.empty.accessibleName()


@pytest.mark.parametrize(
    ("policy", "state"), [(KVPolicy.HOLE, KVState.SKIPPED), (KVPolicy.PROPAGATE, KVState.PROPAGATED)]
)
def test_that_states_differ_in_pattern_and_the_legend_names_those_that_can_be(
    qtbot: QtBot, policy: KVPolicy, state: KVState
) -> None:
    trace = Trace.of(fake_run_events(12, settings=replace(RunSettings(), kv_policy=policy)))
    reading = KVReading(trace)
    reading.take(read_updates(trace, range(1, 12)))
    view = KVMapView()
    qtbot.addWidget(view)
    view.set_look(KVLook(reading))
    plot = view.plot
    shown(qtbot, plot)
    early = next(token for token in range(11) if (reading.states[token] == state).sum() > 1)
    held, left = 1, int(np.flatnonzero(reading.states[early] == state)[0]) + 1
    picture, middle = painted(plot), plot.canvas.pos() + pixel(plot, early + 1, left)
    seen = {picture.pixelColor(middle + QPoint(dx, dy)).name() for dx in range(-4, 5) for dy in range(-4, 5)}
    assert len(seen) > 1, "what an exit left behind has a pattern"
    assert colour_at(plot, early + 1, held) == state_colour(DARK, KVState.HELD)
    legend = view.legend_html(DARK, skipped=reading.skipped, catches_up=reading.catches_up)
    assert ("propagated" in legend) == (state is KVState.PROPAGATED)
    assert "recomputed" not in legend


def test_that_rows_that_were_not_read_are_told_so(qtbot: QtBot) -> None:
    trace = Trace.of(fake_run_events(12))
    look = KVLook(KVReading(trace))
    assert (look.rows(0, 11) == UNREAD).all()
    view = KVMapView()
    qtbot.addWidget(view)
    view.set_look(look)
    assert "not read yet" in (view.plot.readout(3, 3) or "")
    assert view.plot.step(Qt.Key.Key_Up) == Selection(11, 11)
