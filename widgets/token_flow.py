"""Where the chips of the token strip go: broken into rows like words, appended to in time that does not grow. No Qt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


class TokenFlow:
    """Rows of boxes with the given widths, left to right, in whole pixels.

    Box i starts at `x_of(i)` in row `row_of(i)`; a box wider than a row has a row of its own and is cut to it.
    """

    def __init__(self, gap: int) -> None:
        self.gap = gap
        self._available = 1
        self._widths: list[int] = []
        self._ends: list[int] = []
        """Where each box would end, gap included, if all stood in one row."""
        self._starts: list[int] = []
        """First box of each row."""

    def __len__(self) -> int:
        return len(self._widths)

    @property
    def rows(self) -> int:
        return len(self._starts)

    @property
    def end(self) -> tuple[int, int]:
        """Row of the last box, and where it ends there; (0, 0) where there is none."""
        last = len(self) - 1
        return (self.row_of(last), self.x_of(last) + self.width_of(last)) if last >= 0 else (0, 0)

    def set_available(self, width: int) -> bool:
        """Break all boxes anew into rows of this width; whether it is another one."""
        if max(1, width) == self._available:
            return False
        self._available = max(1, width)
        self.replace(0, self._widths)
        return True

    def replace(self, first: int, widths: Sequence[int]) -> None:
        """Put boxes of these widths in the place of all boxes from `first` on."""
        widths = list(widths)
        del self._widths[first:]
        del self._ends[first:]
        while self._starts and self._starts[-1] >= first:
            self._starts.pop()
        for width in widths:
            self._widths.append(width)
            self._ends.append(self._offset(len(self._ends)) + min(width, self._available) + self.gap)
        self._break()

    def row_of(self, box: int) -> int:
        return bisect_right(self._starts, box) - 1

    def x_of(self, box: int) -> int:
        return self._offset(box) - self._offset(self._starts[self.row_of(box)])

    def width_of(self, box: int) -> int:
        return min(self._widths[box], self._available)

    def boxes_in(self, row: int) -> range:
        """The boxes of one row; empty where there is no such row."""
        if not 0 <= row < self.rows:
            return range(0)
        end = self._starts[row + 1] if row + 1 < self.rows else len(self)
        return range(self._starts[row], end)

    def boxes_between(self, row: int, left: int, right: int) -> range:
        """The boxes of one row that reach into left…right, perhaps with one beside them."""
        boxes = self.boxes_in(row)
        if not boxes:
            return boxes
        start = self._offset(boxes[0])
        first = bisect_right(self._ends, start + left, boxes[0], boxes[-1] + 1)
        last = bisect_right(self._ends, start + right, first, boxes[-1] + 1)
        return range(first, min(last + 1, boxes.stop))

    def box_at(self, x: int, row: int) -> int | None:
        """The box under x; None between boxes and beside them."""
        boxes = self.boxes_in(row)
        if not boxes or x < 0:
            return None
        box = bisect_right(self._ends, self._offset(boxes[0]) + x, boxes[0], boxes[-1] + 1)
        inside = box in boxes and x < self.x_of(box) + self.width_of(box)
        return box if inside else None

    def nearest(self, x: int, row: int) -> int | None:
        """The box of this row whose middle is nearest to x; None where there is no such row."""
        return min(self.boxes_in(row), key=lambda box: abs(self.x_of(box) + self.width_of(box) / 2 - x), default=None)

    def _offset(self, box: int) -> int:
        return self._ends[box - 1] if box else 0

    def _break(self) -> None:
        if not self._widths:
            return
        if not self._starts:
            self._starts.append(0)
        while True:
            start = self._starts[-1]
            limit = self._offset(start) + self._available + self.gap
            following = max(start + 1, bisect_right(self._ends, limit, start))
            if following >= len(self):
                return
            self._starts.append(following)
