"""What the panels show and what the terms mean, in one window beside the other: a list to search, and the text."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSplitter,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from app.explanations import Entry, explanations
from app.forms import named
from app.glossary import found, terms
from app.named_keys import with_keys

SIZE = (760, 520)
LIST_WIDTH = 210
ENTRY = Qt.ItemDataRole.UserRole
GROUPS = ("Panels", "Terms")
LINE_HEIGHT = 135.0
"""Of a text's lines, in percent of their type."""


class ExplanationsDialog(QDialog):
    """Stays open beside the window. Links lead from term to term, Back returns."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("What am I looking at?")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.search = named(QLineEdit(), "Search panels and terms", "Show what holds all of these words")
        self.search.setPlaceholderText("Search")
        self.search.setClearButtonEnabled(True)
        self.list = named(QListWidget(), "Panels and terms", "Choose what is to be explained")
        self.text = QTextBrowser()
        self.text.setAccessibleName("Explanation")
        self.text.setOpenLinks(False)
        self.text.document().setDocumentMargin(10)
        self.back = QPushButton("&Back")
        self.back.setToolTip("Return to what was read before (Alt+Left)")
        self.back.setShortcut("Alt+Left")
        self.close_button = QPushButton("&Close")
        for button in (self.back, self.close_button):
            button.setAutoDefault(False)
        self._read: list[Entry] = []
        """What was read, the newest last."""
        self._lay_out()
        self._connect()
        self._fill("")

    def show_entry(self, entry: Entry) -> None:
        """Explain this, as the user asks for it."""
        if not self._read or self._read[-1] != entry:
            self._read.append(entry)
        self._show()

    @property
    def entry(self) -> Entry | None:
        """What is explained now."""
        return self._read[-1] if self._read else None

    def show_terms(self) -> None:
        """Bring the terms into sight, ready to be searched."""
        self.show_entry(terms()[0])
        self.list.scrollToItem(self.list.currentItem(), QAbstractItemView.ScrollHint.PositionAtTop)
        self.search.setFocus()

    def _lay_out(self) -> None:
        left = QWidget()
        side = QVBoxLayout(left)
        side.setContentsMargins(0, 0, 0, 0)
        side.addWidget(self.search)
        side.addWidget(self.list, 1)
        split = QSplitter()
        split.setChildrenCollapsible(False)
        split.addWidget(left)
        split.addWidget(self.text)
        split.setSizes([LIST_WIDTH, SIZE[0] - LIST_WIDTH])
        foot = QHBoxLayout()
        foot.addWidget(self.back)
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 14)
        column.setSpacing(12)
        column.addWidget(split, 1)
        column.addLayout(foot)
        self.resize(*SIZE)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._fill)
        self.search.returnPressed.connect(self.list.setFocus)
        self.list.currentItemChanged.connect(self._choose)
        self.text.anchorClicked.connect(self.follow)
        self.back.clicked.connect(self._go_back)
        self.close_button.clicked.connect(self.reject)

    @Slot(str)
    def _fill(self, words: str) -> None:
        """List what holds these words, in two groups."""
        self.list.blockSignals(True)
        self.list.clear()
        for name, entries in zip(GROUPS, (explanations(), terms()), strict=True):
            matching = found(entries, words)
            if matching:
                self._add_heading(name)
            for entry in matching:
                item = QListWidgetItem(entry.title, self.list)
                item.setData(ENTRY, entry)
        self.list.blockSignals(False)
        self._mark()

    def _add_heading(self, name: str) -> None:
        item = QListWidgetItem(name, self.list)
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        font = item.font()
        font.setBold(True)
        item.setFont(font)

    @Slot(QUrl)
    def follow(self, link: QUrl) -> None:
        """Explain the term that a link names."""
        self.show_entry(next(entry for entry in terms() if entry.slug == link.fragment()))

    @Slot(QListWidgetItem)
    def _choose(self, item: QListWidgetItem | None) -> None:
        entry = item.data(ENTRY) if item is not None else None
        if isinstance(entry, Entry):
            self.show_entry(entry)

    @Slot()
    def _go_back(self) -> None:
        self._read.pop()
        self._show()

    def _show(self) -> None:
        entry = self._read[-1]
        self.text.setMarkdown(with_keys(f"## {entry.title}\n\n{entry.text}"))
        _space_lines(self.text.document())
        self.back.setEnabled(len(self._read) > 1)
        self._mark()

    def _mark(self) -> None:
        """Put the list's cursor on what is explained, where it is in the list."""
        self.list.blockSignals(True)
        rows = range(self.list.count())
        at = next((row for row in rows if self.list.item(row).data(ENTRY) == self.entry), -1)
        self.list.setCurrentRow(at if self.entry is not None else -1)
        self.list.blockSignals(False)


def _space_lines(document: QTextDocument) -> None:
    """Set lines apart, so that long ones are followed with ease."""
    spaced = QTextBlockFormat()
    spaced.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    cursor.mergeBlockFormat(spaced)
