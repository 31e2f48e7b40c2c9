"""The counterfactual column of one token: a table of its layers, and what a live recording lacks."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from core.analysis.layer_rows import LayerColumn
from widgets.layer_table import (
    AGREE_MARKS,
    AGREES,
    COLUMNS,
    NUMBERS,
    SETTLED,
    SPARED,
    STATE,
    TOKEN,
    Index,
    LayerTableModel,
)
from widgets.painting import guarded
from widgets.palette import DARK, Theme
from widgets.selection import Selection
from widgets.small_table import SmallTable


class ExitLine(QStyledItemDelegate):
    """Draws a dotted line above the first layer that the pass did not run."""

    def __init__(self, table: LayerTable) -> None:
        super().__init__(table)
        self._table = table
        self.theme: Theme = DARK

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        column = self._table.rows.column
        if column is not None and 0 < column.exit_layer == index.row():
            with guarded(painter):
                painter.setPen(QPen(QColor(self.theme.muted), 1, Qt.PenStyle.DotLine))
                area = option.rect
                painter.drawLine(area.topLeft(), area.topRight())


class LayerTable(SmallTable):
    """Shows the model; the row with the cursor is the selected layer."""

    bold = NUMBERS | {STATE}
    layer_wanted = Signal(int)
    """The user chose this 0-based layer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._telling = True
        self.rows = LayerTableModel()
        super().__init__("What each layer would have said", self.rows, parent, spare=5)
        self.rows.setParent(self)
        self.line = ExitLine(self)
        self.setItemDelegate(self.line)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.fit([sample for _, _, sample in COLUMNS], TOKEN)

    def restyle(self, small: QFont) -> None:
        self.rows.font = small

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.spare()
        super().resizeEvent(event)

    def spare(self) -> None:
        """Leave out, one by one, what there is no room for; what then remains is never cut."""
        shown = [at for at in range(len(COLUMNS)) if at in SPARED or not self.isColumnHidden(at)]
        needed = sum(map(self.width_of, shown))
        for column in SPARED:
            self.setColumnHidden(column, needed > self.viewport().width())
            needed -= self.width_of(column) if self.isColumnHidden(column) else 0
        self._stretch()

    def show_column(self, column: LayerColumn | None, layer: int | None) -> None:
        """This token's layers, with the cursor on this one; emits nothing."""
        self._telling = False
        other = column is None or self.rows.column is None or column.token != self.rows.column.token
        self.rows.set_column(column)
        if layer is None or column is None or layer >= len(column.rows):
            self.selectionModel().clear()
        elif layer != self.currentIndex().row() or other:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().setCurrentIndex(self.rows.index(layer, 0), flags)
        if other or layer is not None:
            self.reveal()
        self._telling = True

    def reveal(self) -> None:
        """Bring the selected layer into sight, else that of the exit."""
        column, row = self.rows.column, self.currentIndex().row()
        if column is not None:
            at = row if row >= 0 else max((column.exit_layer or len(column.rows)) - 1, 0)
            aside = self.horizontalScrollBar().value()
            self.scrollTo(self.rows.index(at, 0), _ENSURE if row >= 0 else _CENTRE)
            self.horizontalScrollBar().setValue(aside)

    def showEvent(self, event: QShowEvent) -> None:
        """What was scrolled to while the table had no height has to be scrolled to again."""
        super().showEvent(event)
        self.reveal()

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self._telling and current.isValid():
            self.layer_wanted.emit(current.row())


_CENTRE, _ENSURE = QAbstractItemView.ScrollHint.PositionAtCenter, QAbstractItemView.ScrollHint.EnsureVisible


class LayerView(QWidget):
    """Shows one `LayerColumn`."""

    selected = Signal(object)
    """A `Selection` that the user asks for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Layers of the selected token")
        self.selection = Selection()
        self.table = LayerTable()
        self.note = QLabel()
        self.note.setProperty("role", "muted")
        self.note.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.note)
        column.addWidget(self.table, 1)
        self.table.layer_wanted.connect(self._want)

    @staticmethod
    def legend_html(theme: Theme) -> str:
        """The panel's subtitle after the token's own words."""
        stable, passing, other = (AGREE_MARKS[said] for said in reversed(AGREE_MARKS))
        return (
            f'<span style="color:{theme.right}">{stable}</span> final &nbsp;{passing} not for good &nbsp;{other} other'
            f" &nbsp;{SETTLED} settled &nbsp;● exit &nbsp;"
            f'<span style="color:{theme.caution}">⊘</span> refused'
        )

    def set_column(self, column: LayerColumn | None, note: str, selection: Selection) -> None:
        """Show this token's layers; `note` says what its recording lacks."""
        self.selection = selection
        self.note.setText(note)
        self.note.setVisible(bool(note))
        unaudited = column is None or column.column is None
        if self.table.isColumnHidden(AGREES) != unaudited:
            self.table.setColumnHidden(AGREES, unaudited)
            self.table.spare()
        self.table.show_column(column, selection.layer)

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self.table.rows.theme = self.table.line.theme = theme
        self.table.viewport().update()

    def _want(self, layer: int) -> None:
        self.selected.emit(Selection(self.selection.token, layer, self.selection.node))
