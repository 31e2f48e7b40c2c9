"""Which tokens came from the same target pass: a bracket below their chips, joined across them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QPainter

from widgets.palette import Theme
from widgets.theme import mixed

_WIDTH = 2
_TICK = 3


@dataclass(frozen=True, slots=True)
class Span:
    """Boxes of one row that one pass emitted, and whether the pass goes on in the rows before and after."""

    first: int
    last: int
    from_before: bool
    goes_on: bool


def spans(passes: Sequence[int], boxes: range) -> Iterator[Span]:
    """The brackets below a row. A pass that emitted one token has none.

    Args:
        passes: of each token, the first token of its pass.
        boxes: the row's tokens.
    """
    end = min(boxes.stop, len(passes))
    at = boxes.start
    while at < end:
        last = at
        while last + 1 < end and passes[last + 1] == passes[at]:
            last += 1
        from_before = at > 0 and passes[at - 1] == passes[at]
        goes_on = last + 1 < len(passes) and passes[last + 1] == passes[at]
        if from_before or goes_on or last > at:
            yield Span(at, last, from_before, goes_on)
        at = last + 1


def pass_words(passes: Sequence[int], token: int) -> str:
    """Which token of its pass this is; "" where the pass emitted no other."""
    first = passes[token]
    count = bisect_right(passes, first) - bisect_left(passes, first)
    return f"token {token - first + 1} of {count} from one pass" if count > 1 else ""


def paint_brackets(
    painter: QPainter, passes: Sequence[int], boxes: range, rect_of: Callable[[int], QRect], theme: Theme
) -> None:
    """Paint the brackets of one row; an end that is open stands for a pass that goes on in another row."""
    colour = QColor(mixed(theme.muted, theme.surface, 0.15))
    for span in spans(passes, boxes):
        first, last = rect_of(span.first), rect_of(span.last)
        left, right, top = first.left() + 2, last.right() - 2, first.bottom() + 2
        painter.fillRect(QRect(left, top, right - left + 1, _WIDTH), colour)
        for x, shown in ((left, not span.from_before), (right - _WIDTH + 1, not span.goes_on)):
            if shown:
                painter.fillRect(QRect(x, top - _TICK, _WIDTH, _TICK), colour)
