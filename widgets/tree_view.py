"""The token tree of one target pass: drawing or table, the scores of one path, and a player over the layers."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAction, QResizeEvent
from PySide6.QtWidgets import QLabel, QSplitter, QStackedLayout, QToolButton, QVBoxLayout, QWidget

from core.analysis.tree_figure import TreeFigure
from widgets.palette import DARK, Theme
from widgets.path_scores import PathScores
from widgets.selection import Selection
from widgets.tree_canvas import STEP, TreeCanvas
from widgets.tree_look import TreeMarks
from widgets.tree_player import TreePlayer
from widgets.tree_table import TreeTable
from widgets.tree_words import node_words, summary

NO_TOKEN = "Select a token to see the tree that its pass ran."
NO_TREE = (
    "This token came from a pass without a tree; choose a tree in the Engine panel, under Token tree, and run again."
)
PREFILL = "The first token comes from the prompt's own pass: no tree was drafted for it."

BESIDE_FROM, LOW = 1.6, 270
"""Width over height from which the scores stand beside the tree and not below it; so they do in a low panel, too."""
_SCORES_SHARE, _LEAST_SCORES, _MOST_SCORES = 0.3, (150, 84), (280, 170)
"""Of the room that the scores take, and between which widths and heights."""


class TreeView(QWidget):
    """Shows one `TreeFigure`. `table_action` is for the header of the panel that shows this."""

    selected = Signal(object)
    """A `Selection` that the user asks for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure: TreeFigure | None = None
        self.selection = Selection()
        self._hovered: int | None = None
        self._own_sizes = False
        self.setAccessibleName("Token tree")
        self._make()
        self._lay_out()
        self._connect()
        self.apply_theme(DARK)
        self.set_figure(None, NO_TOKEN)

    @staticmethod
    def legend_html(theme: Theme) -> str:
        """The panel's subtitle."""
        return (
            f'<span style="color:{theme.accent}">✓</span> accepted &nbsp;'
            f'<span style="color:{theme.accent}">◆</span> bonus &nbsp;'
            f'<span style="color:{theme.caution}">⊘</span> refused &nbsp;'
            f'<span style="color:{theme.right}">❐</span> n-gram'
        )

    def set_figure(self, figure: TreeFigure | None, why_empty: str = NO_TREE) -> None:
        """Show this pass, or the sentence that says why there is none."""
        other = figure is None or self.figure is None or figure.token != self.figure.token
        self.figure = figure
        if other:
            self._hovered = None
        self._pages.setCurrentIndex(1 if figure is None else 0)
        self.message.setText(why_empty if figure is None else "")
        self._show()

    def set_selection(self, selection: Selection) -> None:
        """Highlight this; emits nothing."""
        if selection != self.selection:
            self.selection = selection
            self._show()

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        for part in (self.canvas, self.scores, self.player):
            part.apply_theme(theme)
        self.message.setStyleSheet(f"color: {theme.muted}; background: transparent;")
        self._show()

    def clear(self) -> None:
        """Show no token."""
        self.set_figure(None, NO_TOKEN)

    @property
    def layer(self) -> int:
        """The 0-based layer on show: the selected one as far as the pass ran, else its last."""
        last = self.figure.layers_run - 1 if self.figure else -1
        return last if self.selection.layer is None else min(self.selection.layer, last)

    @property
    def node(self) -> int | None:
        """The selected node, else the one that the selected token was."""
        if self.figure is None:
            return None
        node, token = self.selection.node, self.selection.token
        if node is not None and 0 <= node < len(self.figure.nodes.texts):
            return node
        return None if token is None else self.figure.node_of(token)

    @property
    def lit(self) -> int | None:
        """The path that is lit: the one under the pointer, else the selected node's."""
        if self._hovered is not None or self.figure is None:
            return self._hovered
        return None if self.selection.node is None or self.node is None else self.figure.path_of(self.node)

    def sizeHint(self) -> QSize:
        return QSize(600, 320)

    def minimumSizeHint(self) -> QSize:
        """Less than its parts ask for below each other: a panel must not keep the window from becoming low."""
        return QSize(220, 146)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self.width() > BESIDE_FROM * self.height() or self.height() < LOW
        wanted = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if wanted is not self.splitter.orientation():
            self.splitter.setOrientation(wanted)
            self._own_sizes = False
        if not self._own_sizes:
            self._share()

    def _share(self) -> None:
        """The tree gets most of the room; sizes that the user gave stay."""
        upright = self.splitter.orientation() is Qt.Orientation.Vertical
        room = self.height() - self.player.sizeHint().height() if upright else self.width()
        scores = round(min(max(_SCORES_SHARE * room, _LEAST_SCORES[upright]), _MOST_SCORES[upright]))
        self.splitter.setSizes([max(room - scores, 1), scores])

    @Slot()
    def _keep_sizes(self) -> None:
        self._own_sizes = True

    # ---- what is shown --------------------------------------------------------------------------------------------

    def _show(self) -> None:
        figure, layer, node = self.figure, self.layer, self.node
        token = self.selection.token
        bonus = figure is not None and node is None and token == figure.token + len(figure.accepted)
        self.canvas.show_tree(figure, TreeMarks(layer, self.lit, node, bonus))
        if self.table_action.isChecked():
            self.table.show_tree(figure, layer, node)
        self.player.show_layer(figure, layer)
        if figure is not None:
            self._show_scores(figure)
        self._describe()

    def _show_scores(self, figure: TreeFigure) -> None:
        own = self.node if self.node is not None else (int(figure.accepted[-1]) if len(figure.accepted) else 0)
        path = self.lit if self.lit is not None else figure.path_of(own)
        if figure is not self.scores.figure or path != self.scores.path:
            self.scores.set_path(figure, path)
        self.scores.set_selection(replace(self.selection, layer=self.layer))

    def _describe(self) -> None:
        """What a screen reader says: of the selected node, else of the pass."""
        if self.figure is None:
            words = self.message.text()
        elif self.selection.node is not None and self.node is not None:
            words = node_words(self.figure, self.node, self.layer)
        else:
            words = summary(self.figure, self.layer)
        for widget in (self, self.canvas):
            if words != widget.accessibleDescription():
                widget.setAccessibleDescription(words)
                if QAccessible.isActive():
                    QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged))

    # ---- what the user asks for -----------------------------------------------------------------------------------

    @Slot(int)
    def _want_node(self, node: int) -> None:
        if self.figure is not None:
            became = self.figure.token_of(node)
            token = became if became is not None else self._token()
            self.selected.emit(Selection(token, self.selection.layer, node))

    @Slot(int)
    def _want_layer(self, layer: int) -> None:
        self.selected.emit(Selection(self._token(), layer, self.selection.node))

    @Slot(int)
    def _want_layers(self, by: int) -> None:
        if self.figure is not None:
            self._want_layer(min(max(self.layer + by, 0), max(self.figure.layers_run - 1, 0)))

    @Slot()
    def _want_no_node(self) -> None:
        if self.selection.node is not None:
            self.selected.emit(replace(self.selection, node=None))

    @Slot(object)
    def _hover(self, path: int | None) -> None:
        self._hovered = path
        self._show()

    def _token(self) -> int | None:
        token = self.selection.token
        return self.figure.token if token is None and self.figure is not None else token

    @Slot(bool)
    def _show_table(self, shown: bool) -> None:
        self._twins.setCurrentIndex(1 if shown else 0)
        self._show()
        (self.table if shown else self.canvas).setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def _zoom_in(self) -> None:
        self.canvas.zoom_by(STEP)

    @Slot()
    def _zoom_out(self) -> None:
        self.canvas.zoom_by(1 / STEP)

    # ---- making ---------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        self.canvas, self.table = TreeCanvas(), TreeTable()
        self.scores, self.player = PathScores(), TreePlayer()
        self.message = QLabel()
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setWordWrap(True)
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.table_action = QAction("Table", self, checkable=True)
        self.table_action.setToolTip("Show the nodes as a table, one row a node")
        self.addAction(self.table_action)
        self.zoom_buttons = (
            _button("−", "Zoom out", "Zoom out (−, or Ctrl and the wheel)"),
            _button("+", "Zoom in", "Zoom in (+, or Ctrl and the wheel)"),
            _button("Fit", "Fit the tree", "Show the whole tree (0, or a double click)"),
        )

    def _lay_out(self) -> None:
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(True)
        self.splitter.addWidget(self.canvas)
        self.splitter.addWidget(self.scores)
        self.splitter.setCollapsible(0, False)
        self.splitter.splitterMoved.connect(self._keep_sizes)
        body, twins = QWidget(), QWidget()
        self._twins = QStackedLayout(twins)
        self._twins.addWidget(self.splitter)
        self._twins.addWidget(self.table)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(twins, 1)
        column.addWidget(self.player)
        for button in self.zoom_buttons:
            self.player.add_button(button)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(body)
        self._pages.addWidget(self.message)

    def _connect(self) -> None:
        self.canvas.node_wanted.connect(self._want_node)
        self.canvas.layers_wanted.connect(self._want_layers)
        self.canvas.cleared.connect(self._want_no_node)
        self.canvas.path_hovered.connect(self._hover)
        self.table.node_wanted.connect(self._want_node)
        self.player.layer_wanted.connect(self._want_layer)
        self.scores.selected.connect(self.selected)
        self.table_action.toggled.connect(self._show_table)
        zoom_out, zoom_in, fit = self.zoom_buttons
        zoom_out.clicked.connect(self._zoom_out)
        zoom_in.clicked.connect(self._zoom_in)
        fit.clicked.connect(self.canvas.fit)


def _button(text: str, name: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setProperty("role", "quiet")
    button.setAccessibleName(name)
    button.setToolTip(tip)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return button
