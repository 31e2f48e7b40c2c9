"""Where everything of one token tree is drawn: boxes of nodes, places for bonus and refused tokens, ribbons of paths.

Coordinates are those of the scene, in pixels at zoom 1; the root is at the left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainterPath, QPainterPathStroker

from core.analysis.tree_figure import TreeFigure
from core.trace.events import WalkEnd
from widgets.chip_painter import fixed
from widgets.theme import SMALL
from widgets.tree_layout import lay_out

PADDING = 7.0
BAR = 4.0
MARK = 12.0
"""Room for a mark beside a node's text."""
TAG = 30.0
"""Room beside a leaf for its path's exit."""
MARGIN = 10.0
_LONGEST = 14
"""Width of the widest node's text, in letters; the end of a longer token is left out."""
_WIDEST_LANE, _THINNEST_LANE = 7.0, 0.5
_REACH = 7.0
"""How near a ribbon the pointer must be."""


class NodeFonts:
    """Measures texts and boxes in one font. A *compact* box has one line instead of two."""

    def __init__(self, font: QFont, *, compact: bool) -> None:
        self.compact = compact
        self.text = fixed(font)
        self.small = QFont(font)
        self.small.setPointSizeF(font.pointSizeF() * SMALL)
        self.text_metrics, self.small_metrics = QFontMetricsF(self.text), QFontMetricsF(self.small)
        # Fonts that stand in for missing letters are often taller than the one asked for.
        self.text_height = math.ceil(self.text_metrics.height() * 1.12)
        second = 0.0 if compact else self.small_metrics.height()
        self.height = self.text_height + second + BAR + (3 if compact else 5)
        self.longest = self.text_metrics.horizontalAdvance("x" * _LONGEST)

    def shortened(self, text: str) -> str:
        """The text, without its end where it is very long."""
        return self.text_metrics.elidedText(text, Qt.TextElideMode.ElideRight, self.longest)

    def width(self, text: str, note: str, marks: int) -> float:
        """Of a box with this token, this note below or beside it, and so many marks."""
        first = self.text_metrics.horizontalAdvance(self.shortened(text)) + marks * MARK
        second = self.small_metrics.horizontalAdvance(note)
        inner = first + 6 + second if self.compact else max(first, second)
        return math.ceil(inner) + 2 * PADDING


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for the token that a walk ended with where that is no node: the bonus, or one that was refused."""

    parent: int
    rect: QRectF


class TreeShape:
    """The geometry of one figure in one density."""

    def __init__(self, figure: TreeFigure, fonts: NodeFonts, stretch: float = 0.0) -> None:
        """`stretch` is added to the gap between two columns."""
        self.figure, self.fonts, self.stretch = figure, fonts, stretch
        self._place()
        self._lay_ribbons()

    def node_at(self, point: QPointF) -> int | None:
        """The node under this point."""
        return next((node for node, rect in enumerate(self.rects) if rect.contains(point)), None)

    def path_at(self, point: QPointF) -> int | None:
        """The path whose ribbon is nearest to this point; None where none is near."""
        if not self.bounds.contains(point):
            return None
        stroker = QPainterPathStroker()
        for reach in (max(self.lane, 1.5), _REACH):
            stroker.setWidth(reach)
            for path, ribbon in enumerate(self.ribbons):
                if ribbon.controlPointRect().adjusted(0, -reach, 0, reach).contains(point) and stroker.createStroke(
                    ribbon
                ).contains(point):
                    return path
        return None

    def slot_of(self, node: int) -> QRectF | None:
        """The place beside a node for a token that is no node of the tree."""
        return next((slot.rect for slot in self.slots if slot.parent == node), None)

    def line(self, nodes: list[int], end: QRectF | None = None) -> QPainterPath:
        """A line through the middles of these boxes, from the first one's right edge to the last one's left, and on to
        `end` where that is given."""
        rects = [self.rects[node] for node in nodes] + ([end] if end is not None else [])
        path = QPainterPath(_right(rects[0]))
        for before, rect in pairwise(rects):
            _bend(path, _right(before), _left(rect))
            if rect is not rects[-1]:
                path.lineTo(_right(rect))
        return path

    def leads_to(self, rect: QRectF, parent: int) -> QPainterPath:
        """The last stretch of such a line alone."""
        path = QPainterPath(_right(self.rects[parent]))
        _bend(path, _right(self.rects[parent]), _left(rect))
        return path

    def _place(self) -> None:
        """Boxes of nodes, and after them the slots as further children."""
        figure, fonts = self.figure, self.fonts
        nodes = figure.nodes
        widths = [self._width(node) for node in range(len(nodes.texts))]
        said = said_beyond(figure)
        widths += [max(fonts.width(text, note, 1) for text, note in texts) for texts in said.values()]
        parents = [*nodes.parents.tolist(), *said]
        gaps = (22.0, 4.0) if fonts.compact else (32.0, 8.0)
        placed = lay_out(parents, widths, [fonts.height] * len(parents), gaps[0] + self.stretch, gaps[1])
        self.columns = len(set(placed.left.tolist()))
        columns = zip(placed.left, placed.top, placed.width, placed.height, strict=True)
        rects = [QRectF(*map(float, box)) for box in columns]
        self.rects = rects[: len(nodes.texts)]
        self.slots = [Slot(parent, rect) for parent, rect in zip(said, rects[len(nodes.texts) :], strict=True)]
        width, height = placed.size
        self.bounds = QRectF(0, 0, width + TAG, height).adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN)

    def _width(self, node: int) -> float:
        """Of a node's box, with room for everything that can come to stand in it while the pass goes on."""
        figure, nodes = self.figure, self.figure.nodes
        marks = int(nodes.from_ngram[node]) + int(nodes.accepted[node] and node > 0)
        chance = node_chance(figure, node)
        note = chance if self.fonts.compact else f"{chance} · {figure.depth}"
        return self.fonts.width(nodes.texts[node], note, marks)

    def _lay_ribbons(self) -> None:
        """A lane for each path, ordered as its leaf lies, so that ribbons never cross."""
        paths = self.figure.paths
        order = sorted(range(len(paths.leaves)), key=lambda path: self.rects[int(paths.leaves[path])].top())
        rank = {path: place for place, path in enumerate(order)}
        first, last = [len(order)] * len(self.rects), [0] * len(self.rects)
        for path, nodes in enumerate(paths.nodes):
            for node in nodes.tolist():
                first[node], last[node] = min(first[node], rank[path]), max(last[node], rank[path])
        most = self.fonts.height * 0.8
        self.lane = min(_WIDEST_LANE, max(_THINNEST_LANE, most / max(len(order), 1)))
        middles = [(a + b) / 2 for a, b in zip(first, last, strict=True)]
        self.ribbons = [
            self._ribbon(nodes.tolist(), [(rank[path] - middles[node]) * self.lane for node in nodes.tolist()])
            for path, nodes in enumerate(paths.nodes)
        ]

    def _ribbon(self, nodes: list[int], offsets: list[float]) -> QPainterPath:
        down = [QPointF(0, offset) for offset in offsets]
        path = QPainterPath(_right(self.rects[nodes[0]]) + down[0])
        for at in range(1, len(nodes)):
            before, rect = self.rects[nodes[at - 1]], self.rects[nodes[at]]
            _bend(path, _right(before) + down[at - 1], _left(rect) + down[at])
            if at + 1 < len(nodes):
                path.lineTo(_right(rect) + down[at])
        return path


def node_note(figure: TreeFigure, node: int, layers_run: int) -> str:
    """The drafter's probability, and the node's exit as far as so many layers tell it."""
    exit_layer = int(figure.nodes.exits[node])
    return f"{node_chance(figure, node)} · {exit_layer if 0 < exit_layer <= layers_run else '–'}"


def node_chance(figure: TreeFigure, node: int) -> str:
    """The drafter's probability of a node; the root was there already."""
    return "root" if node == 0 else share(float(figure.nodes.probabilities[node]))


def share(probability: float) -> str:
    """A probability in two digits, as 41%."""
    return "<1%" if 0 < probability < 0.005 else f"{probability:.0%}"


WALK_NOTES = {
    WalkEnd.VERIFIED: "bonus",
    WalkEnd.NOT_CANDIDATE: "not in S",
    WalkEnd.GATED: "below the gate",
    WalkEnd.NOT_PROPOSED: "not proposed",
}


def said_beyond(figure: TreeFigure) -> dict[int, list[tuple[str, str]]]:
    """By node, the tokens that walks ended with there and that are no nodes: text and note."""
    said: dict[int, list[tuple[str, str]]] = {}
    for walk in figure.walks:
        if walk.broke_at < 0:
            said.setdefault(int(walk.nodes[-1]), []).append((walk.texts[-1], WALK_NOTES[walk.end]))
    return said


def _left(rect: QRectF) -> QPointF:
    return QPointF(rect.left(), rect.center().y())


def _right(rect: QRectF) -> QPointF:
    return QPointF(rect.right(), rect.center().y())


def _bend(path: QPainterPath, start: QPointF, end: QPointF) -> None:
    """An S from one box to the next, level at both ends."""
    half = (start.x() + end.x()) / 2
    path.cubicTo(QPointF(half, start.y()), QPointF(half, end.y()), end)
