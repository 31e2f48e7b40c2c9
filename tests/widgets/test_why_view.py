from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication, QPaintEvent, QRegion, QTextCursor
from PySide6.QtWidgets import QApplication, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from widgets import theme as looks
from widgets.palette import DARK, LIGHT, Theme
from widgets.why_view import WhyView


@pytest.fixture
def view(qtbot: QtBot) -> WhyView:
    view = WhyView()
    qtbot.addWidget(view)
    view.resize(400, 80)
    view.show()
    return view


def editor(view: WhyView) -> QTextEdit:
    found = view.findChild(QTextEdit)
    assert found is not None
    return found


def test_that_the_copy_is_plain_text_with_ordinary_spaces(view: WhyView) -> None:
    view.set_text("<b>Layer 23</b>: score <b>0.71</b> &gt; <b>0.50</b>, says <b>‘\u00a0blue’</b>")
    view.copy_action.trigger()
    assert QGuiApplication.clipboard().text() == "Layer 23: score 0.71 > 0.50, says ‘ blue’"
    assert view.copy_action.text() == "Copied ✓"


def test_that_there_is_nothing_to_copy_until_there_is_a_paragraph(view: WhyView) -> None:
    assert not view.copy_action.isEnabled()
    view.set_text("<b>Token 1</b>")
    assert view.copy_action.isEnabled()
    view.clear()
    assert not view.copy_action.isEnabled()
    assert view.text() == ""


def test_that_the_text_cannot_be_edited_and_tab_leaves_it(view: WhyView) -> None:
    assert editor(view).isReadOnly()
    assert editor(view).tabChangesFocus()


def test_that_setting_the_same_paragraph_again_keeps_what_the_reader_selected(view: WhyView) -> None:
    view.set_text("<b>Token 1</b> comes from prefill.")
    editor(view).selectAll()
    view.set_text("<b>Token 1</b> comes from prefill.")
    assert editor(view).textCursor().hasSelection()
    view.set_text("<b>Token 2</b>")
    assert not editor(view).textCursor().hasSelection()


def test_that_numbers_stand_out_from_the_words_in_both_themes(view: WhyView) -> None:
    view.set_text("word <b>12</b>")
    for theme in (DARK, LIGHT):
        view.apply_theme(theme)
        cursor = QTextCursor(editor(view).document())
        cursor.setPosition(2)
        words = cursor.charFormat()
        cursor.setPosition(7)
        number = cursor.charFormat()
        assert number.fontWeight() > words.fontWeight()
        assert number.foreground().color().name() == theme.text
        assert words.foreground().color().name() != theme.text


def test_that_a_screen_reader_gets_the_paragraph(view: WhyView) -> None:
    view.set_text("<b>Layer 3</b> ran.")
    assert editor(view).accessibleDescription() == "Layer 3 ran."


def test_that_a_long_paragraph_is_shown_from_its_start_and_none_before_it_is_kept(view: WhyView) -> None:
    for token in range(3):
        view.set_text(f"<b>Token {token}</b> " + "is told of at length, " * 80 + f"<b>{token}</b>.")
        bar = editor(view).verticalScrollBar()
        assert bar.maximum() > 0
        assert bar.value() == 0
        assert view.text().startswith(f"Token {token} is told")
        bar.setValue(bar.maximum())
    assert not editor(view).document().isUndoAvailable()
    assert editor(view).document().blockCount() == 1
    view.clear()
    assert editor(view).document().isEmpty()  # so that the placeholder is seen


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_nothing_of_a_longer_paragraph_or_another_theme_stays(view: WhyView, qtbot: QtBot, theme: Theme) -> None:
    fresh = WhyView()
    qtbot.addWidget(fresh)
    fresh.resize(view.size())
    fresh.apply_theme(theme)
    fresh.set_text("<b>Token 2</b>")
    view.set_text("Before it a longer one stood here, " * 8)
    canvas = view.grab()
    view.apply_theme(theme)
    view.set_text("<b>Token 2</b>")
    view.render(canvas, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)  # over what was there, as on a screen
    inner = editor(view).viewport().geometry().translated(editor(view).pos())
    assert canvas.copy(inner).toImage() == fresh.grab(inner).toImage()
    assert canvas.toImage().pixelColor(inner.bottomRight() - QPoint(4, 4)).name() == theme.surface


def test_that_a_new_paragraph_has_nothing_painted_that_lies_below_it(qtbot: QtBot) -> None:
    painted = []

    class Ground(QWidget):
        def paintEvent(self, event: QPaintEvent) -> None:
            painted.append(event.rect())

    ground = Ground()
    qtbot.addWidget(ground)
    view = WhyView(ground)
    ground.setStyleSheet(looks.stylesheet(DARK, 10))  # with which the text has no ground but its own
    view.resize(400, 80)
    ground.resize(view.size())
    with qtbot.waitExposed(ground):
        ground.show()
    QApplication.processEvents()
    assert painted
    painted.clear()
    view.set_text("<b>Token 2</b>")
    QApplication.processEvents()
    assert not painted
