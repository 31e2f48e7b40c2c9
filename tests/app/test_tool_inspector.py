"""The inspector's panel: values as the analysis has them, bins that select, and of what is asked the newest only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.places import INSPECTOR
from app.tools.inspector import NO_PREDICTORS, InspectorTool
from app.tools.inspector_words import NO_AUDIT, layer_to_inspect
from core.analysis.calibration import Judgements, Label, calibration, curves, judgements
from core.analysis.inspector import inspect
from core.analysis.recorded_parts import to_record
from core.choices import Policy
from core.config import RunSettings
from core.exits.predictors import PredictorBank
from core.trace.session_writer import SessionWriter
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import fake_ranking, fake_run_events
from tests.widgets.plots import click
from widgets.calibration_words import Tab, bin_name
from widgets.inspector_table import ALONE, EFFECT, GRADIENT, MEAN, VALUE, WITHOUT, number, signed
from widgets.inspector_view import InspectorView
from widgets.inspector_words import judgement_words
from widgets.selection import Selection

DEPTH, TOKEN, LAYER = 12, 3, 7


def small_bank() -> PredictorBank:
    random = np.random.default_rng(3)
    shapes = {"w1": (DEPTH - 1, 12, 8), "b1": (DEPTH - 1, 8), "w2": (DEPTH - 1, 8), "b2": (DEPTH - 1,)}
    return PredictorBank({name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})


@pytest.fixture(scope="module")
def audited() -> Trace:
    return Trace.of(fake_run_events(40, DEPTH, audit=True))


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.panels[INSPECTOR.key].raise_()
    yield stage
    stage.window.close()


def settled(stage: WindowStage, selection: Selection | None = None) -> InspectorTool:
    if selection is not None:
        stage.session.select(selection)
    tool = stage.work.rack.tool(INSPECTOR)
    assert isinstance(tool, InspectorTool)
    stage.work.rack.flush()
    stage.qtbot.waitUntil(lambda: not tool.is_busy, timeout=TIMEOUT)
    return tool


def recorded(stage: WindowStage, path: Path, trace: Trace) -> None:
    """Open a session that holds this run and the predictors that judged it."""
    writer = SessionWriter(path)
    for event in trace.events:
        writer.take(event, to_record(small_bank(), fake_ranking(DEPTH)))
    writer.close()
    stage.work.files.open(path)
    stage.qtbot.waitUntil(lambda: stage.session.trace is not None, timeout=TIMEOUT)


def test_that_a_judgement_is_taken_apart_as_the_analysis_has_it(
    stage: WindowStage, audited: Trace, tmp_path: Path
) -> None:
    recorded(stage, tmp_path / "run.specee", audited)
    tool = settled(stage, Selection(TOKEN, LAYER))
    found = inspect(audited, small_bank(), TOKEN, LAYER)
    assert found is not None
    rows = tool.view.table.rows
    for at in range(12):
        shown = {column: rows.data(rows.index(at, column)) for column in (VALUE, MEAN, GRADIENT, WITHOUT, EFFECT)}
        assert shown == {
            VALUE: number(float(found.features[at])),
            MEAN: number(float(found.neutral.features[at])),
            GRADIENT: signed(float(found.gradient[at])),
            WITHOUT: f"{found.without[at]:.3f}",
            EFFECT: signed(float(found.effect[at])),
        }
        flip = found.flips.single[at]
        alone = str(rows.data(rows.index(at, ALONE)))
        assert alone == "–" if flip is None else alone.startswith(signed(float(flip.change[at])))
        assert ("!" in alone) == (flip is not None and not found.flips.possible[at])
    words = tool.view.words.text()
    assert found.flips.smallest is not None
    assert f"{found.flips.smallest.size:.3f}" in words
    assert ("an exit is proposed" in words) == found.passes
    assert f"layer {LAYER + 1}" in tool.panel.header.subtitle.text()
    settled(stage, Selection(TOKEN, DEPTH - 1))
    assert "The last layer needs no predictor" in tool.view.words.text()


def test_that_label_and_tokens_choose_what_is_summed_up(stage: WindowStage, audited: Trace) -> None:
    stage.session.show_trace(audited)
    tool, all_of = settled(stage, Selection(TOKEN, LAYER)), judgements(audited)
    quality = tool.view.quality
    assert tool.view.words.text() == NO_PREDICTORS, "the run on show is in no file"
    for label in Label:
        for asked_only in (False, True):
            quality.labels.setCurrentIndex(list(Label).index(label))
            quality.which.setCurrentIndex(int(asked_only))
            settled(stage)
            of_layer = all_of.of_layer(LAYER, label, asked_only=asked_only)
            assert quality.found is not None
            np.testing.assert_array_equal(quality.found.calibration.counts, calibration(of_layer).counts)
            np.testing.assert_array_equal(quality.found.curves.recall.values, curves(of_layer).recall.values)
            assert f"{len(of_layer.tokens)} tokens" in quality.headline.text()


def test_that_a_long_run_is_judged_by_its_first_tokens_until_all_are_gathered(
    stage: WindowStage, audited: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()

    def held(trace: Trace, watch: Callable[[int], object], last: int | None) -> Judgements:
        assert last is not None or free.wait(TIMEOUT / 1000)
        return judgements(trace, watch, last)

    monkeypatch.setattr("app.tools.inspector.AT_ONCE", 10)
    monkeypatch.setattr("app.tools.inspector.judgements", held)
    stage.session.show_trace(audited)
    stage.session.select(Selection(TOKEN, LAYER))
    tool = stage.work.rack.tool(INSPECTOR)
    assert isinstance(tool, InspectorTool)
    stage.work.rack.flush()
    quality = tool.view.quality
    stage.qtbot.waitUntil(lambda: "9 tokens" in quality.headline.text(), timeout=TIMEOUT)
    assert "10 of 40 tokens" in quality.note.text()
    quality.note.linkActivated.emit("stop")
    free.set()
    settled(stage)
    tool._gathering.progressed.emit(20)  # as it was told just before
    assert "was stopped" in quality.note.text()
    assert "9 tokens" in quality.headline.text()
    quality.note.linkActivated.emit("again")
    settled(stage)
    assert "39 tokens" in quality.headline.text()
    assert quality.note.text() == ""


def test_that_a_run_that_grows_is_not_judged_again_after_stop(
    stage: WindowStage, audited: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, asked = list(audited.events), []
    monkeypatch.setattr("app.tools.inspector.judgements", lambda *given: asked.append(1) or judgements(*given))
    half = len(events) // 2
    trace = Trace.of(events[:half])
    stage.session.show_trace(trace)
    tool = settled(stage, Selection(TOKEN, LAYER))
    tool.view.quality.link_chosen.emit("stop")
    before = len(asked)
    for event in events[half:]:
        trace.append(event)
    tool.draw(TOKEN)
    settled(stage)
    assert len(asked) == before
    tool.view.quality.link_chosen.emit("again")
    settled(stage)
    assert len(asked) == before + 1


def test_that_a_bin_selects_its_tokens_everywhere_and_they_can_be_stepped_through(
    stage: WindowStage, audited: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    lit: list[list[int]] = []
    stage.session.show_trace(audited)
    tool = settled(stage, Selection(TOKEN, LAYER))
    monkeypatch.setattr(stage.work.views, "set_highlight", lambda tokens, name: lit.append(tokens.tolist()))
    quality = tool.view.quality
    tool.view.tabs.setCurrentIndex(1)
    assert quality.found is not None
    at = int(np.argmax(quality.found.calibration.counts))
    tokens = quality.found.calibration.tokens[at].tolist()
    assert len(tokens) > 1
    click(stage.qtbot, quality.reliability, (at + 0.5) / 10, 0.5)
    assert lit == [tokens]
    assert stage.session.selection == Selection(tokens[0], LAYER)
    settled(stage)
    quality.after.click()
    assert stage.session.selection == Selection(tokens[1], LAYER)
    settled(stage)
    assert f"2 of {len(tokens)}" in quality.steps.text(), "the selection that it asked for keeps the bin"
    stage.qtbot.keyClick(quality.reliability, Qt.Key.Key_Left)
    stage.qtbot.keyClick(quality.reliability, Qt.Key.Key_Return)
    assert len(lit) == (2 if quality.found.calibration.counts[at - 1] else 1)
    stage.session.show_trace(Trace.of(fake_run_events(20, DEPTH, audit=True, run=1)))
    settled(stage)
    assert not quality._tokens, "they were the other run's"
    assert quality.found is not None
    assert quality.found.tokens < 40


def test_that_each_tab_has_a_table_with_the_same_numbers(stage: WindowStage, audited: Trace) -> None:
    stage.session.show_trace(audited)
    quality = settled(stage, Selection(TOKEN, LAYER)).view.quality
    quality.table_button.setChecked(True)
    assert quality.found is not None
    for tab in Tab:
        quality.tabs.setCurrentIndex(tab)
        model = quality.table.model()
        if tab is Tab.CALIBRATION:
            bins = quality.found.calibration
            shown = [(model.index(at, 0).data(), model.index(at, 1).data()) for at in range(10)]
            assert shown == [(bin_name(bins, at), f"{bins.counts[at]}") for at in range(10)]
        else:
            right = [int(model.index(at, 1).data()) for at in range(model.rowCount())]
            assert right == quality.found.curves.true_positives.tolist()


def test_that_only_the_newest_selections_judgement_is_shown(stage: WindowStage, audited: Trace, tmp_path: Path) -> None:
    recorded(stage, tmp_path / "run.specee", audited)
    settled(stage, Selection(TOKEN, LAYER))
    for layer in (2, 4, 6, 9):
        stage.session.select(Selection(TOKEN + 1, layer))
        stage.work.rack.flush()
    tool = settled(stage)
    shown = tool.view.table.rows.found
    assert shown is not None
    assert (shown.token, shown.layer) == (TOKEN + 1, 9)


def test_that_a_live_recording_says_what_an_audit_adds(stage: WindowStage) -> None:
    trace = Trace.of(fake_run_events(8, DEPTH))
    stage.session.show_trace(trace)
    record = trace.records[TOKEN]
    silent = int(np.flatnonzero(~record.evaluated)[0])
    tool = settled(stage, Selection(TOKEN, silent))
    assert tool.view.quality.message.text() == NO_AUDIT
    assert f"did not ask layer {silent + 1}" in tool.view.words.text()
    settled(stage, Selection(0))
    assert "asks no predictor" in tool.view.words.text()
    settled(stage, Selection(TOKEN))
    assert tool.layer == layer_to_inspect(record, None) == int(np.flatnonzero(record.evaluated)[-1])


def test_that_a_run_without_predictors_is_told_so(stage: WindowStage) -> None:
    stage.session.show_trace(Trace.of(fake_run_events(4, settings=RunSettings(Policy.DENSE))))
    tool = settled(stage, Selection(1))
    assert tool.panel.is_empty
    assert "asks no predictors" in tool.panel.empty.accessibleName()


def test_that_a_nodes_score_above_the_threshold_is_not_told_to_be_a_proposal(audited: Trace) -> None:
    """In a tree whole paths are proposed, and a path scores as its lowest node."""
    found = inspect(audited, small_bank(), TOKEN, LAYER)
    assert found is not None
    above = replace(found, score=0.9, threshold=0.5)
    assert "an exit is proposed" in judgement_words(above)
    told = judgement_words(replace(above, in_tree=True))
    assert "an exit is proposed" not in told
    assert "a path is proposed where its lowest node does" in told
    assert "no exit is proposed" in judgement_words(replace(above, threshold=0.95, in_tree=True))


def test_that_words_that_find_no_room_are_left_out_whole_and_kept_in_the_tooltip(qtbot: QtBot, audited: Trace) -> None:
    view, found = InspectorView(), inspect(audited, small_bank(), TOKEN, LAYER)
    qtbot.addWidget(view)
    with qtbot.waitExposed(view):
        view.resize(446, 150)  # about as in a window of 1280 × 720
        view.show()
    view.show_inspection(found)
    for height, whole in ((150, False), (420, True), (150, False)):
        view.resize(446, height)
        QApplication.processEvents()
        assert ("Taken out" in view.words.text()) is whole
        assert ("Taken out" in view.words.toolTip()) is not whole
        assert view.words.height() >= view.words.heightForWidth(view.words.width()), "a line is cut"
