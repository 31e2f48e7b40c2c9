"""Questions and failures keep their words whole, in type of any size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.appearance import RESET_QUESTION
from app.error_dialog import ErrorDialog
from app.failure import Failure
from app.message_dialog import MessageDialog
from app.question_dialog import QuestionDialog
from app.session_words import OVERTAKEN_ANSWERS
from widgets import theme as looks
from widgets.palette import DARK


@pytest.fixture
def large_type() -> Iterator[None]:
    """Type of 200 %."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    looks.scale(application, 2)
    yield
    looks.scale(application, 1)


def asked(qtbot: QtBot, sentence: str) -> QuestionDialog:
    dialog = QuestionDialog(RESET_QUESTION[0], sentence, OVERTAKEN_ANSWERS, DARK)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def hidden(dialog: MessageDialog) -> int:
    """Pixels of what is said that only scrolling shows."""
    return dialog.said.widget().height() - dialog.said.viewport().height()


@pytest.mark.usefixtures("large_type")
def test_that_a_question_in_large_type_shows_all_its_words_within_the_screen(qtbot: QtBot) -> None:
    dialog = asked(qtbot, RESET_QUESTION[1])
    room = dialog.screen().availableSize()
    assert dialog.width() <= room.width()
    assert dialog.height() <= room.height()
    assert dialog.sentence.height() >= dialog.sentence.heightForWidth(dialog.sentence.width())
    assert hidden(dialog) <= 0


@pytest.mark.usefixtures("large_type")
def test_that_a_question_too_long_for_the_screen_scrolls_and_keeps_its_answers_in_sight(qtbot: QtBot) -> None:
    dialog = asked(qtbot, RESET_QUESTION[1] * 12)
    assert dialog.height() <= dialog.screen().availableSize().height()
    assert hidden(dialog) > 0
    assert dialog.sentence.height() >= dialog.sentence.heightForWidth(dialog.sentence.width())
    for button in dialog.buttons.values():
        assert dialog.rect().contains(button.geometry())
        assert button.width() >= button.sizeHint().width()


@pytest.mark.usefixtures("large_type")
def test_that_a_failures_sentence_is_whole_and_stays_so_above_its_details(qtbot: QtBot) -> None:
    dialog = ErrorDialog(Failure(RESET_QUESTION[1] * 2, "Traceback", False), DARK)
    qtbot.addWidget(dialog)
    dialog.show()
    assert hidden(dialog) <= 0
    dialog.toggle.click()
    assert hidden(dialog) <= 0
    assert dialog.height() <= dialog.screen().availableSize().height()
