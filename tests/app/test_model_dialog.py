"""The dialog of the first launch."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.model_dialog import ModelDialog, Offer
from app.progress_line import progress_text
from core.progress import Progress
from widgets.palette import DARK

OFFER = Offer("SmolLM2-135M-Instruct", "93 MB", "Apache-2.0", "Python Package Index")


@pytest.fixture
def dialog(qtbot: QtBot) -> ModelDialog:
    dialog = ModelDialog(OFFER, DARK)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_that_it_says_what_would_be_fetched_from_where_and_under_which_licence(dialog: ModelDialog) -> None:
    words = " ".join(label.text() for label in dialog.findChildren(QLabel))
    for fact in ("SmolLM2-135M-Instruct", "93 MB", "Apache-2.0", "Python Package Index"):
        assert fact in words


def test_that_nothing_is_asked_for_before_a_button_is_pressed(dialog: ModelDialog, qtbot: QtBot) -> None:
    with qtbot.waitSignal(dialog.download_requested, timeout=1000):
        dialog.download.click()
    signals = (dialog.folder_requested, dialog.gguf_requested, dialog.hub_requested)
    for action, signal in zip(dialog.other.menu().actions(), signals, strict=True):
        with qtbot.waitSignal(signal, timeout=1000):
            action.trigger()


def test_that_a_download_shows_progress_in_place_of_the_choice(dialog: ModelDialog) -> None:
    dialog.start("Starting")
    dialog.show_progress(Progress("Downloading the default model", 46_500_000, 93_000_000, "bytes"))
    assert dialog.progress.isVisible()
    assert not dialog.download.isVisible()
    assert dialog.progress.text.text() == "Downloading the default model · 46 of 93 MB"
    assert dialog.progress.bar.value() == 500


def test_that_leaving_during_a_download_cancels_it_and_does_not_close(dialog: ModelDialog, qtbot: QtBot) -> None:
    dialog.start("Starting")
    with qtbot.waitSignal(dialog.cancel_requested, timeout=1000):
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert not dialog.progress.cancel.isEnabled()
    dialog.show_choice()
    assert dialog.download.isVisible()


def test_that_a_failed_download_is_told_inline_and_can_be_tried_again(dialog: ModelDialog) -> None:
    dialog.start("Starting")
    dialog.show_error("There is no network; try again later.")
    assert "There is no network" in dialog.note.text()
    assert dialog.download.text() == "Try again"
    assert dialog.download.isVisible()


def test_that_a_long_sentence_is_shown_whole_and_takes_no_room_from_the_words_above(
    dialog: ModelDialog, qtbot: QtBot
) -> None:
    dialog.show_error("It cannot be downloaded because the network does not answer; here is what to do. " * 5)
    qtbot.wait(20)
    for label in dialog.findChildren(QLabel):
        if label.isVisible() and label.wordWrap():
            assert label.height() >= label.heightForWidth(label.width()), label.text()


def test_that_not_now_closes_it(dialog: ModelDialog) -> None:
    dialog.later.click()
    assert not dialog.isVisible()


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress("Starting the engine"), "Starting the engine…"),
        (Progress("Downloading", 5_000_000, 0, "bytes"), "Downloading · 5 MB"),
        (Progress("Downloading", 5_000_000, 93_000_000, "bytes"), "Downloading · 5 of 93 MB"),
        (Progress("Loading", 3, 30, "layers"), "Loading · 3 of 30 layers"),
        (Progress("Converting", 1, 2), "Converting · 1 of 2"),
    ],
)
def test_that_progress_is_told_with_its_unit(progress: Progress, words: str) -> None:
    assert progress_text(progress) == words
