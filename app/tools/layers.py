"""The counterfactual column of the selected token in its panel."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.title_words import token_words, unbroken
from app.tools.tool import NO_RUN, Tool
from core.analysis.layer_rows import LayerColumn, layer_column
from core.trace.events import ExitReason
from core.trace.records import TokenRecord
from widgets.layer_view import LayerView
from widgets.palette import DARK, Theme

NO_TOKEN = "No token is selected.\nClick one to see what each layer would have said of it."
PREFILL = (
    "The first token comes from the prompt’s own pass.\nIt always runs to full depth, and no layer is asked about it; "
    "select a later token."
)
LIVE = (
    "Recorded live: a layer’s own token is known where an exit was checked and where the pass ended. With Record: "
    "audit, in the Engine panel, every layer’s own token, margin and score are kept, and where the token settled."
)


class Layers(Tool):
    """One row a layer; a click selects the layer everywhere."""

    def build(self) -> QWidget:
        self.theme: Theme = DARK
        self.view = LayerView()
        self.view.selected.connect(self.selected)
        return self.view

    def draw(self, first: int | None) -> str | None:
        trace, record = self.trace, self._record()
        if trace is None or trace.started is None or record is None or _from_prefill(record):
            self.panel.set_subtitle("")
            self.view.set_column(None, "", self.selection)
            return PREFILL if record is not None else NO_RUN if trace is None else NO_TOKEN
        column = layer_column(record, trace.started.settings)
        self.view.set_column(column, "" if record.audit is not None else LIVE, self.selection)
        words = " · ".join(filter(None, [token_words(record), settled_words(column)]))
        self.panel.set_subtitle(f"{words} &nbsp;{unbroken(LayerView.legend_html(self.theme))}")
        return None

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.view.apply_theme(theme)
        if not self.panel.is_empty:
            self.draw(None)

    def _record(self) -> TokenRecord | None:
        trace, token = self.trace, self.selection.token
        known = trace is not None and token is not None and token < len(trace.records)
        return trace.records[token] if known and trace is not None and token is not None else None


def _from_prefill(record: TokenRecord) -> bool:
    return record.emitted.reason is ExitReason.PREFILL if record.emitted else record.token == 0


def settled_words(column: LayerColumn) -> str:
    """How many layers were wasted, and between which; the first words are those that a narrow panel keeps."""
    found = column.column
    if found is None:
        return f"left after layer {column.exit_layer}" if column.exit_layer else ""
    places = f"settled at {found.stable_layer}, left at {found.exit_layer}"
    if found.missing:
        return f"left {_layers(found.missing)} before settling · {places}"
    return f"{_layers(found.wasted)} wasted · {places}"


def _layers(count: int) -> str:
    return f"{count} layer{'' if count == 1 else 's'}"
