"""The ledger's panel in a window: the analysis' counts, and its classes highlighted everywhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.places import LEDGER
from app.tools.ledger import LedgerTool
from core.analysis.ledger import LABELS, Ledger, ledger
from core.errors import UserError
from core.trace.reading import ReadableTrace
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.tool_stage import ToolStage
from tests.core.recordings import DEPTH, Recorder, audit_settings
from tests.tiny import make_tiny_model


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    return Recorder(make_tiny_model(tmp_path_factory.mktemp("tiny"), depth=DEPTH))


class Stage(ToolStage):
    """A window over the tiny engine, with its ledger."""

    @property
    def ledger(self) -> LedgerTool:
        tool = self.work.rack.tool(LEDGER)
        assert isinstance(tool, LedgerTool)
        return tool

    def counted(self, run: Trace) -> Ledger:
        """What the panel holds of a run, once every token of it has been counted."""
        self.until(lambda: self.ledger.found is not None and len(self.ledger.found.entries) == run.emitted_count)
        assert self.ledger.found is not None
        return self.ledger.found


@pytest.fixture
def stage(qtbot: QtBot, recorder: Recorder) -> Iterator[Stage]:
    stage = Stage(qtbot, recorder)
    stage.load_tiny()
    yield stage
    stage.window.close()


def test_that_the_ledger_counts_and_its_class_is_selected_and_highlighted_everywhere(stage: Stage) -> None:
    stage.bring(LEDGER)
    trace = stage.run(audit_settings())
    found, tool = ledger(trace), stage.ledger
    np.testing.assert_array_equal(stage.counted(trace).entries, found.entries)
    np.testing.assert_array_equal(stage.counted(trace).lost, found.lost)
    entry = next(row.entry for row in found.rows if row.count > 1)
    tool.view.classes.clicked.emit(tool.view.classes.rows.index(list(LABELS).index(entry), 0))
    tokens = found.tokens(entry)
    assert stage.session.selection.token == tokens[0]
    views = stage.work.views
    assert views.tokens._highlight == set(tokens.tolist())
    np.testing.assert_array_equal(views.exits.highlight.tokens, tokens)
    assert LABELS[entry] in stage.window.panels["tokens"].header.subtitle.text()
    stage.work.rack.flush()
    tool.view.next_token()
    assert stage.session.selection.token == tokens[1]
    stage.run(replace(trace.started.settings, threshold=0.9))
    assert views.tokens._highlight == frozenset()


def held_up(monkeypatch: pytest.MonkeyPatch, portion: int) -> tuple[threading.Event, threading.Event]:
    """Have so many tokens looked at at once; the second look sets the first event and waits for the second."""
    reached, release = threading.Event(), threading.Event()

    def held(trace: ReadableTrace, first: int, last: int, watch: Callable[[int], None]) -> Ledger:
        if first == portion and not reached.is_set():
            reached.set()
            release.wait(TIMEOUT / 1000)
        return ledger(trace, first, last, watch)

    for name in ("PORTION", "MOST"):
        monkeypatch.setattr(f"app.tools.ledger.{name}", portion)
    monkeypatch.setattr("app.tools.ledger.ledger", held)
    return reached, release


def test_that_a_run_left_and_shown_again_while_its_tokens_are_looked_at_is_counted_from_its_start(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = stage.run(audit_settings()), stage.run(audit_settings())
    stage.bring(LEDGER)
    stage.until(lambda: not stage.ledger.is_behind)
    reached, release = held_up(monkeypatch, 2)
    stage.session.show_trace(run)
    stage.work.rack.flush()
    stage.until(reached.is_set)
    for shown in (other, run):
        stage.session.show_trace(shown)
        stage.work.rack.flush()
    release.set()
    np.testing.assert_array_equal(stage.counted(run).entries, ledger(run).entries)


def test_that_a_look_can_be_stopped_and_taken_up_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stage.run(audit_settings())
    reached, release = held_up(monkeypatch, 4)
    stage.bring(LEDGER)
    tool = stage.ledger
    stage.until(reached.is_set)
    stage.until(lambda: f"4 of {run.emitted_count} tokens" in tool.view.note.text())
    tool.view.note.linkActivated.emit("stop")
    release.set()
    stage.until(lambda: not tool.is_being_counted)
    assert tool.found is not None
    assert (len(tool.found.entries), tool.is_behind) == (4, True)
    assert "was stopped" in tool.view.note.text()
    tool.view.note.linkActivated.emit("again")
    np.testing.assert_array_equal(stage.counted(run).entries, ledger(run).entries)
    stage.until(lambda: tool.view.note.text() == "")


def test_that_a_look_that_fails_is_told_of_and_can_be_taken_up_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, failing, asked = stage.run(audit_settings()), [True], list[int]()

    def broken(trace: ReadableTrace, first: int, last: int, watch: Callable[[int], None]) -> Ledger:
        asked.append(first)
        if failing[0] and first == 4:
            raise UserError("The file is gone; open it again.")
        return ledger(trace, first, last, watch)

    for name in ("PORTION", "MOST"):
        monkeypatch.setattr(f"app.tools.ledger.{name}", 4)
    monkeypatch.setattr("app.tools.ledger.ledger", broken)
    stage.bring(LEDGER)
    tool = stage.ledger
    stage.until(lambda: tool.panel.is_empty)
    assert "The file is gone" in tool.panel.empty.accessibleName()
    assert (asked, tool.is_being_counted) == ([0, 4], False)
    failing[0] = False
    tool.view.note.linkActivated.emit("again")
    np.testing.assert_array_equal(stage.counted(run).entries, ledger(run).entries)
