"""What every plot is drawn with but marks: ticks, items painted in whole pixels, and the selection cursor.

The plots show one bar or cell a token, so edges that fall between pixels would shimmer as the plot scrolls. A
`PixelItem` therefore knows where its data land in pixels and rounds them; its cost is bounded by the pixels shown,
never by the number of tokens.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QLineF, QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from widgets.palette import Theme

Ticks = Callable[[float, float, float], list[tuple[float, str]]]
"""(low, high, pixels) of an axis to its ticks: (value, text)."""

_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000, 10_000, 20_000, 50_000)


def whole_ticks(spacing: float, always: Iterable[int] = ()) -> Ticks:
    """Ticks at round whole numbers from 1 on, `spacing` pixels apart at least, and at `always` before all others."""
    fixed = tuple(always)

    def ticks(low: float, high: float, pixels: float) -> list[tuple[float, str]]:
        per_unit = pixels / max(high - low, 1e-9)
        step = next((s for s in _STEPS if s * per_unit >= spacing), _STEPS[-1])
        first = int(np.ceil(max(low, 1) / step)) * step
        chosen = [v for v in fixed if low <= v <= high]
        for value in [*range(first, int(high) + 1, step), 1]:
            if low <= value and all(abs(value - c) * per_unit >= spacing * 0.8 for c in chosen):
                chosen.append(value)
        return [(value, f"{value}") for value in sorted(chosen)]

    return ticks


@dataclass(frozen=True, slots=True)
class Pixels:
    """Where data coordinates land in the painter's pixels."""

    x_scale: float
    x_zero: float
    y_scale: float
    """Negative: values grow upwards."""
    y_zero: float
    area: QRectF
    """The visible plot in pixels."""
    ratio: float
    """Physical pixels a logical one."""

    def x(self, value: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(value, float) * self.x_scale + self.x_zero

    def y(self, value: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(value, float) * self.y_scale + self.y_zero

    def whole_x(self, value: float) -> float:
        """The whole pixel at a single value, much faster than by an array."""
        return float(round(value * self.x_scale + self.x_zero))

    def whole_y(self, value: float) -> float:
        """The whole pixel at a single value, much faster than by an array."""
        return float(round(value * self.y_scale + self.y_zero))

    def ranging(self, x: Sequence[float], y: Sequence[float]) -> Pixels:
        """The same plot with these ranges, low and high; itself where it has them already."""
        area, x_scale, y_scale = self.area, self.area.width() / (x[1] - x[0]), -self.area.height() / (y[1] - y[0])
        other = Pixels(x_scale, area.left() - x[0] * x_scale, y_scale, area.top() - y[1] * y_scale, area, self.ratio)
        return self if other.is_near(self) else other

    def is_near(self, other: Pixels) -> bool:
        """Whether nothing lands elsewhere than in the other, but for what rounding makes of it."""
        places = zip(self._numbers(), other._numbers(), strict=True)
        return all(math.isclose(mine, its, rel_tol=_ROUNDING) for mine, its in places)

    def _numbers(self) -> tuple[float, ...]:
        """All that places hang on. One that is near 0 may be taken for another: that costs a painting, no more."""
        return (self.x_scale, self.x_zero, self.y_scale, self.y_zero, *self.area.getRect(), self.ratio)  # type: ignore[misc]

    def tokens(self, count: int, exposed: QRectF | None = None) -> tuple[int, int]:
        """First and one past the last of `count` 0-based tokens that are at least half in view.

        Of those, `exposed` asks for the ones of which something lies in it, or a line to or from them.
        """
        first, last = self._between(self.area, 1)
        if exposed is not None:
            left, right = self._between(exposed.adjusted(-_REACH, 0, _REACH, 0), 2)
            first, last = max(first, left), min(last, right)
        return min(max(first, 0), count), min(max(last, 0), count)

    def _between(self, area: QRectF, beyond: int) -> tuple[int, int]:
        low, high = ((edge - self.x_zero) / self.x_scale for edge in (area.left(), area.right()))
        return int(low) - beyond, int(high) + beyond

    def rect(self, left: float, right: float, bottom: float, top: float) -> QRectF:
        """The whole-pixel rectangle of these data bounds."""
        x0, y0 = self.whole_x(left), self.whole_y(top)
        return QRectF(x0, y0, max(self.whole_x(right) - x0, 1.0), max(self.whole_y(bottom) - y0, 1.0))

    def rounded(self, part: QRectF | None) -> QRect:
        """The whole pixels that this part, in data coordinates, reaches into; all of the plot without one.

        And those around them: Qt clips no closer, so that a line that ends at the edge may have painted there.
        """
        if part is None:
            return self.area.toAlignedRect().adjusted(-1, -1, 1, 1)
        left, top = part.left() * self.x_scale + self.x_zero, part.top() * self.y_scale + self.y_zero
        width, height = part.width() * self.x_scale, part.height() * self.y_scale
        return QRectF(left, top, width, height).normalized().toAlignedRect().adjusted(-1, -1, 1, 1)


_ROUNDING = 1e-9
"""Share by which a number may differ: less than a thousandth of a pixel after 100 000 tokens."""
_REACH = 12
"""Pixels by which marks, lines and their rims reach into the columns beside their own, at the most."""


class Host(Protocol):
    """What a `PixelItem` lies in."""

    @property
    def is_held(self) -> bool: ...

    def view_area(self) -> QRectF: ...

    def pixel_width(self) -> float: ...

    def update(self, part: QRectF = ..., /) -> None: ...

    def renew(self, part: QRectF | None) -> None: ...


class PixelItem:
    """Fills the view and paints in pixels: override `draw`. `PlotView.add` gives it a place to be painted in."""

    moving = False
    """Whether it is painted at every frame; what other items have painted may be kept until they ask for an update."""

    def __init__(self) -> None:
        self.host: Host | None = None
        self.exposed = QRectF()
        """What `draw` is to paint, in pixels; the rest is as it was."""

    def update(self, part: QRectF | None = None) -> None:
        """Have this part, in data coordinates, painted again soon; all of it where none is named."""
        if self.host is None:
            return
        if not self.moving:
            self.host.renew(part)
        else:
            self.host.update() if part is None else self.host.update(part)

    def update_from(self, token: int, end: int) -> None:
        """Paint the 0-based tokens from this one up to `end` again, and those beside, from which lines may lead here.

        `end` is one past the last of what was there or is there now, whichever is further.
        """
        wide = self.host.pixel_width() if self.host is not None else 0.0
        if token == 0 or self.host is None or not wide:
            self.update()
            return
        view, left, right = self.host.view_area(), token - 0.5 - _REACH * wide, end + 1.5 + _REACH * wide
        self.update(QRectF(left, view.top(), right - left, view.height()))

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        """Paint; the painter is as it was afterwards, whatever was set."""

    @abstractmethod
    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours."""


class Cursor(PixelItem):
    """Marks a column (x ± ½), or one cell of it, as a filled band or as an outline."""

    moving = True

    def __init__(self, filled: bool, role: str = "accent", widths: tuple[int, int] = (1, 2)) -> None:
        super().__init__()
        self._filled = filled
        self._role = role
        self._widths = widths
        self._colour = QColor()
        self._at: tuple[float | None, float | None] = (None, None)

    def place(self, x: float | None, y: float | None = None) -> None:
        """Mark the column at `x`, with the cell at `y` in it; None marks nothing."""
        if (x, y) != self._at:
            before, self._at = self._at, (x, y)
            self._repaint(before[0], x)

    def _repaint(self, *columns: float | None) -> None:
        """Paint these columns of the plot again and no others: the cursor moves often, and what it lies on is dear."""
        wide = self.host.pixel_width() if self.host is not None else 0.0
        if self.host is None or not wide:
            self.update()
            return
        view, margin = self.host.view_area(), (max(self._widths) + 3) * wide
        for x in columns:
            if x is not None:
                self.update(QRectF(x - 0.5 - margin, view.top(), 1 + 2 * margin, view.height()))

    def apply_theme(self, theme: Theme) -> None:
        self._colour = QColor(theme.selection if self._filled else getattr(theme, self._role))
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        x, y = self._at
        if x is None:
            return
        column = pixels.rect(x - 0.5, x + 0.5, 0, 1)
        if column.right() < self.exposed.left() - _REACH or column.left() > self.exposed.right() + _REACH:
            return
        column.setTop(pixels.area.top())
        column.setBottom(pixels.area.bottom())
        if column.width() < 3:  # a column thinner than that would be all outline
            column.adjust(-1, 0, 1, 0)
        if self._filled:
            painter.fillRect(column, self._colour)
            return
        outline(painter, column.adjusted(0, -2, 0, 2), self._colour, self._widths[0])
        if y is not None:
            outline(painter, pixels.rect(x - 0.5, x + 0.5, y - 0.5, y + 0.5), self._colour, self._widths[1])


def outline(painter: QPainter, rect: QRectF, colour: QColor, width: int) -> None:
    """A frame of whole pixels just outside of `rect`."""
    outer = rect.adjusted(-width, -width, width, width)
    painter.fillRect(QRectF(outer.left(), outer.top(), outer.width(), width), colour)
    painter.fillRect(QRectF(outer.left(), rect.bottom(), outer.width(), width), colour)
    painter.fillRect(QRectF(outer.left(), rect.top(), width, rect.height()), colour)
    painter.fillRect(QRectF(rect.right(), rect.top(), width, rect.height()), colour)


def points(x: ArrayLike, y: ArrayLike) -> list[QPointF]:
    """The points (x, y) as Qt wants them."""
    pairs = zip(np.asarray(x, float).tolist(), np.asarray(y, float).tolist(), strict=True)
    return [QPointF(a, b) for a, b in pairs]


def draw_threshold(
    painter: QPainter, pixels: Pixels, layers: NDArray[np.int64], heights: ArrayLike, colour: QColor
) -> None:
    """A dashed line: level where all layers share one threshold, in steps where they do not.

    Args:
        painter: of the plot, whose x counts layers from 1.
        pixels: where the plot is.
        layers: 0-based, ascending, shape [n].
        heights: each one's threshold as the y of the plot, shape [n].
        colour: of the line.
    """
    pen = QPen(colour, 1)
    pen.setDashPattern([5, 4])
    painter.setPen(pen)
    y = np.round(pixels.y(heights)) + 0.5
    steps = np.flatnonzero(np.diff(y)) + 1
    edges = [pixels.area.left(), *pixels.x(layers[steps] + 0.5).tolist(), pixels.area.right()]
    for left, right, at in zip(edges, edges[1:], y[[0, *steps]].tolist() if len(y) else (), strict=False):
        painter.drawLine(QLineF(left, at, right, at))
