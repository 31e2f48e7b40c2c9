"""The outcome ledger: what became of each token's chance to leave early, a class a row, and the tokens of one class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSplitter, QVBoxLayout, QWidget

from core.analysis.ledger import LABELS, MEANINGS, Entry, Ledger, LedgerRow, blame
from core.analysis.wording import bold, counted, joined
from core.trace.events import IntArray
from widgets.palette import Theme
from widgets.rows_table import Column, Row, RowsTable
from widgets.selection import Selection

BESIDE_FROM, LOW = 620, 260
"""Width from which the tokens stand beside the classes and not below them, and height below which they do, too."""
WORDS_FROM = 230
"""Height from which the sentence stands above them."""
MARKS = {
    Entry.RIGHT_EXIT: ("✓", "right"),
    Entry.WRONG_EXIT: ("≠", "wrong"),
    Entry.MISSED_BY_DRAFTER: ("◇", "caution"),
    Entry.MISSED_BY_SCHEDULE: ("▦", "caution"),
    Entry.MISSED_BY_SCORE: ("↓", "caution"),
    Entry.MISSED_BY_GATE: ("⊘", "caution"),
    Entry.NOTHING_TO_GAIN: ("▪", "muted"),
}
"""By class, its mark and the theme's role that it is painted in."""
CLASS_COLUMNS = (
    Column("Class", "What became of the chance to leave early", 19),
    Column("Tokens", "How many", 3, number=True),
    Column("Share", "Of all tokens after the first", 5, number=True),
    Column("Lost", "Layers run after the first at which the token was right for good", 3, number=True),
    Column("Saved", "Layers that early exits left out", 3, number=True),
    Column("Refused", "Proposed exits of these tokens that were refused", 3, number=True),
)
TOKEN_COLUMNS = (
    Column("Token", "Which token, counted from 1", 4, number=True),
    Column("Text", "What was emitted", 10),
    Column("Exit", "Layers run", 2, number=True),
    Column("Layers", "▾ saved by leaving early, ▴ lost by leaving late", 6, number=True),
    Column("Refused", "Proposed exits that were refused", 2, number=True),
)


class LedgerView(QWidget):
    """Shows one `Ledger`. Up and Down choose a class, Enter goes through its tokens, Escape lets go of it."""

    selected = Signal(object)
    """A `Selection` that the user asks for."""
    class_chosen = Signal(object)
    """The `Entry` whose tokens are to be highlighted; None for none."""
    link_chosen = Signal(str)
    """What a link in the note stands for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Ledger")
        self.ledger: Ledger | None = None
        self.entry: Entry | None = None
        """The chosen class."""
        self._tokens: IntArray = np.zeros(0, np.int64)
        self._selection = Selection()
        self._text_of: Callable[[int], str] = str
        self._exit_of: Callable[[int], int] = int
        self._make_words()
        self.classes = RowsTable("Ledger classes", CLASS_COLUMNS, elastic=0)
        self.tokens = RowsTable("Tokens of the class", TOKEN_COLUMNS)
        self._lay_out()
        self.classes.chosen.connect(self._choose)
        self.classes.entered.connect(self.next_token)
        self.classes.escaped.connect(self.let_go)
        self.tokens.chosen.connect(self._choose_token)
        self.tokens.entered.connect(self.next_token)
        self.tokens.escaped.connect(self.let_go)

    def _make_words(self) -> None:
        self.words, self.note = QLabel(), QLabel()
        for label in (self.words, self.note):
            label.setTextFormat(Qt.TextFormat.RichText)
            label.setWordWrap(True)
        self.note.setAccessibleName("How far the run is looked at")
        self.note.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.note.hide()
        self.note.linkActivated.connect(self.link_chosen)

    def show_ledger(self, found: Ledger, text_of: Callable[[int], str], exit_of: Callable[[int], int]) -> None:
        """Show this; `text_of` and `exit_of` give a 0-based token's visible text and exit layer."""
        self.ledger, self._text_of, self._exit_of = found, text_of, exit_of
        told = found.told
        rows = [_class_row(row, told) for row in found.rows]
        self.classes.set_rows(len(rows), rows.__getitem__)
        self.classes.mark(None if self.entry is None else list(LABELS).index(self.entry))
        self.words.setText(joined(blame(found), _refused(found)))
        self._show_tokens()

    def forget(self) -> None:
        """Show no numbers, as they are another run's; the classes stay where they are."""
        self.ledger = self.entry = None
        self.classes.set_rows(len(MARKS), lambda at: _empty_row(list(LABELS)[at]))
        self.classes.mark(None)
        self.words.setText("")
        self.set_note("")
        self._show_tokens()

    def set_note(self, words: str) -> None:
        """How far the tokens are looked at, with a link (minimal HTML); "" takes the line away."""
        self.note.setText(words)
        self.note.setVisible(bool(words))

    def set_selection(self, selection: Selection) -> None:
        """Mark the selected token's row, if it has one; emits nothing."""
        self._selection = selection
        token = selection.token
        at = int(np.searchsorted(self._tokens, token)) if token is not None else len(self._tokens)
        known = at < len(self._tokens) and self._tokens[at] == token
        self.tokens.mark(at if known else None)

    def apply_theme(self, theme: Theme) -> None:
        for table in (self.classes, self.tokens):
            table.apply_theme(theme)

    @Slot()
    def next_token(self) -> None:
        """Select the class's next token after the selected one, the first after the last.

        Where no class is chosen, the one that the cursor stands at is.
        """
        if self.entry is None and self.classes.currentIndex().isValid():
            self._choose(self.classes.currentIndex().row())
            return
        if not len(self._tokens):
            return
        token = self._selection.token
        at = 0 if token is None else int(np.searchsorted(self._tokens, token, "right")) % len(self._tokens)
        self.selected.emit(Selection(int(self._tokens[at])))

    @Slot()
    def let_go(self) -> None:
        """Choose no class."""
        self.entry = None
        self.classes.mark(None)
        self._show_tokens()
        self.class_chosen.emit(None)

    def sizeHint(self) -> QSize:
        return QSize(600, 320)

    def minimumSizeHint(self) -> QSize:
        """Less than its parts ask for: a panel behind others must not keep them from becoming narrow."""
        return QSize(200, 120)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self.width() >= BESIDE_FROM or self.height() < LOW
        self.parts.setOrientation(Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical)
        self.words.setVisible(self.height() >= WORDS_FROM)

    def _lay_out(self) -> None:
        self.parts = QSplitter()
        self.parts.setChildrenCollapsible(False)
        for at, table in enumerate((self.classes, self.tokens)):
            table.setMinimumWidth(80)
            self.parts.addWidget(table)
            self.parts.setStretchFactor(at, 3 - at)
        self.parts.setSizes([640, 360])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.note)
        column.addWidget(self.words)
        column.addWidget(self.parts, 1)

    def _choose(self, row: int) -> None:
        self.entry = list(LABELS)[row]
        self._show_tokens()
        self.class_chosen.emit(self.entry)
        if len(self._tokens):
            self.selected.emit(Selection(int(self._tokens[0])))

    def _choose_token(self, row: int) -> None:
        self.selected.emit(Selection(int(self._tokens[row])))

    def _show_tokens(self) -> None:
        found = self.ledger
        none = found is None or self.entry is None
        self.tokens.setHidden(none)
        self._tokens = np.zeros(0, np.int64) if none else found.tokens(self.entry)  # type: ignore[union-attr,arg-type]
        self.tokens.set_rows(len(self._tokens), self._token_row)
        self.set_selection(self._selection)

    def _token_row(self, at: int) -> Row:
        token, found = int(self._tokens[at]), self.ledger
        assert found is not None, "tokens are those of a ledger"
        saved, lost, refused = (int(one[token - found.first]) for one in (found.saved, found.lost, found.refusals))
        layers = " ".join(filter(None, (f"▾ {saved}" if saved else "", f"▴ {lost}" if lost else ""))) or "–"
        cells = (f"{token + 1}", self._text_of(token), f"{self._exit_of(token)}", layers, f"{refused or '–'}")
        return Row(cells, tip=f"{saved} layers saved, {lost} lost")


def _class_row(row: LedgerRow, told: int) -> Row:
    """`told` are the tokens that have a class."""
    mark, ink = MARKS[row.entry]
    cells = (
        f"{mark}  {row.label}",
        f"{row.count}",
        f"{row.count / told:.1%}" if told else "–",
        f"{row.lost or '–'}",
        f"{row.saved or '–'}",
        f"{row.refused or '–'}",
    )
    return Row(cells, ink=ink, tip=f"{row.label}: {MEANINGS[row.entry]}", faint=not row.count)


def _empty_row(entry: Entry) -> Row:
    mark, ink = MARKS[entry]
    return Row((f"{mark}  {LABELS[entry]}", *("" for _ in CLASS_COLUMNS[1:])), ink=ink, tip=MEANINGS[entry], faint=True)


def _refused(found: Ledger) -> str:
    refused, gated = int(found.refusals.sum()), int(found.gated.sum())
    by_gate = f", {bold(gated)} of them by the gate" if gated else ""
    return f"{counted(refused, 'proposed exit')} refused{by_gate}." if refused else ""
