"""The status bar tells what was measured, and nothing else."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.figures import Figures
from app.run_state import RunState
from app.state_words import detail
from app.status_line import StatusLine
from core.analysis.summaries import agreement
from core.trace.events import EndReason
from core.trace.trace import Trace
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace


@pytest.fixture
def line(qtbot: QtBot) -> StatusLine:
    line = StatusLine()
    qtbot.addWidget(line)
    line.show()
    return line


def traced(*, audit: bool, end: EndReason = EndReason.MAX_NEW_TOKENS) -> Trace:
    trace = Trace()
    for event in fake_run_events(tokens=12, audit=audit, end=end):
        trace.append(event)
    return trace


def figures_of(trace: Trace) -> Figures:
    figures = Figures()
    figures.update(trace, 0)
    return figures


def test_that_agreement_is_shown_only_where_an_audit_measured_it(line: StatusLine) -> None:
    live, audited = traced(audit=False), traced(audit=True)
    line.show_figures(figures_of(live), live)
    assert not line.agreement.isVisible()
    line.show_figures(figures_of(audited), audited)
    share = agreement(audited)
    assert share is not None
    assert line.agreement.text() == f"agreement {share:.1%}"


def test_that_the_acceptance_length_is_shown_only_where_trees_are_run(line: StatusLine) -> None:
    single, trees = traced(audit=False), tree_trace(TreePlan(), TreePlan(accepted=(), bonus=" it", exit_layer=30))
    line.show_figures(figures_of(single), single)
    assert not line.accepted.isVisible()
    line.show_figures(figures_of(trees), trees)
    assert line.accepted.text() == "τ 2.50"


def test_that_a_finished_run_shows_speed_exit_layer_and_watched_layers(line: StatusLine) -> None:
    trace = traced(audit=False)
    line.show_figures(figures_of(trace), trace)
    texts = (line.speed.text(), line.exit.text(), line.active.text())
    assert [any(words in text for text in texts) for words in ("tokens/s", "/ 12", "layers watched")] == [True] * 3


def test_that_in_other_type_no_figure_is_painted_over_a_message(line: StatusLine, qtbot: QtBot) -> None:
    trace = traced(audit=False)
    line.show_figures(figures_of(trace), trace)
    line.showMessage("Breakpoint on wrong exit.")
    assert not line.exit.isVisible()
    line.setStyleSheet("QLabel { font-size: 30pt }")
    qtbot.waitUntil(lambda: line.exit.isVisible())
    assert not line.currentMessage()


def test_that_nothing_is_shown_as_zero_before_there_is_a_run(line: StatusLine) -> None:
    line.show_figures(Figures(), None)
    assert not any(one.isVisible() for one in (line.speed, line.exit, line.agreement, line.active))


@pytest.mark.parametrize("end", [EndReason.END_OF_TEXT, EndReason.CONTEXT_FULL, EndReason.STOP_STRING])
def test_that_a_finished_run_says_why_it_ended(line: StatusLine, end: EndReason) -> None:
    line.show_state(RunState.FINISHED, detail(RunState.FINISHED, traced(audit=False, end=end)))
    assert end.value in line.state.text()


def test_that_a_narrow_window_gives_up_whole_figures_and_shows_them_again_when_it_is_wide(line: StatusLine) -> None:
    trace = traced(audit=True)
    started = trace.started
    assert started is not None
    line.show_figures(figures_of(trace), trace)
    line.show_model(started.model)
    line.show_recording("saved")
    labels = (line.model, line.speed, line.exit, line.agreement, line.active, line.recording)
    whole = sum(label.sizeHint().width() for label in labels) + line.state.sizeHint().width()
    assert line.minimumSizeHint().width() < whole / 2
    for width in (whole + 200, 500, line.minimumSizeHint().width(), whole + 200):
        line.resize(width, line.height())
        QApplication.processEvents()
        assert all(label.width() == 0 or label.width() >= label.sizeHint().width() for label in labels), width
        assert line.speed.width() > 0
        assert (line.active.width() > 0) is (width > whole)
