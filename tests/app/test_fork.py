"""Forking in the window: the dialog, what the engine is asked for, and where the branch is to be found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.fork_dialog import ForkDialog
from app.run_state import RunState
from app.title_words import why_no_draft
from app.tree_panel import why_no_tree
from core.choices import Policy
from core.trace.events import Branch, ExitReason, RunStarted, TokenEmitted
from core.trace.trace import Trace
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine, fake_run_events
from widgets.selection import Selection


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.load(FakeEngine(tokens=9))
    stage.finish()
    yield stage
    stage.window.close()


def ask(stage: WindowStage, token: int) -> ForkDialog:
    stage.session.select(Selection(token))
    stage.trigger("fork")
    dialog = stage.work.forks.dialog
    assert dialog is not None
    return dialog


def fork(stage: WindowStage, dialog: ForkDialog) -> None:
    runs = len(stage.loader.engine.forks)
    dialog.fork.click()
    stage.qtbot.waitUntil(lambda: len(stage.loader.engine.forks) > runs, timeout=20_000)
    stage.until_state(RunState.FINISHED)


def menu(stage: WindowStage) -> list[str]:
    stage.window.runs.aboutToShow.emit()
    return [action.text() for action in stage.window.runs.actions()]


def test_that_a_fork_asks_the_engine_for_the_runs_past_with_its_own_settings(stage: WindowStage) -> None:
    origin = stage.session.trace
    fork(stage, ask(stage, 4))
    order = stage.loader.engine.forks[-1]
    assert (order.origin, order.token, order.token_id, order.text) == (0, 4, None, "")
    assert order.token_ids.tolist() == origin.overview.token_ids[:5].tolist()
    assert order.exit_layers.tolist() == origin.exit_layers[:5].tolist()
    assert stage.session.trace.started.settings == origin.started.settings
    assert stage.session.trace.started.branch.changed == ()


def test_that_a_recorded_candidate_is_chosen_by_keys_alone(stage: WindowStage) -> None:
    dialog = ask(stage, 3)
    assert dialog.focusWidget() is dialog.table
    stage.qtbot.keyClick(dialog.table, Qt.Key.Key_Down)
    stage.qtbot.keyClick(dialog.table, Qt.Key.Key_Return)
    stage.until_state(RunState.FINISHED)
    stage.qtbot.waitUntil(lambda: stage.loader.engine.forks[-1] is not None, timeout=20_000)
    order = stage.loader.engine.forks[-1]
    assert order.token_id == dialog._question.alternatives[1].token_id
    assert order.changed[0].startswith("token 4 ")


def test_that_what_is_typed_counts_before_the_list(stage: WindowStage) -> None:
    dialog = ask(stage, 3)
    dialog.table.selectRow(2)
    dialog.text.setText(" green")
    assert not dialog.table.isEnabled()
    assert not dialog.table.selectionModel().hasSelection(), "what does not count must not look chosen"
    dialog.text.clear()
    assert [index.row() for index in dialog.table.selectionModel().selectedRows()] == [2]
    dialog.text.setText("x" * 10_000)
    assert len(dialog.text.text()) < 5_000
    dialog.text.setText(" green")
    fork(stage, dialog)
    order = stage.loader.engine.forks[-1]
    assert (order.text, order.token_id) == (" green", None)


def test_that_the_panels_settings_are_taken_where_they_are_asked_for(stage: WindowStage) -> None:
    form = stage.window.form
    form.set_settings(replace(stage.session.trace.started.settings, threshold=0.25))
    dialog = ask(stage, 3)
    assert dialog.own.isChecked()
    dialog.panel.setChecked(True)
    fork(stage, dialog)
    assert stage.session.trace.started.settings.threshold == 0.25
    assert stage.session.trace.started.branch.changed == ("threshold 0.5 → 0.25",)


def test_that_settings_that_let_nothing_follow_cannot_be_chosen(stage: WindowStage) -> None:
    origin = stage.session.trace.started.settings
    stage.window.form.set_settings(replace(origin, max_new_tokens=4))
    dialog = ask(stage, 3)
    assert dialog.own.isChecked()
    assert not dialog.panel.isEnabled()
    assert "would end there, after 4 tokens" in dialog._question.no_panel
    dialog.reject()
    stage.qtbot.waitUntil(lambda: stage.work.forks.dialog is None)
    stage.window.form.set_settings(replace(origin, max_new_tokens=5))
    dialog = ask(stage, 3)
    assert dialog.panel.isEnabled()
    dialog.reject()


def test_that_branches_stand_indented_below_their_origin_in_the_menu(stage: WindowStage) -> None:
    fork(stage, ask(stage, 4))
    stage.trigger("run")
    stage.qtbot.waitUntil(lambda: stage.session.trace.started.run == 2, timeout=20_000)
    stage.until_state(RunState.FINISHED)
    stage.work.files.show_run(1)
    fork(stage, ask(stage, 2))
    names = [text.split(" · ")[0] for text in menu(stage)]
    assert names == ["Run 1", "    ↳ Run 2", "        ↳ Run 4", "Run 3"]
    assert menu(stage)[1].endswith("from token 5 of run 1: nothing changed")


def test_that_somebodys_own_code_in_a_file_is_not_run_by_a_fork(stage: WindowStage) -> None:
    events = fake_run_events(9, run=7)
    assert isinstance(events[0], RunStarted)
    theirs = replace(events[0], settings=replace(events[0].settings, policy=Policy.CUSTOM, custom="evil.py:Policy"))
    stage.session.show_trace(Trace.of([theirs, *events[1:]]))
    dialog = ask(stage, 3)
    assert not dialog.own.isEnabled()
    assert dialog.panel.isChecked()
    dialog.reject()


def test_that_only_what_the_loaded_model_made_can_be_forked(stage: WindowStage) -> None:
    events = fake_run_events(9, run=7)
    assert isinstance(events[0], RunStarted)
    other = replace(events[0], model=replace(events[0].model, fingerprint="f" * 64))
    stage.session.show_trace(Trace.of([other, *events[1:]]))
    action = stage.window.commands["fork"]
    assert not action.isEnabled()
    assert action.property("reason") == "another model made the run"


def test_that_panels_name_the_run_that_tells_of_a_given_token(stage: WindowStage) -> None:
    events = fake_run_events(4, run=1)
    assert isinstance(events[0], RunStarted)
    given = [replace(one, reason=ExitReason.GIVEN) for one in events if isinstance(one, TokenEmitted)]
    trace = Trace.of([replace(events[0], branch=Branch(0, 3, 4)), *given])
    words = "This token was given to the branch; run 1 tells how it came about."
    assert why_no_draft(trace, trace.records[2]) == why_no_tree(trace, trace.records[2]) == words
