"""The panel of the counterfactual column: what the analysis says, one selection, and what a recording lacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from pytestqt.qtbot import QtBot

from app.places import LAYERS
from app.tools.layers import LIVE, Layers
from core.analysis.counterfactual import counterfactual
from core.trace.trace import Trace
from tests.app.window_stage import WindowStage
from tests.core.handmade import DEPTH, audited, draft, emitted, layers_up_to, schedule, started, trace_of, verified
from tests.fakes import fake_run_events
from widgets.layer_table import AGREES, COLUMNS, LAYER, MARGIN, PROBABILITY, RANK, SCORE, STATE, TOKEN
from widgets.palette import LIGHT
from widgets.selection import Selection
from widgets.small_table import PADDING


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.panels[LAYERS.key].raise_()
    yield stage
    stage.window.close()


def shown(stage: WindowStage, trace: Trace, token: int | None, layer: int | None = None) -> Layers:
    stage.session.show_trace(trace)
    stage.session.select(Selection(token, layer))
    tool = stage.work.rack.tool(LAYERS)
    assert isinstance(tool, Layers)
    stage.work.rack.flush()
    return tool


def cell(tool: Layers, layer: int, at: int) -> str:
    rows = tool.view.table.rows
    return str(rows.data(rows.index(layer, at)))


def subtitle(tool: Layers) -> str:
    return tool.panel.header.subtitle.text()


@pytest.fixture(scope="module")
def audit() -> Trace:
    return trace_of(
        started(),
        emitted(0, "x"),
        *[draft(1), schedule(1, [20, 22, 24]), *layers_up_to(1, 21, {20: 0.8})],
        verified(1, 20, "\n", -1),
        *[layers_up_to(1, 25, {22: 0.25, 24: 0.9})[21:], verified(1, 24, " blue", 1)],
        audited(1, (3, " it"), (19, "天" * 70 + "🌈"), (DEPTH, " blue"), scores={10: 0.25}),
        emitted(1, " blue", 25),
    )


def test_that_every_row_says_what_the_analysis_says(stage: WindowStage, audit: Trace) -> None:
    tool = shown(stage, audit, 1)
    found = counterfactual(audit.records[1])
    assert found is not None
    assert cell(tool, 0, TOKEN) == "·it"
    assert [cell(tool, layer, RANK) for layer in (0, 24)] == ["✕", "2"]
    assert cell(tool, 24, SCORE) == "0.900 > 0.50"
    assert cell(tool, 10, SCORE) == "(0.250 ≤ 0.50)", "the run did not ask this one"
    assert [cell(tool, layer, AGREES) for layer in (0, 19, 20)] == ["≠", "★", "="]
    assert [cell(tool, layer, STATE) for layer in (10, 19, 20, 22, 24, 25)] == [
        "· not scheduled",
        "· not scheduled",
        "⊘ refused",
        "○ below threshold",
        "● exit",
        "┈ beyond the exit",
    ]
    assert "5 layers wasted · settled at 20, left at 25" in subtitle(tool)
    assert found.wasted == 5


def test_that_a_very_long_token_is_cut_in_its_cell_and_told_by_the_tooltip(stage: WindowStage, audit: Trace) -> None:
    tool = shown(stage, audit, 1)
    assert len(cell(tool, 5, TOKEN)) < 40
    rows = tool.view.table.rows
    assert "天" * 70 + "🌈" in rows.data(rows.index(5, TOKEN), Qt.ItemDataRole.ToolTipRole)


def test_that_a_narrow_table_leaves_out_whole_columns_and_cuts_none(stage: WindowStage, audit: Trace) -> None:
    table = shown(stage, audit, 1).view.table
    for width, left_out in ((900, set()), (470, {PROBABILITY, MARGIN})):
        table.resize(width, 300)
        assert {at for at in range(len(COLUMNS)) if table.isColumnHidden(at)} == left_out
        assert table.horizontalHeader().length() <= table.viewport().width()
        for at in range(len(COLUMNS)):
            assert table.isColumnHidden(at) or table.columnWidth(at) >= table.width_of(at)
    tip = str(table.rows.data(table.rows.index(0, TOKEN), Qt.ItemDataRole.ToolTipRole))
    assert "margin" in tip, "what is left out is told by the row"


def test_that_a_row_and_the_layer_that_is_selected_elsewhere_are_one(stage: WindowStage, audit: Trace) -> None:
    tool = shown(stage, audit, 1, layer=22)
    assert tool.view.table.currentIndex().row() == 22
    tool.view.table.setCurrentIndex(tool.view.table.rows.index(7, TOKEN))
    assert stage.session.selection == Selection(1, 7)
    stage.work.rack.flush()
    assert tool.view.table.currentIndex().row() == 7


def test_that_a_live_recording_shows_what_it_has_and_says_what_an_audit_adds(stage: WindowStage) -> None:
    trace = Trace.of(fake_run_events(8))
    tool = shown(stage, trace, 2)
    assert tool.view.note.text() == LIVE
    record = trace.records[2]
    assert record.emitted is not None
    at = record.emitted.exit_layer - 1
    assert cell(tool, at, TOKEN) == "·is"
    refused = next(layer for layer, check in record.verified.items() if not check.accepted)
    assert cell(tool, refused, STATE) == "⊘ refused"
    unknown = next(layer for layer in range(at) if layer not in record.verified)
    assert cell(tool, unknown, TOKEN) == "–"
    assert tool.view.table.isColumnHidden(1), "what agrees with full depth is not known"
    tool.apply_theme(LIGHT)
    assert f"left after layer {at + 1}" in subtitle(tool)


@pytest.mark.parametrize(("token", "sentence"), [(None, "No token is selected"), (0, "The first token comes from")])
def test_that_a_sentence_says_why_there_is_no_column(stage: WindowStage, token: int | None, sentence: str) -> None:
    tool = shown(stage, Trace.of(fake_run_events(3)), 1)
    if token is None:
        stage.session.show_trace(None)
        sentence = "There is no run to look at yet"
    else:
        stage.session.select(Selection(token))
    stage.work.rack.flush()
    assert tool.panel.is_empty
    assert sentence in tool.panel.empty.accessibleName()


def test_that_numbers_of_a_bold_row_find_room(stage: WindowStage) -> None:
    tool = shown(stage, Trace.of(fake_run_events(3, 30, audit=True)), 1)
    table = tool.view.table
    font = QFont(table.rows.font)
    font.setBold(True)
    for at in (LAYER, SCORE, MARGIN, PROBABILITY, RANK):
        assert table.columnWidth(at) >= QFontMetrics(font).horizontalAdvance(COLUMNS[at][2]) + PADDING, COLUMNS[at][0]
