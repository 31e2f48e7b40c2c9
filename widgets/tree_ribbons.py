"""The paths of a token tree as ribbons, one a hyper-token, and the walk that a check took along them."""

from __future__ import annotations

from abc import abstractmethod

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from core.analysis.tree_figure import Stage, Walk
from widgets.painting import guarded
from widgets.plot_marks import draw_refusals
from widgets.theme import mixed
from widgets.tree_look import TreeLook

_BAND = 15.0
"""Width of the band behind the accepted path."""


class TreeItem(QGraphicsItem):
    """Covers the whole tree and paints a part of it."""

    def __init__(self, depth: float) -> None:
        super().__init__()
        self.look: TreeLook | None = None
        self.setZValue(depth)

    def show_look(self, look: TreeLook | None) -> None:
        """Paint this from now on."""
        if self.look is None or look is None or self.look.shape is not look.shape:
            self.prepareGeometryChange()
        self.look = look
        self.update()

    def boundingRect(self) -> QRectF:
        return QRectF(self.look.shape.bounds) if self.look else QRectF()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self.look is None:
            return
        with guarded(painter):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self.draw(painter, self.look)

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def draw(self, painter: QPainter, look: TreeLook) -> None:
        """Paint what this look has of it."""


class RibbonsItem(TreeItem):
    """A ribbon a path: quiet, tinted where the path is proposed at this layer, bright where it is lit."""

    def draw(self, painter: QPainter, look: TreeLook) -> None:
        proposed = look.figure.proposed_at(look.layer)
        for path, ribbon in enumerate(look.shape.ribbons):
            if path != look.lit:
                painter.setPen(self._pen(look, bool(proposed[path]), dim=look.lit is not None))
                painter.drawPath(ribbon)
        if look.lit is not None:
            painter.setPen(_pen(look.theme.surface, max(look.shape.lane, 2.5) + 3))
            painter.drawPath(look.shape.ribbons[look.lit])
            painter.setPen(_pen(look.theme.text, max(look.shape.lane - 1, 2.5)))
            painter.drawPath(look.shape.ribbons[look.lit])
        for path in range(len(look.shape.ribbons)):
            self._draw_exit(painter, look, path)

    def _pen(self, look: TreeLook, proposed: bool, dim: bool) -> QPen:
        theme = look.theme
        colour = mixed(theme.accent, theme.surface, 0.35) if proposed else mixed(theme.line, theme.muted, 0.22)
        gap = 1.0 if look.shape.lane >= 3 else 0.0
        pen = QPen(look.paler(colour, dim), look.shape.lane - gap)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        return pen

    def _draw_exit(self, painter: QPainter, look: TreeLook, path: int) -> None:
        """Behind the leaf, the exit of the whole path: the rearmost of its nodes'."""
        leaf, exit_layer = int(look.figure.paths.leaves[path]), look.path_exit(path)
        walk = look.walk
        at_slot = walk is not None and walk.broke_at < 0 and int(walk.nodes[-1]) == leaf
        if not exit_layer or at_slot:
            return
        rect, fonts = look.shape.rects[leaf], look.shape.fonts
        dim = look.lit not in (None, path)
        square = QRectF(rect.right() + 6, rect.center().y() - 3, 6, 6)
        painter.fillRect(square, look.paler(look.colour(exit_layer).name(), dim))
        painter.setFont(fonts.small)
        painter.setPen(look.paler(look.theme.muted, dim))
        place = QRectF(square.right() + 3, rect.top(), 40, rect.height())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, f"{exit_layer}")


class WalkItem(TreeItem):
    """The check at this layer: the accepted path as a broad band with a solid line, its bonus beyond a dotted one; a
    refused walk as a dashed line that ends in ⊘."""

    def draw(self, painter: QPainter, look: TreeLook) -> None:
        walk = look.walk
        if walk is None:
            return
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if walk.accepted and look.stage is Stage.EXIT:
            self._draw_accepted(painter, look, walk)
        else:
            self._draw_refused(painter, look, walk)

    def _draw_accepted(self, painter: QPainter, look: TreeLook, walk: Walk) -> None:
        nodes = walk.nodes.tolist()
        line = look.shape.line(nodes)
        slot = look.shape.slot_of(nodes[-1])
        onward = look.shape.leads_to(slot, nodes[-1]) if slot is not None else None
        for path in filter(None, (line, onward)):
            painter.setPen(_pen(look.theme.selection, _BAND))
            painter.drawPath(path)
        painter.setPen(_pen(look.theme.accent, 3))
        painter.drawPath(line)
        if onward is not None:
            painter.setPen(_pen(look.theme.accent, 3, (0.1, 2.0)))
            painter.drawPath(onward)

    def _draw_refused(self, painter: QPainter, look: TreeLook, walk: Walk) -> None:
        shape, nodes = look.shape, walk.nodes.tolist()
        end = shape.rects[walk.broke_at] if walk.broke_at >= 0 else shape.slot_of(nodes[-1])
        painter.setPen(_pen(look.theme.caution, 2.5, (2.2, 2.0)))
        painter.drawPath(shape.line(nodes, end))
        if end is None:
            return
        at = shape.leads_to(end, nodes[-1]).pointAtPercent(0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(look.theme.surface))
        painter.drawEllipse(at, 9, 9)
        draw_refusals(painter, [QPointF(at)], 12, QColor(look.theme.caution))


def _pen(colour: str, width: float, dashes: tuple[float, ...] = ()) -> QPen:
    pen = QPen(QColor(colour), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
    if dashes:
        pen.setDashPattern(list(dashes))
    return pen
