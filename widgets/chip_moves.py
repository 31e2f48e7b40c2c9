"""Where the arrow and page keys lead among the chips of the token strip."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from widgets.token_flow import TokenFlow

_MOVES = frozenset(
    Qt.Key[f"Key_{name}"] for name in ("Left", "Right", "Up", "Down", "Home", "End", "PageUp", "PageDown")
)


_OTHER_MODIFIERS = (
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
)


def moved_by(event: QKeyEvent, flow: TokenFlow, now: int | None, page: int) -> int | None:
    """As `moved`, for a key as it was pressed: with Ctrl, Alt or Meta it means something else."""
    return None if event.modifiers() & _OTHER_MODIFIERS else moved(flow, now, Qt.Key(event.key()), page)


def moved(flow: TokenFlow, now: int | None, key: Qt.Key, page: int) -> int | None:
    """The box that `key` leads to from `now`, which may be none or gone; `page` is the rows of a page.

    None where the key means nothing here. Between rows it keeps to the column.
    """
    last = len(flow) - 1
    if last < 0 or key not in _MOVES:
        return None
    if now is None or now > last:
        return 0 if key is Qt.Key.Key_Home else last
    along = {Qt.Key.Key_Left: now - 1, Qt.Key.Key_Right: now + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
    if key in along:
        return min(max(along[key], 0), last)
    down = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}[key]
    row = min(max(flow.row_of(now) + down, 0), flow.rows - 1)
    return now if row == flow.row_of(now) else flow.nearest(flow.x_of(now) + flow.width_of(now) // 2, row)
