from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.actions import Actions
from app.toolbar import Scrubber, ToolBar
from app.travel_button import ReplayButton
from widgets.selection import Selection


class Layouts(QObject):
    """Counts how often a widget is asked to lay itself out."""

    def __init__(self, widget: QObject) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.LayoutRequest
        return False


def test_that_a_selection_that_moves_on_does_not_lay_the_toolbar_out_anew(qtbot: QtBot) -> None:
    owner = QObject()
    actions = Actions(owner)
    scrubber = Scrubber(actions, ReplayButton(actions))
    qtbot.addWidget(scrubber)
    with qtbot.waitExposed(scrubber):
        scrubber.show()
    scrubber.show_tokens(9, Selection(8))
    QApplication.processEvents()
    layouts = Layouts(scrubber)
    for token in range(9, 120):
        scrubber.show_tokens(token + 1, Selection(token))
    QApplication.processEvents()
    assert layouts.count == 0
    assert scrubber.label.text() == "token 120 / 120"
    scrubber.show_tokens(120_000, Selection(119_999, layer=29))
    QApplication.processEvents()
    assert layouts.count > 0
    assert scrubber.label.width() >= scrubber.label.sizeHint().width()


def test_that_the_scrubber_stays_in_sight_when_its_words_grow(qtbot: QtBot) -> None:
    owner = QObject()
    tools = ToolBar(Actions(owner), QMenu())
    qtbot.addWidget(tools)
    tools.scrubber.show_tokens(64, Selection(2))
    with qtbot.waitExposed(tools):
        tools.show()
    tools.resize(tools.sizeHint())
    QApplication.processEvents()
    assert tools.scrubber.isVisible()
    tools.scrubber.show_tokens(64, Selection(6, 22))  # its place is beside the buttons, not behind the bar's end
    icons = Qt.ToolButtonStyle.ToolButtonIconOnly
    qtbot.waitUntil(lambda: tools.scrubber.isVisible() and tools._plain[0].toolButtonStyle() is icons)
    tools.resize(720, tools.height())
    qtbot.waitUntil(lambda: tools.scrubber.isVisible() and not tools.replay.isVisible())  # buttons go before it
    tools.resize(2000, tools.height())
    qtbot.waitUntil(tools.replay.isVisible)


def test_that_the_position_is_whole_in_larger_type_and_gives_the_room_back_in_smaller(qtbot: QtBot) -> None:
    owner = QObject()
    actions = Actions(owner)
    scrubber = Scrubber(actions, ReplayButton(actions))
    qtbot.addWidget(scrubber)
    scrubber.show_tokens(64, Selection(6, 22))
    before = scrubber.label.maximumWidth()
    scrubber.setStyleSheet("QToolButton { font-size: 30pt }")
    assert scrubber.label.width() >= scrubber.label.fontMetrics().horizontalAdvance(scrubber.label.text()) > before
    scrubber.setStyleSheet("")
    assert scrubber.label.maximumWidth() == before
