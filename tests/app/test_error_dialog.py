"""How failures are told."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.error_dialog import ErrorDialog
from app.failure import Failure, describe
from core.errors import UserError
from widgets.palette import DARK


def shown(qtbot: QtBot, failure: Failure) -> ErrorDialog:
    dialog = ErrorDialog(failure, DARK)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_that_a_user_error_is_one_sentence_and_no_details(qtbot: QtBot) -> None:
    dialog = shown(qtbot, describe(UserError("The folder has no weights; run `specee-viewer model fetch`.")))
    assert dialog.sentence.text() == "The folder has no weights; run “specee-viewer model fetch”."
    assert not hasattr(dialog, "toggle")
    assert not dialog.details.isVisible()


def test_that_a_fault_of_ours_shows_its_traceback_on_demand_and_copies_it(qtbot: QtBot) -> None:
    try:
        raise ValueError("index 31 is out of range")
    except ValueError as error:
        dialog = shown(qtbot, describe(error))
    assert not dialog.details.isVisible()
    dialog.toggle.click()
    assert dialog.details.isVisible()
    assert dialog.toggle.text() == "Hide details"
    dialog.copy.click()
    copied = QGuiApplication.clipboard().text()
    assert "Traceback" in copied
    assert "index 31 is out of range" in copied
    dialog.toggle.click()
    assert not dialog.details.isVisible()


def test_that_markup_in_a_sentence_is_shown_and_not_rendered(qtbot: QtBot) -> None:
    dialog = shown(qtbot, Failure("<b>bold</b> & <img src=x>", "", True))
    assert dialog.sentence.text() == "<b>bold</b> & <img src=x>"
    assert dialog.sentence.textFormat().name == "PlainText"
