"""The panel of bookmarks and of the search: two pages, one in sight."""

from __future__ import annotations

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.forms import labelled, named
from app.toolbar import action_button
from app.tools.find_form import FindForm
from widgets.found_table import FoundTable
from widgets.mark_table import MarkTable

NO_MARK = (
    "No bookmark yet. Ctrl+B sets one at the selected token; with F2 a note can be written beside it. Bookmarks and "
    "notes are saved with the session."
)
NOTHING_ASKED = "Enter or F3 goes from one token found to the next."
PAGES = (("Bookmarks", "left", "Bookmarks and notes"), ("Find", "right", "Find tokens (Ctrl+F)"))


class MarksView(QWidget):
    """Bookmarks with their notes, or the search with what it found."""

    def __init__(self, find_actions: tuple[QAction, QAction]) -> None:
        """`find_actions` go to the token found before and to the next one."""
        super().__init__()
        self.marks, self.found, self.form = MarkTable(), FoundTable(), FindForm()
        self.hint, self.count = labelled(NO_MARK, "muted"), labelled(NOTHING_ASKED, "muted")
        for label in (self.hint, self.count):
            label.setWordWrap(True)
        self.note = named(QPushButton("Note"), "Write a note", "Write beside the chosen bookmark (F2)")
        self.remove = named(QPushButton("Remove"), "Remove bookmark", "Take the chosen bookmark away (Delete)")
        self.highlight = named(
            QCheckBox("Mark in the views"), "Mark in the views", "Mark the tokens found in token strip and exit layers"
        )
        self._actions = find_actions
        self.pages = QStackedWidget()
        self.pages.addWidget(self._mark_page())
        self.pages.addWidget(self._find_page())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(self._page_buttons())
        column.addWidget(self.pages, 1)

    def minimumSizeHint(self) -> QSize:
        """Less than its parts ask for: a panel behind others must not keep them from becoming low."""
        return QSize(200, 140)

    @Slot()
    def show_find(self) -> None:
        """Bring the search to the front, its text ready to be replaced."""
        self._pages.button(1).setChecked(True)
        self.pages.setCurrentIndex(1)
        self.form.text.setFocus()
        self.form.text.selectAll()

    def _page_buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(0)
        self._pages = QButtonGroup(self)
        for page, (text, end, tip) in enumerate(PAGES):
            button = named(QToolButton(), text, tip)
            button.setText(text)
            button.setProperty("role", "segment")
            button.setProperty("end", end)
            button.setCheckable(True)
            button.setChecked(not page)
            self._pages.addButton(button, page)
            row.addWidget(button)
        row.addStretch(1)
        self._pages.idClicked.connect(self.pages.setCurrentIndex)
        return row

    def _mark_page(self) -> QWidget:
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.note)
        buttons.addWidget(self.remove)
        page, column = _page()
        column.addWidget(self.hint)
        column.addWidget(self.marks, 1)
        column.addLayout(buttons)
        column.addStretch()
        return page

    def _find_page(self) -> QWidget:
        row = QHBoxLayout()
        row.setSpacing(2)
        row.addWidget(self.count, 1)
        for action in self._actions:
            row.addWidget(action_button(action, text=False))
        page, column = _page()
        column.addWidget(self.form)
        column.addLayout(row)
        column.addWidget(self.found, 1)
        column.addWidget(self.highlight)
        column.addStretch()
        return page


def _page() -> tuple[QWidget, QVBoxLayout]:
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(8)
    return page, column
