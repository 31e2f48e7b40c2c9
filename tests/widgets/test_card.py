from __future__ import annotations

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from widgets.card import Card


@pytest.fixture
def card(qtbot: QtBot) -> Card:
    card = Card("Tokens", QLabel("body"))
    qtbot.addWidget(card)
    card.resize(400, 200)
    card.show()
    return card


def test_that_a_card_and_its_view_have_a_name_for_screen_readers(card: Card) -> None:
    assert card.accessibleName() == "Tokens"
    assert card.view.accessibleName() == "Tokens"


def test_that_a_view_keeps_the_name_that_it_has(qtbot: QtBot) -> None:
    view = QWidget()
    view.setAccessibleName("Exit layers over tokens")
    card = Card("Exits", view)
    qtbot.addWidget(card)
    assert view.accessibleName() == "Exit layers over tokens"


def test_that_an_empty_card_shows_words_in_place_of_its_view(card: Card) -> None:
    card.set_empty("No tokens yet\nPress Run.")
    assert not card.view.isVisible()
    assert card.empty_text == "No tokens yet\nPress Run."
    card.set_empty(None)
    assert card.view.isVisible()
    assert card.empty_text is None


def test_that_empty_words_are_never_read_as_markup(card: Card) -> None:
    card.set_empty("<b>bold?</b>\n<img src=x>")
    assert card.empty_text == "<b>bold?</b>\n<img src=x>"
    labels = [label for label in card.findChildren(QLabel) if "<b>" in label.text()]
    assert [label.textFormat().name for label in labels] == ["PlainText"]


@pytest.mark.parametrize("width", [160, 240, 400, 900])
def test_that_no_subtitle_reaches_beyond_its_card(card: Card, width: int) -> None:
    card.set_subtitle("bar = <b>exit layer</b> · " * 40)
    card.resize(width, 300)
    for label in card.findChildren(QLabel):
        if label.isVisible():
            right = label.mapTo(card, label.rect().bottomRight())
            assert right.x() < card.width()
            assert right.y() < card.height()
    assert card.width() == width
    assert card.view.height() > 100


def test_that_header_buttons_do_what_their_action_does(card: Card, qtbot: QtBot) -> None:
    action = QAction("Export", card)
    button = card.add_action(action)
    with qtbot.waitSignal(action.triggered, timeout=1000):
        button.click()


def test_that_a_views_own_actions_are_buttons_of_its_card(qtbot: QtBot) -> None:
    view = QWidget()
    view.addAction(QAction("Copy", view))
    card = Card("Why", view)
    qtbot.addWidget(card)
    assert [button.text() for button in card.findChildren(QToolButton)] == ["Copy"]


def test_that_focus_given_to_a_card_goes_to_its_view(card: Card) -> None:
    assert card.focusProxy() is card.view
