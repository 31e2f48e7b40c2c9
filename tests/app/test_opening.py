"""What follows the first paint: nothing is offered too early, the views come by themselves, and then the model."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
import shiboken6
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import opening as opening_module
from app.main_window import MainWindow
from app.opening import Opening
from app.places import VIEWS
from app.run_state import RunState
from app.settings import Preferences
from app.workbench import Workbench
from tests.app.stage import TIMEOUT
from tests.fakes import FakeLoader
from widgets.palette import DARK, LIGHT


@pytest.fixture
def opening(qtbot: QtBot) -> Iterator[Opening]:
    window = MainWindow(Preferences(QSettings()))
    qtbot.addWidget(window)
    window.apply_theme(DARK)
    window.recall()
    made = Opening(window, "fake", FakeLoader())
    yield made
    window.close()
    gc.unfreeze()  # what a launch exempts from garbage collection would look like a leak to later tests


def until_alive(opening: Opening, qtbot: QtBot) -> Workbench:
    with qtbot.waitSignal(opening.ready, timeout=TIMEOUT):
        opening.window.show()
    assert opening.workbench is not None
    return opening.workbench


def test_that_the_first_window_offers_nothing_that_needs_a_session(opening: Opening) -> None:
    window = opening.window
    window.show()
    assert opening.workbench is None
    names = ("run", "step_token", "next_token", "reload", "open_folder", "quit")
    assert [name for name in names if window.commands[name].isEnabled()] == ["quit"]
    assert not window.prompt.run.isEnabled()
    assert window.panels["tokens"].empty.headline.text() == "The model is being loaded."
    assert all(window.panels[place.key].is_empty for place in VIEWS)


def test_that_a_painted_window_gets_its_views_and_then_its_model(opening: Opening, qtbot: QtBot) -> None:
    work = until_alive(opening, qtbot)
    assert all(opening.window.panels[place.key].view is not None for place in VIEWS)
    assert opening.window.commands["open_folder"].isEnabled()
    qtbot.waitUntil(lambda: work.session.state is RunState.READY, timeout=TIMEOUT)
    assert opening.window.commands["run"].isEnabled()


def test_that_no_other_thread_imports_while_qts_classes_are_made(
    opening: Opening, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, bool]] = []
    original = opening_module.make_classes

    def watched() -> Iterator[None]:
        for _ in original():
            seen.append((threading.current_thread() is threading.main_thread(), opening._importer.isRunning()))
            yield

    monkeypatch.setattr(opening_module, "make_classes", watched)
    until_alive(opening, qtbot)
    assert len(seen) > 10
    assert set(seen) == {(True, False)}


def test_that_a_model_that_was_called_off_before_the_session_was_there_is_not_loaded(
    opening: Opening, qtbot: QtBot
) -> None:
    opening.window.status.progress.cancel.click()
    work = until_alive(opening, qtbot)
    assert work.session.state is RunState.NO_MODEL
    assert opening.window.status.progress.isHidden()
    assert "No model" in opening.window.panels["tokens"].empty.headline.text()


def test_that_a_theme_chosen_before_the_views_were_there_is_theirs(opening: Opening, qtbot: QtBot) -> None:
    opening.window.apply_theme(LIGHT)
    work = until_alive(opening, qtbot)
    assert work.views.exits.theme is LIGHT


def test_that_a_window_closed_before_it_came_to_life_stays_closed(opening: Opening, qtbot: QtBot) -> None:
    with qtbot.waitSignal(opening.window.shown, timeout=TIMEOUT):
        opening.window.show()
    opening.window.close()
    qtbot.wait(20)  # what the ended import has to say arrives
    assert opening.workbench is None
    assert opening.error is None


def test_that_a_failed_import_ends_the_program_with_its_reason(
    opening: Opening, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening_module, "SLOW", ("no_such_module",))
    with qtbot.waitSignal(opening.failed, timeout=TIMEOUT):
        opening.window.show()
    assert isinstance(opening.error, ModuleNotFoundError)
    assert opening.workbench is None


def test_that_a_view_that_cannot_be_made_ends_the_program_with_its_reason(
    opening: Opening, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise ValueError("no view")

    monkeypatch.setattr("app.views.ExitChart", broken)
    with qtbot.waitSignal(opening.failed, timeout=TIMEOUT):
        opening.window.show()
    assert str(opening.error) == "no view"


def test_that_a_window_gone_right_after_its_first_paint_says_nothing(qtbot: QtBot) -> None:
    window = MainWindow(Preferences(QSettings()))
    window.grab()
    shiboken6.delete(window)
    QApplication.processEvents()
