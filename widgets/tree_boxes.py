"""The nodes of a token tree as boxes: text, the drafter's probability, and a bar for the layer each exited at.

The bar is coloured by the exit layer and as long as its share of all layers, as in the token strip.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from core.analysis.tree_figure import Stage, Walk
from widgets.theme import mixed
from widgets.tree_look import TreeLook
from widgets.tree_ribbons import TreeItem
from widgets.tree_shape import BAR, MARK, PADDING, WALK_NOTES, node_chance, node_note

_RADIUS = 5.0
_ALIGN = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


class BoxesItem(TreeItem):
    """All boxes of a tree, and beside them the token that a walk ended with where that is no node."""

    def draw(self, painter: QPainter, look: TreeLook) -> None:
        for node in range(len(look.shape.rects)):
            _Box(painter, look, node).draw()
        walk = look.walk
        slot = look.shape.slot_of(int(walk.nodes[-1])) if walk is not None and walk.broke_at < 0 else None
        if walk is not None and slot is not None:
            _draw_slot(painter, look, slot, walk)


class _Box:
    """One node."""

    def __init__(self, painter: QPainter, look: TreeLook, node: int) -> None:
        self.painter, self.look, self.node = painter, look, node
        self.rect = look.shape.rects[node]
        self.dim = look.is_dim(node)
        self.selected = node == look.node
        walk = look.walk
        walked = walk is not None and node in walk.nodes
        self.accepted = walked and look.stage is Stage.EXIT
        self.refused = walk is not None and not walk.accepted and (walked or node == walk.broke_at)
        self.from_ngram = bool(look.figure.nodes.from_ngram[node])

    def draw(self) -> None:
        theme, painter = self.look.theme, self.painter
        shape = rounded(self.rect)
        fill = theme.selection if self.accepted or self.selected else mixed(theme.raised, theme.surface, 0.5)
        painter.fillPath(shape, self.look.paler(fill, self.dim))
        painter.save()
        painter.setClipPath(shape, Qt.ClipOperation.IntersectClip)
        self._draw_bar()
        painter.restore()
        self._draw_texts()
        painter.setPen(self._outline())
        painter.drawPath(shape)
        if self.selected and self.look.focused:
            painter.setPen(QPen(QColor(theme.accent), 1))
            painter.drawRoundedRect(self.rect.adjusted(-3, -3, 3, 3), _RADIUS + 2, _RADIUS + 2)

    def _outline(self) -> QPen:
        theme = self.look.theme
        if self.selected:
            return QPen(QColor(theme.text), 2)
        if self.accepted:
            return QPen(self.look.paler(theme.accent, self.dim), 2)
        if self.refused:
            return QPen(self.look.paler(theme.caution, self.dim), 1.6)
        if self.from_ngram:
            return _dashed(self.look.paler(theme.right, self.dim))
        return QPen(self.look.paler(mixed(theme.line, theme.muted, 0.3), self.dim), 1)

    def _draw_bar(self) -> None:
        bar = QRectF(self.rect.left(), self.rect.bottom() - BAR, self.rect.width(), BAR)
        self.painter.fillRect(bar, self.look.paler(self.look.theme.line, self.dim))
        exit_layer = self.look.exit_of(self.node)
        if exit_layer:
            bar.setWidth(bar.width() * exit_layer / self.look.figure.depth)
            self.painter.fillRect(bar, self.look.paler(self.look.colour(exit_layer).name(), self.dim))

    def _draw_texts(self) -> None:
        fonts, theme, figure = self.look.shape.fonts, self.look.theme, self.look.figure
        text = fonts.shortened(figure.nodes.texts[self.node])
        whole = node_note(figure, self.node, self.look.layers_run)
        note = node_chance(figure, self.node) if fonts.compact else whole
        colours = self.look.paler(theme.text, self.dim), self.look.paler(theme.muted, self.dim)
        marks = [
            mark for mark, shown in ((draw_tick, self.accepted and self.node > 0), (draw_n, self.from_ngram)) if shown
        ]
        places = text_places(self.look, self.rect, text, note, len(marks))
        for index, mark in enumerate(marks):
            colour = theme.accent if mark is draw_tick else theme.right
            mark(self.painter, places.mark + QPointF(index * MARK, 0), self.look.paler(colour, self.dim))
        draw_texts(self.painter, self.look, places, (text, note), colours)


class Places:
    """Where mark, text and note go inside a box."""

    __slots__ = ("mark", "note", "text")

    def __init__(self, mark: QPointF, text: QRectF, note: QRectF) -> None:
        self.mark, self.text, self.note = mark, text, note


def text_places(look: TreeLook, rect: QRectF, text: str, note: str, marks: int) -> Places:
    """Two lines centred below each other; in a compact box, text at the left and note at the right."""
    fonts = look.shape.fonts
    advance, beside = fonts.text_metrics.horizontalAdvance(text), fonts.small_metrics.horizontalAdvance(note)
    height = fonts.text_height
    if fonts.compact:
        left = rect.left() + PADDING
        line = QRectF(left + marks * MARK, rect.top() + 1, advance + 2, height)
        below = QRectF(rect.right() - PADDING - beside, rect.top() + 1, beside + 2, height)
    else:
        left = rect.center().x() - (advance + marks * MARK) / 2
        line = QRectF(left + marks * MARK, rect.top() + 2, advance + 2, height)
        below = QRectF(rect.center().x() - beside / 2, line.bottom(), beside + 2, fonts.small_metrics.height())
    return Places(QPointF(left + MARK / 2 - 2, line.center().y()), line, below)


def draw_texts(
    painter: QPainter, look: TreeLook, places: Places, texts: tuple[str, str], colours: tuple[QColor, QColor]
) -> None:
    """Text and note."""
    fonts = look.shape.fonts
    for font, place, text, colour in zip(
        (fonts.text, fonts.small), (places.text, places.note), texts, colours, strict=True
    ):
        painter.setFont(font)
        painter.setPen(colour)
        painter.drawText(place, _ALIGN | Qt.TextFlag.TextSingleLine, text)


def _draw_slot(painter: QPainter, look: TreeLook, rect: QRectF, walk: Walk) -> None:
    """A token that is no node, dotted around: the bonus with a diamond, a refused one without."""
    theme = look.theme
    text, note = look.shape.fonts.shortened(walk.texts[-1]), WALK_NOTES[walk.end]
    colour = QColor(theme.accent if walk.accepted else theme.caution)
    shape = rounded(rect)
    painter.fillPath(shape, QColor(theme.selection if walk.accepted else theme.surface))
    pen = QPen(colour, 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
    pen.setDashPattern([0.1, 2.0])
    selected = walk.accepted and look.marks.bonus
    painter.setPen(QPen(QColor(theme.text), 2) if selected else pen)
    painter.drawPath(shape)
    places = text_places(look, rect, text, note, int(walk.accepted))
    if walk.accepted:
        draw_diamond(painter, places.mark, colour)
    draw_texts(painter, look, places, (text, note), (QColor(theme.text), colour))


def rounded(rect: QRectF) -> QPainterPath:
    shape = QPainterPath()
    shape.addRoundedRect(rect, _RADIUS, _RADIUS)
    return shape


def draw_tick(painter: QPainter, at: QPointF, colour: QColor) -> None:
    """✓: accepted."""
    painter.setPen(QPen(colour, 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    painter.drawPolyline([at + QPointF(-3.5, 0), at + QPointF(-1, 2.8), at + QPointF(3.8, -3)])


def draw_diamond(painter: QPainter, at: QPointF, colour: QColor) -> None:
    """◆: the bonus token."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawPolygon([at + QPointF(0, -4.5), at + QPointF(4.5, 0), at + QPointF(0, 4.5), at + QPointF(-4.5, 0)])
    painter.setBrush(Qt.BrushStyle.NoBrush)


def draw_n(painter: QPainter, at: QPointF, colour: QColor) -> None:
    """Two overlapping frames, as a copy: found earlier in the context."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(colour, 1.4))
    painter.drawRect(QRectF(at.x() - 4, at.y() - 4, 5.5, 5.5))
    painter.drawRect(QRectF(at.x() - 1.5, at.y() - 1.5, 5.5, 5.5))


def _dashed(colour: QColor) -> QPen:
    pen = QPen(colour, 1.6)
    pen.setDashPattern([3.5, 2.0])
    return pen
