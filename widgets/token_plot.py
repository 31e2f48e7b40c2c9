"""A plot over generated tokens: it follows the newest one until the user looks elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QToolButton, QWidget

from widgets.palette import Theme
from widgets.plot_base import PlotView
from widgets.plot_items import Cursor, whole_ticks
from widgets.selection import Selection
from widgets.theme import SMALL

FEWEST = 24
"""How many tokens the plot has room for at least, so that the first ones are not walls."""

FEWEST_EVER = 12
"""The same where no more will come."""

TOKEN_PIXELS = 3.5
"""The least width of a token while following; older ones leave to the left beyond that."""

_PAGE = 10
_MOVES = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_PageUp: -_PAGE,
    Qt.Key.Key_PageDown: _PAGE,
}
_ZOOMS = {Qt.Key.Key_Plus: 0.8, Qt.Key.Key_Equal: 0.8, Qt.Key.Key_Minus: 1.25}


class TokenPlot(PlotView):
    """x is the token as shown, counted from 1; each token spans ± ½.

    Dragging and the wheel pan and zoom, + and − zoom, and a double click or 0 shows the newest tokens again.
    """

    def __init__(self, name: str, y_caption: str, parent: QWidget | None = None) -> None:
        super().__init__(name, ("token", y_caption), (whole_ticks(52), whole_ticks(24)), parent)
        self.count = 0
        """How many tokens are shown, one in flight included."""
        self.following = True
        self._grows = True
        self._moves_later = False
        """Whether what is in view changes, too, once what is held is released."""
        self._seen = False
        self.view.setMouseEnabled(x=True, y=False)
        self.view.sigRangeChangedManually.connect(self._on_moved_by_hand)
        self.band, self.frame = Cursor(filled=True), Cursor(filled=False)
        self.pointer = Cursor(filled=False, role="muted", widths=(0, 1))
        for item, depth in ((self.band, -10), (self.pointer, 20), (self.frame, 21)):
            self.add(item, depth)
        self._stack.keep()
        self._follow_button = QToolButton(self)
        self._follow_button.setText("newest ⇥")
        self._follow_button.setToolTip("Follow the newest token again (double click, or 0)")
        self._follow_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._follow_button.clicked.connect(self.follow)
        self._follow_button.hide()

    def set_count(self, count: int) -> None:
        """There are so many tokens now."""
        shrunk = count < self.count
        self.count = count
        self._keep_up(shrunk)
        if not self._stack.is_held:
            self.show_selection()

    def set_growing(self, grows: bool) -> None:
        """Whether more tokens may come: room is kept for them."""
        if grows is not self._grows:
            self._grows = grows
            self._keep_up(False)

    def _keep_up(self, shrunk: bool) -> None:
        if self.following or shrunk:
            self.follow()
        else:
            self._limit()

    def appear(self) -> Iterator[None]:
        """Where a message is on show, have the plot take its place, in a turn of its own."""
        if self.message:
            self.set_message(None)
            yield

    def hold(self) -> None:
        """Have nothing painted of what comes, until `release`: to take it in, to draw it and to show it together fills
        a frame, and as turns of their own none."""
        if self._seen:
            self._stack.hold()

    def prepare(self) -> Iterator[None]:
        """Draw what is held, unseen, in two turns."""
        x, y = self.view.viewRange()
        if self._moves_later:
            x, y = self._newest() if self.following else x, self._y_range()
        return self._stack.prepare(x, y)

    def release(self) -> None:
        """Show what is held."""
        if not self._stack.is_held:
            return
        self._stack.release()
        if self._moves_later:
            self._moves_later = False
            self._fit()
            self._limit()
        self.show_selection()
        self.refresh_hover()  # other tokens may lie below the pointer now

    def set_selection(self, selection: Selection) -> None:
        """As in every plot; what is held is released first, as the selection may be of it."""
        self.release()
        super().set_selection(selection)

    def follow(self) -> None:
        """Show the newest tokens, now and as they come."""
        self.following = True
        self._follow_button.hide()
        if self._stack.is_held:
            self._moves_later = True
            return
        low, high = self._newest()
        self._limit()
        self._show(low, high)

    def token_at(self, x: float) -> int | None:
        """The 0-based token at this place; None beside the tokens."""
        token = math.floor(x - 0.5)
        return token if 0 <= token < self.count else None

    def step(self, key: Qt.Key) -> Selection | None:
        if key in _ZOOMS:
            self._zoom(_ZOOMS[key])
        elif key == Qt.Key.Key_0:
            self.follow()
        if self.count == 0:
            return None
        token = self._stepped_token(key)
        return None if token is None else Selection(token, self.selection.layer)

    def _stepped_token(self, key: Qt.Key) -> int | None:
        last, now = self.count - 1, self.selection.token
        if key == Qt.Key.Key_Home:
            return 0
        if key == Qt.Key.Key_End:
            return last
        if key not in _MOVES:
            return None
        return last if now is None else min(max(now + _MOVES[key], 0), last)

    def show_selection(self) -> None:
        token = self.selection.token
        at = None if token is None or token >= self.count else token + 1.0
        layer = None if self.selection.layer is None else self.selection.layer + 1.0
        self.band.place(at)
        self.frame.place(at, layer)
        if at is not None:
            self._reveal(at)

    def hover(self, x: float | None, y: float | None) -> None:
        token = None if x is None else self.token_at(x)
        self.pointer.place(None if token is None else token + 1.0)

    def double_clicked(self) -> None:
        self.follow()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._follow_button.setStyleSheet(_BUTTON.format(t=theme, small=self.font().pointSizeF() * SMALL))
        self._place_button()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_button()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Before the first painting the plot had no width of its own, and what was in view was chosen for too few."""
        super().paintEvent(event)
        if not self._seen:
            self._seen = True
            self.follow()
            self.show_selection()

    def _fit(self) -> None:
        if self._stack.is_held:
            self._moves_later = True
            return
        super()._fit()
        if self.following:
            self.follow()

    def _place_button(self) -> None:
        size = self._follow_button.sizeHint()
        self._follow_button.setGeometry(self.width() - size.width() - 8, 6, size.width(), size.height())

    def _capacity(self) -> int:
        return max(FEWEST, int(self.view.width() / TOKEN_PIXELS))

    def _newest(self) -> tuple[float, float]:
        return followed_range(self.count, self._capacity(), self._grows)

    def _limit(self) -> None:
        end = max(self._newest()[1], self.count + 0.5)
        self.view.setLimits(xMin=0.5, xMax=end, minXRange=8)

    def _show(self, low: float, high: float) -> None:
        if (low, high) != tuple(self.view.viewRange()[0]):
            self.view.setXRange(low, high, padding=0)
            self.view.updateMatrix()  # else while it is painted, which has all of it painted once more

    def has_in_view(self, token: int | None) -> bool:
        """Whether this 0-based token could be marked without moving the view, which costs far more."""
        low, high = self.view.viewRange()[0]
        return token is None or (low <= token + 0.5 and token + 1.5 <= high)

    def make_room(self, token: int) -> None:
        """Bring this 0-based token into view, too, for the step that will mark it: then the step has not to.

        Not while the newest ones are shown, or the user looks elsewhere than at what is selected.
        """
        chosen = self.selection.token
        if not self.following and chosen is not None and self.has_in_view(chosen):
            self._reveal(token + 1.0)

    def _reveal(self, x: float) -> None:
        low, high = self.view.viewRange()[0]
        if not self._seen or self.has_in_view(round(x) - 1):
            return
        newest_low, newest_high = self._newest()
        if newest_low < x < newest_high:
            self.follow()
            return
        self._leave_newest()
        half = (high - low) / 2
        middle = min(max(x, 0.5 + half), self.count + 0.5 - half)
        self._show(middle - half, middle + half)

    def _zoom(self, factor: float) -> None:
        low, high = self.view.viewRange()[0]
        at = self.selection.token
        centre = (low + high) / 2 if at is None or not low <= at + 1 <= high else at + 1
        self._leave_newest()
        self._show(centre - (centre - low) * factor, centre + (high - centre) * factor)

    def _on_moved_by_hand(self, _axes: object) -> None:
        self._leave_newest()

    def _leave_newest(self) -> None:
        self.following = False
        self._follow_button.show()
        self._follow_button.raise_()


_BUTTON = (
    "QToolButton {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.line}; border-radius: 4px;"
    " padding: 1px 6px; font-size: {small}pt; }} QToolButton:hover {{ border-color: {t.accent}; }}"
)


def followed_range(count: int, capacity: int, grows: bool = True) -> tuple[float, float]:
    """The x range that shows the newest tokens, at most `capacity` of them.

    It moves in strides: a picture that shifts with every token could not be read while it grows. Where it does not
    grow, nothing is left free at its end.
    """
    if not grows:
        end = max(count, min(FEWEST_EVER, capacity))
        return max(end - capacity, 0) + 0.5, end + 0.5
    if count <= capacity:
        room = FEWEST
        while room < count:
            room = math.ceil(room * 1.5)
        return 0.5, min(room, capacity) + 0.5
    stride = max(capacity // 8, 1)
    end = math.ceil(count / stride) * stride
    return end - capacity + 0.5, end + 0.5
