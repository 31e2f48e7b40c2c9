"""What Copy puts on the clipboard: rows of a table, a token's text, or the picture of a view."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QMimeData, QModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QWidget

from app.export_picture import widget_image
from core.analysis.why import why_plain
from core.report.table import Row, Table
from core.trace.reading import ReadableTrace
from widgets.selection import Selection


def token_text(trace: ReadableTrace, token: int | None) -> str:
    """A token's text as the model wrote it; the whole text where none is selected."""
    if token is None or token >= trace.emitted_count:
        return trace.text_bytes.decode("utf-8", errors="replace")
    return trace.overview.texts[token].decode("utf-8", errors="replace")


def why_text(trace: ReadableTrace, selection: Selection) -> str:
    """The why panel's words."""
    return why_plain(trace, selection.token, selection.layer)


def rows_text(view: QAbstractItemView) -> str:
    """The selected rows of a table, or all, a line each with tabs between the cells."""
    return "\n".join("\t".join(cell.replace("\t", " ") for cell in row) for row in _rows(view, selected=True))


def table_of(view: QAbstractItemView) -> Table:
    """Everything that a table shows, as it is written there."""
    model = view.model()
    titles = [str(model.headerData(at, Qt.Orientation.Horizontal) or "") for at in _columns(model)]
    return Table(tuple(titles), _rows(view, selected=False))


def picture(view: QWidget) -> QMimeData:
    """A view's picture, and in words what it says to a screen reader."""
    data = QMimeData()
    data.setImageData(widget_image(view))
    if words := view.accessibleDescription() or view.accessibleName():
        data.setText(words)
    return data


def find_table(view: QWidget) -> QAbstractItemView | None:
    """The table in a view that has something in it; None where there is none."""
    found = [view] if isinstance(view, QAbstractItemView) else view.findChildren(QAbstractItemView)
    return next((one for one in found if one.model() is not None and one.model().rowCount()), None)


def _rows(view: QAbstractItemView, *, selected: bool) -> list[Row]:
    model, chosen = view.model(), view.selectionModel()
    rows = sorted({index.row() for index in chosen.selectedIndexes()}) if selected and chosen else []
    return [[_text(model.index(row, at)) for at in _columns(model)] for row in rows or range(model.rowCount())]


def _columns(model: QAbstractItemModel) -> range:
    return range(1 if isinstance(model, QAbstractListModel) else model.columnCount())  # which a list keeps private


def _text(index: QModelIndex) -> str:
    value = index.data()
    return "" if value is None else str(value)
