"""The drawing of a token tree: zoom, pan, hover, keys."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QFrame, QGraphicsScene, QGraphicsView, QToolTip, QWidget

from core.analysis.tree_figure import TreeFigure
from widgets.painting import guarded
from widgets.palette import DARK, Theme
from widgets.tree_boxes import BoxesItem
from widgets.tree_look import TreeLook, TreeMarks
from widgets.tree_ribbons import RibbonsItem, TreeItem, WalkItem
from widgets.tree_shape import NodeFonts, TreeShape
from widgets.tree_words import node_words, path_text

ROOMY_FROM = 0.8
"""Zoom below which boxes of one line read better than smaller ones of two."""
READABLE, MOST_FIT = 0.6, 1.15
"""Between these the whole tree is made to fit; a larger one is scrolled, until the user asks to see all of it."""
LEAST, MOST = 0.3, 4.0
LEAST_STRETCH, MOST_STRETCH = 6.0, 64.0
"""Pixels by which the gaps between columns may grow, so that ribbons are less steep."""
STEP = 1.2


class TreeCanvas(QGraphicsView):
    """Shows a `TreeLook`. Arrows walk the nodes; Ctrl+wheel, + and − zoom, 0 fits; dragging pans."""

    node_wanted = Signal(int)
    """The user chose this node."""
    layers_wanted = Signal(int)
    """Page keys ask to go so many layers on."""
    cleared = Signal()
    """The user lets the selected node go: Escape, or a click beside everything."""
    path_hovered = Signal(object)
    """The path under the pointer, or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.look: TreeLook | None = None
        self._theme: Theme = DARK
        self._fitted, self._least_fit = True, READABLE
        self._hovered: int | None = None
        self._pressed: QPoint | None = None
        self._items: tuple[TreeItem, ...] = (RibbonsItem(0), WalkItem(1), BoxesItem(2))
        scene = QGraphicsScene(self)
        for item in self._items:
            scene.addItem(item)
        self.setScene(scene)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("Token tree")
        self.setMinimumSize(140, 80)

    @property
    def zoom(self) -> float:
        return float(self.transform().m11())

    @property
    def fitted(self) -> bool:
        """Whether the zoom follows the tree and the room, as it does until the user zooms."""
        return self._fitted

    def show_tree(self, figure: TreeFigure | None, marks: TreeMarks) -> None:
        """Draw this figure with these marks."""
        before = self.look
        if figure is None:
            self.look = self._hovered = None
        else:
            known = before is not None and before.figure is figure
            shape = before.shape if known and before is not None else self._shape_for(figure)
            self.look = TreeLook(figure, shape, self._theme, marks, self.hasFocus())
        self._show(before)

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.setBackgroundBrush(QColor(theme.surface))
        self._renew(theme=theme)

    def fit(self) -> None:
        """Show the whole tree, however large, and from now on each one that comes."""
        self._fitted, self._least_fit = True, LEAST
        self._refit()

    def _refit(self) -> None:
        if self.look is None:
            return
        self._renew(shape=self._shape_for(self.look.figure))
        self._fit_shape(self.look.shape)

    def zoom_by(self, factor: float) -> None:
        """Larger or smaller, as the user asks; the zoom stays from now on."""
        self._fitted = False
        self._set_zoom(self.zoom * factor)

    def sizeHint(self) -> QSize:
        return QSize(420, 240)

    # ---- keyboard and mouse ---------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        plain = not event.modifiers() & _OTHER_MODIFIERS
        if self.look is None or not plain or not self._take_key(key):
            event.ignore()  # not to the scroll area: it would scroll, and these keys must mean one thing only

    def _take_key(self, key: Qt.Key) -> bool:
        if key in _ZOOMS:
            self.zoom_by(_ZOOMS[key])
        elif key == Qt.Key.Key_0:
            self.fit()
        elif key == Qt.Key.Key_Escape:
            self.cleared.emit()
        elif key in _PAGES:
            self.layers_wanted.emit(_PAGES[key])
        elif (node := self.stepped(key)) is not None:
            self.node_wanted.emit(node)
        else:
            return False
        return True

    def stepped(self, key: Qt.Key) -> int | None:
        """The node to which an arrow key leads from the selected one."""
        if self.look is None or key not in _ARROWS:
            return None
        nodes, rects = self.look.figure.nodes, self.look.shape.rects
        now = 0 if self.look.node is None else self.look.node
        way = self._way(now)
        at = way.index(now)
        match key:
            case Qt.Key.Key_Left:
                return way[max(at - 1, 0)]
            case Qt.Key.Key_Right:
                return way[min(at + 1, len(way) - 1)]
            case Qt.Key.Key_Home:
                return 0
            case Qt.Key.Key_End:
                return way[-1]
        level = sorted(
            (n for n in range(len(rects)) if nodes.levels[n] == nodes.levels[now]), key=lambda n: rects[n].top()
        )
        place = level.index(now) + (1 if key == Qt.Key.Key_Down else -1)
        return level[min(max(place, 0), len(level) - 1)]

    def _way(self, node: int) -> list[int]:
        """The path on which the keys go on from a node."""
        assert self.look is not None
        paths = self.look.figure.paths.nodes
        lit = self.look.lit
        path = lit if lit is not None and node in paths[lit] else self.look.figure.path_of(node)
        return [int(n) for n in paths[path]]

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            turns = event.angleDelta().y() / 120
            self.zoom_by(STEP**turns)
            event.accept()
        else:
            super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        at, pressed, self._pressed = event.position().toPoint(), self._pressed, None
        still = pressed is not None and (at - pressed).manhattanLength() < QApplication.startDragDistance()
        if still and event.button() is Qt.MouseButton.LeftButton:
            self._choose(at)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._node_under(event.position().toPoint()) is None:
            self.fit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._pressed is None:
            self._hover(event.position().toPoint())

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Leave:
            self._tell_hovered(None)
        elif isinstance(event, QHelpEvent):
            self._show_tool_tip(event)
            return True
        return super().viewportEvent(event)

    def _choose(self, at: QPoint) -> None:
        node = self._node_under(at)
        path = self._path_under(at) if node is None else None
        if node is None and path is not None and self.look is not None:
            node = int(self.look.figure.paths.leaves[path])
        if node is not None:
            self.node_wanted.emit(node)
        else:
            self.cleared.emit()

    def _hover(self, at: QPoint) -> None:
        node = self._node_under(at)
        self.viewport().setCursor(
            Qt.CursorShape.PointingHandCursor if node is not None else Qt.CursorShape.OpenHandCursor
        )
        if node is not None and self.look is not None:
            self._tell_hovered(self.look.figure.path_of(node))
        else:
            self._tell_hovered(self._path_under(at))

    def _tell_hovered(self, path: int | None) -> None:
        if path != self._hovered:
            self._hovered = path
            self.path_hovered.emit(path)

    def _node_under(self, at: QPoint) -> int | None:
        return self.look.shape.node_at(self.mapToScene(at)) if self.look else None

    def _path_under(self, at: QPoint) -> int | None:
        return self.look.shape.path_at(QPointF(self.mapToScene(at))) if self.look else None

    def _show_tool_tip(self, event: QHelpEvent) -> None:
        node, path = self._node_under(event.pos()), self._path_under(event.pos())
        if self.look is None or (node is None and path is None):
            QToolTip.hideText()
            return
        words = node_words(self.look.figure, node, self.look.layer) if node is not None else ""
        words = words or path_text(self.look.figure, path or 0)
        # Rich text, because only that wraps.
        QToolTip.showText(event.globalPos(), f"<p>{html.escape(words)}</p>", self.viewport())

    # ---- geometry and painting ------------------------------------------------------------------------------------

    def _shape_for(self, figure: TreeFigure) -> TreeShape:
        """The geometry in which a figure is shown: one line a box where two would have to be much smaller."""
        roomy = TreeShape(figure, NodeFonts(self.font(), compact=False))
        if self._whole_scale(roomy) >= ROOMY_FROM:
            return self._stretched(roomy)
        compact = TreeShape(figure, NodeFonts(self.font(), compact=True))
        return self._stretched(compact if self._whole_scale(compact) > self._whole_scale(roomy) else roomy)

    def _stretched(self, shape: TreeShape) -> TreeShape:
        """With wider gaps between the columns where a high tree leaves room beside it."""
        free = self.maximumViewportSize().width() / self._scale_of(shape) - shape.bounds.width()
        stretch = min(free / max(shape.columns - 1, 1), MOST_STRETCH)
        return TreeShape(shape.figure, shape.fonts, stretch) if stretch > LEAST_STRETCH else shape

    def _fit_shape(self, shape: TreeShape) -> None:
        self.scene().setSceneRect(shape.bounds)
        self._set_zoom(self._scale_of(shape))
        self.centerOn(shape.bounds.center())
        self._bring_into_sight()

    def _show(self, before: TreeLook | None) -> None:
        for item in self._items:
            item.show_look(self.look)
        if self.look is None:
            return
        if before is not None and before.shape is self.look.shape:
            node = self.look.node
            if node is not None and node != before.node:
                self.ensureVisible(self.look.shape.rects[node], 12, 12)
            return
        self._hovered = None
        self.scene().setSceneRect(self.look.shape.bounds)
        if self._fitted:
            self._fit_shape(self.look.shape)
        elif before is None or before.figure.token != self.look.figure.token:
            self._bring_into_sight()

    def _renew(self, **changes: Any) -> None:
        """The same tree in another look."""
        if self.look is not None:
            self.look = replace(self.look, **changes)
            for item in self._items:
                item.show_look(self.look)

    def _scale_of(self, shape: TreeShape) -> float:
        return min(max(self._whole_scale(shape), self._least_fit), MOST_FIT)

    def _whole_scale(self, shape: TreeShape) -> float:
        """The zoom at which the whole tree just fits, without scroll bars."""
        room, bounds = self.maximumViewportSize(), shape.bounds
        return min((room.width() - 2) / bounds.width(), (room.height() - 2) / bounds.height())

    def _set_zoom(self, zoom: float) -> None:
        factor = min(max(zoom, LEAST), MOST) / self.zoom
        self.scale(factor, factor)

    def _bring_into_sight(self) -> None:
        """Show the way to what is selected, or else to what was accepted; of what is too long, its end."""
        if self.look is None:
            return
        figure, rects = self.look.figure, self.look.shape.rects
        node = self.look.node if self.look.node is not None else ([0, *figure.accepted.tolist()])[-1]
        for step in figure.nodes.chain(node):
            self.ensureVisible(rects[step], 12, 12)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._fitted:
            self._refit()

    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """The focus ring around everything, while no node has one."""
        if self.hasFocus() and (self.look is None or self.look.node is None):
            with guarded(painter):
                painter.resetTransform()
                painter.setPen(QPen(QColor(self._theme.accent), 1))
                painter.drawRoundedRect(self.viewport().rect().adjusted(0, 0, -1, -1), 5, 5)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._renew(focused=True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._renew(focused=False)


_ARROWS = frozenset(Qt.Key[f"Key_{name}"] for name in ("Left", "Right", "Up", "Down", "Home", "End"))
_PAGES = {Qt.Key.Key_PageUp: -1, Qt.Key.Key_PageDown: 1}
_ZOOMS = {Qt.Key.Key_Plus: STEP, Qt.Key.Key_Equal: STEP, Qt.Key.Key_Minus: 1 / STEP}
_OTHER_MODIFIERS = (
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
)
