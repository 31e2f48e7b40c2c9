"""The what-if panel in a window, over an engine with real parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.places import LEDGER, WHAT_IF
from app.tools.what_if import FIRST_ONLY, WhatIf
from app.tools.what_if_words import no_rerun
from core.analysis.columns import columns_of
from core.analysis.forks import fork_at
from core.analysis.what_if import Redecider
from core.choices import Policy, Record
from core.config import RunSettings, TreeSettings
from core.trace.events import Branch
from core.trace.saving import MemoryRun, save_session
from tests.app.tool_stage import ToolStage
from tests.core.recordings import DEPTH, Recorder, audit_settings
from tests.tiny import make_tiny_model
from widgets import theme as looks
from widgets.palette import DARK


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    return Recorder(make_tiny_model(tmp_path_factory.mktemp("tiny"), depth=DEPTH))


class Stage(ToolStage):
    """A window over the tiny engine, with its what-if."""

    @property
    def what_if(self) -> WhatIf:
        tool = self.work.rack.tool(WHAT_IF)
        assert isinstance(tool, WhatIf)
        return tool

    def answered(self) -> None:
        """Wait until what is asked now has been answered."""
        tool = self.what_if
        self.work.rack.flush()
        self.until(lambda: not tool.desk.is_busy and tool._answer is not None)
        self.work.rack.flush()

    def ask(self, threshold: float) -> None:
        self.what_if.view.form.threshold.setValue(threshold)
        self.answered()


@pytest.fixture
def stage(qtbot: QtBot, recorder: Recorder) -> Iterator[Stage]:
    stage = Stage(qtbot, recorder)
    yield stage
    stage.window.close()


def plain(html: str) -> str:
    document = QTextDocument()
    document.setHtml(html)
    return document.toPlainText()


def loaded(stage: Stage) -> Stage:
    stage.load_tiny()
    return stage


def test_that_a_moved_slider_shows_what_the_analysis_says_and_a_row_selects_its_token(
    stage: Stage, recorder: Recorder
) -> None:
    loaded(stage).bring(WHAT_IF)
    trace = stage.run(audit_settings())
    stage.answered()
    view = stage.what_if.view
    assert view.table.rows.rowCount() == 0
    assert not view.reset.isEnabled()
    stage.ask(0.05)
    columns = columns_of(trace)
    decided = Redecider(columns, recorder.parts.predictors, recorder.parts.offline_ranking).decide(
        audit_settings(threshold=0.05)
    )
    first = decided.first_change
    np.testing.assert_array_equal(view.plot.compared.asked, decided.exit_layers)
    assert view.plot.compared.estimate_from == first + 1
    assert [view.table.rows.row(at).cells[0] for at in range(view.table.rows.rowCount())] == [
        f"{token + 1}" for token in np.flatnonzero(decided.changed)
    ]
    words = plain(view.totals.text())
    before, after = columns.exit_layers[1:].mean(), decided.exit_layers[1:].mean()
    assert f"mean exit {after:.2f} (−{before - after:.2f})" in words
    assert f"exact through token {first + 1} of {len(columns)}" in words
    view.table.clicked.emit(view.table.rows.index(0, 0))
    assert stage.session.selection.token == first
    view.reset.click()
    stage.answered()
    assert view.table.rows.rowCount() == 0


def test_that_the_rerun_takes_every_exact_decision_and_each_run_leads_to_the_other(stage: Stage) -> None:
    loaded(stage).bring(WHAT_IF)
    stage.run(audit_settings())
    stage.answered()
    stage.ask(0.05)
    view, exact = stage.what_if.view, stage.what_if._answer.compared.exact_tokens
    assert view.rerun.isEnabled()
    assert exact > 0
    before = stage.session.trace
    view.rerun.click()
    stage.until(lambda: stage.session.trace is not before and stage.session.trace.ended is not None)
    stage.until(view.truth.isVisible)
    assert stage.session.trace.started.settings == audit_settings(threshold=0.05)
    assert f"✓ The re-run decided {exact} of {exact} exact tokens the same, scores within 0.00001." in plain(
        view.truth.text()
    )
    stage.answered()
    view.truth.linkActivated.emit("0")
    stage.until(lambda: stage.session.trace.started.run == 0)
    stage.answered()
    assert "Show run 2" in plain(view.truth.text())
    trace = stage.run(audit_settings(threshold=0.9), fork_at(stage.session.trace, 5, audit_settings(threshold=0.9)))
    stage.answered()
    assert not view.truth.isVisible(), "the truth was about other runs"
    stage.ask(0.05)
    view.rerun.click()
    stage.until(lambda: stage.session.trace is not trace and stage.session.trace.ended is not None)
    stage.until(view.truth.isVisible)
    assert stage.session.trace.started.branch.given == trace.started.branch.given, "a branch is given its past again"
    assert "✓ The re-run decided" in plain(view.truth.text())


def test_that_a_rerun_tells_its_truth_wherever_the_user_looks_but_not_in_another_session(
    stage: Stage, tmp_path: Path
) -> None:
    loaded(stage).bring(WHAT_IF)
    before = stage.run(audit_settings())
    stage.answered()
    stage.ask(0.05)
    view = stage.what_if.view
    view.rerun.click()
    stage.until(lambda: stage.session.trace is not before)
    stage.work.files.show_run(0)
    stage.until(view.truth.isVisible)
    assert "Show run 2" in plain(view.truth.text())
    stage.work.files._write(tmp_path / "two.specee", None)
    stage.until(lambda: not stage.work.files.is_busy)
    stage.work.files.open(tmp_path / "two.specee")
    stage.until(lambda: not stage.work.files.is_busy)
    stage.work.files.show_run(0)
    stage.answered()
    assert not view.truth.isVisible(), "the runs of another file have the same numbers"


def test_that_the_truth_about_a_run_of_another_file_leads_back_by_the_files_name(
    stage: Stage, recorder: Recorder, tmp_path: Path
) -> None:
    path = tmp_path / "a & b.specee"
    save_session(path, [MemoryRun(recorder.run(audit_settings()))], [])
    loaded(stage).bring(WHAT_IF)
    files = stage.work.files
    (number,) = files.library.guests.welcome(files.library.guests.open(path))
    files.show_run(number)
    stage.answered()
    stage.ask(0.05)
    view = stage.what_if.view
    view.rerun.click()
    stage.until(view.truth.isVisible)
    assert plain(view.truth.text()).endswith("Show the run of a & b.specee")
    view.truth.linkActivated.emit(str(number))
    stage.answered()
    assert stage.session.trace.started.run == number
    assert plain(view.truth.text()).endswith("Show run 1")
    started = stage.session.trace.started
    branch = replace(started, branch=Branch(0, 2, 3, ()))
    assert "belongs to another file" in no_rerun(stage.session, branch)


def test_that_the_frontier_marks_where_the_run_stands_and_a_point_sets_the_threshold(stage: Stage) -> None:
    loaded(stage).bring(WHAT_IF)
    stage.run(audit_settings())
    stage.answered()
    view = stage.what_if.view
    view.pages.setCurrentWidget(view.frontier)
    stage.answered()
    standing = view.frontier.item.standing
    assert standing.recorded == standing.asked
    assert (standing.threshold, view.points.rows.rowCount()) == (0.3, len(view.frontier.found.points))
    view.frontier.threshold_wanted.emit(0.9)
    stage.answered()
    assert stage.what_if._answer.compared.settings.threshold == 0.9
    point = next(one for one in view.frontier.found.points if one.threshold == 0.9)
    assert view.frontier.item.standing.asked == (point.mean_exit_layer, point.agreement)
    view.points.clicked.emit(view.points.rows.index(0, 0))
    stage.answered()
    assert view.form.settings().threshold == view.frontier.found.points[0].threshold


def test_that_a_file_is_decided_anew_without_a_model_and_says_why_it_cannot_be_run_again(
    stage: Stage, recorder: Recorder, tmp_path: Path
) -> None:
    path = tmp_path / "audit.specee"
    save_session(path, [MemoryRun(recorder.run(audit_settings()))], [])
    stage.bring(WHAT_IF)
    stage.work.files.open(path)
    stage.until(lambda: stage.session.trace is not None)
    stage.answered()
    view = stage.what_if.view
    assert not view.rerun.isEnabled()
    assert "No model is loaded" in view.rerun.toolTip()
    stage.ask(0.05)
    assert view.table.rows.rowCount() > 0
    loaded(stage)
    assert view.rerun.isEnabled()


@pytest.mark.parametrize(
    ("settings", "what_if", "counted"),
    [
        (audit_settings(record=Record.LIVE), "record the run in audit depth", "which this recording does not tell"),
        (
            RunSettings(policy=Policy.DENSE, max_new_tokens=5),
            "Only a run of SpecEE",
            "which this recording does not tell",
        ),
        (audit_settings(max_new_tokens=1), FIRST_ONLY, "starts with the second token"),
    ],
)
def test_that_a_run_that_lacks_something_says_what_to_do(
    stage: Stage, settings: RunSettings, what_if: str, counted: str
) -> None:
    loaded(stage)
    stage.run(settings)
    for place, words in ((WHAT_IF, what_if), (LEDGER, counted)):
        stage.bring(place)
        stage.until(lambda words=words, place=place: words in stage.sentence(place))


def test_that_a_run_of_trees_is_decided_pass_by_pass_and_its_frontier_says_why_there_is_none(stage: Stage) -> None:
    loaded(stage).bring(WHAT_IF)
    stage.run(audit_settings(max_new_tokens=16, threshold=0.6, tree=TreeSettings("3-2-1")))
    stage.answered()
    stage.ask(0.02)
    view = stage.what_if.view
    assert view.table.rows.rowCount() > 0
    assert "pass" in view.exactness
    view.pages.setCurrentWidget(view.frontier)
    stage.answered()
    assert "one token a pass" in view.frontier.message


def test_that_all_pages_can_be_chosen_in_a_small_window(stage: Stage, qapp: QApplication) -> None:
    stage.window.resize(1280, 720)
    loaded(stage).bring(WHAT_IF)
    sheet = looks.stylesheet(DARK, qapp.font().pointSizeF())
    stage.window.panels[WHAT_IF.key].setStyleSheet(sheet)  # which has tabs of this panel be narrow
    stage.run(audit_settings())
    stage.answered()
    stage.ask(0.05)
    pages = stage.what_if.view.pages
    changes = len(stage.what_if._answer.compared.changes)
    assert changes
    assert f"{changes}" in pages.tabText(1)
    assert pages.tabBar().sizeHint().width() <= pages.width(), "the tabs scroll"
    plot = stage.what_if.view.plot
    assert plot.mapTo(pages, plot.rect().bottomLeft()).y() < pages.height(), "the plot's axis is cut off"
    assert pages.mapTo(stage.what_if.view, pages.rect().bottomLeft()).y() < stage.what_if.view.height()
    pages.resize(900, 200)
    assert pages.tabText(1) == f"Changed ({changes})"


def test_that_both_actions_say_why_they_rest_and_act_once_there_is_an_answer(stage: Stage) -> None:
    rerun, reset = (stage.window.commands[name] for name in ("rerun_truth", "reset_what_if"))
    assert not rerun.isEnabled()
    assert "What if" in rerun.property("reason")
    loaded(stage).bring(WHAT_IF)
    trace = stage.run(audit_settings())
    stage.answered()
    assert (rerun.isEnabled(), reset.isEnabled()) == (True, False)
    stage.ask(0.05)
    reset.trigger()
    stage.answered()
    assert stage.what_if.view.form.is_reset
    rerun.trigger()
    stage.until(lambda: stage.session.trace is not trace and stage.session.trace.ended is not None)
    assert stage.session.trace.exit_layers.tolist() == trace.exit_layers.tolist()
