"""The log over the real window, and what a report of a fault says."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication

from app.bug_report import bug_report
from app.failure import Failure
from app.form_values import FormValues
from app.tools.log_book import LONGEST
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine
from widgets.log_view import Kind, LogView


def test_that_models_runs_and_failures_are_noted_and_copied_and_cleared(stage: WindowStage) -> None:
    log = stage.work.log
    stage.load(FakeEngine(tokens=5))
    stage.finish()
    stage.session.failed.emit(Failure("The disk is full; free some space.", "", True))
    stage.qtbot.waitUntil(lambda: log.rows.rowCount() == 4)
    told = "\n".join(log.lines)
    for words in ("fake is loaded", "Run 1 began", "Run 1 ended after 5 tokens: max new tokens", "warning: The disk"):
        assert words in told
    stage.window.commands["panel_log"].trigger()
    stage.qtbot.waitUntil(lambda: stage.window.findChild(LogView) is not None)
    view = stage.window.findChild(LogView)
    view.copy()
    assert QGuiApplication.clipboard().text() == told
    view.clear_action.trigger()
    assert log.lines == []
    assert not stage.shows("log")


def test_that_our_loggers_are_heard_from_any_thread_until_the_window_goes(stage: WindowStage) -> None:
    log, logger = stage.work.log, logging.getLogger("core.engine")
    before = [logging.getLogger(name).level for name in ("app", "core", "widgets")]
    thread = threading.Thread(target=logger.warning, args=("slow in %s", Path.home() / "models"))
    thread.start()
    thread.join()
    logger.debug("not this")
    stage.qtbot.waitUntil(lambda: log.rows.rowCount() == 1)
    (entry,) = log.rows.entries
    assert (entry.kind, entry.text) == (Kind.WARNING, "slow in ~/models")
    log.note("x" * 10 * LONGEST)
    assert len(log.rows.entries[1].text) == LONGEST
    stage.window.close()
    logger.warning("too late")
    assert log.rows.rowCount() == 2
    assert before == [logging.INFO] * 3
    assert logging.getLogger("core").level != logging.INFO


def test_that_a_report_tells_fault_versions_settings_and_log_and_no_folder_of_the_users() -> None:
    home = str(Path.home())
    failure = Failure("Something went wrong.", f'File "{home}/project/a.py", line 3\nValueError: {home}', False)
    report = bug_report(failure, "tiny · float32", FormValues(custom=f"{home}/rule.py:Rule"), ["10:00:00 note: begun"])
    for words in (
        "Something went wrong.",
        "Python 3",
        "torch",
        "tiny · float32",
        '"threshold"',
        "begun",
        "~/project/a.py",
    ):
        assert words in report
    assert home not in report


def test_that_a_home_folder_with_other_letters_than_englishs_is_in_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, "/home/jörg")
    report = bug_report(Failure("No.", "", False), settings=FormValues(custom="/home/jörg/rule.py:Rule"))
    assert '"~/rule.py:Rule"' in report


def test_that_the_error_dialog_copies_a_report_with_the_windows_settings_and_log(stage: WindowStage) -> None:
    stage.work.log.note("something before")
    stage.window.form.max_tokens.setValue(77)
    stage.session.failed.emit(Failure("Something went wrong.", "Traceback: here", False))
    (error,) = stage.errors()
    error.copy.click()
    copied = QGuiApplication.clipboard().text()
    for words in ("something before", '"max_new_tokens": 77', "Traceback: here", "error: Something went wrong."):
        assert words in copied
    error.close()
