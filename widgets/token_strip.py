"""The generated tokens as wrapped chips, each with its exit layer; painted, not built from widgets."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator
from typing import cast

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QToolTip, QWidget

from core.analysis.summaries import Outcome, TokenChips
from core.trace.events import IntArray
from widgets.chip_area import MARGIN, ChipArea
from widgets.chip_moves import moved_by
from widgets.chip_painter import ChipPainter, ChipState, paint_ring
from widgets.chip_words import legend_html
from widgets.held_picture import HeldPicture
from widgets.painting import painting
from widgets.palette import DARK, Theme
from widgets.pass_brackets import paint_brackets
from widgets.selection import Selection
from widgets.strip_tokens import StripTokens

IN_FLIGHT_TEXT = "…"
EVERYWHERE = QRect(0, 0, 1 << 20, 1 << 20)
"""More than the viewport: what is painted may have been larger, and may be scrolled into sight before the next time."""
FEW = 64
"""Chips that are looked for one by one, to paint them again."""


class TokenStrip(ChipArea):
    """Shows any number of tokens; only the rows in sight are painted.

    It follows the last token while that is in sight and stays where the user has scrolled to otherwise.
    """

    selected = Signal(object)
    """A `Selection` that the user asks for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = StripTokens()
        self._depth = 1
        self._in_flight: int | None = None
        self._selection = Selection()
        self._hovered: int | None = None
        self._highlight: frozenset[int] = frozenset()
        self._bookmarks: frozenset[int] = frozenset()
        self._notes: Callable[[int], str] | None = None
        self._picture = self._blank(DARK)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().actionTriggered.connect(self.release)  # by the user, who waits for no turn
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName("Tokens")
        self._describe()

    # ---- what is shown --------------------------------------------------------------------------------------------

    legend_html = staticmethod(legend_html)
    """The panel's subtitle."""

    def set_notes(self, notes: Callable[[int], str]) -> None:
        """Ask this which two tokens a wrong exit of a 0-based token was about, for the hover and the screen reader."""
        self._notes = notes

    def set_chips(self, chips: TokenChips) -> None:
        """Replace the tokens from `chips.first` on.

        Raises:
            ValueError: tokens before `chips.first` are missing.
        """
        first, chosen = chips.first, self._selection.token
        is_new = chosen is not None and len(self._flow) <= chosen < first + len(chips.texts)
        # What is set from the first token on is another run, or more of one at once: who reads keeps their place.
        keeps = self._chosen_in(self.viewport().rect()) if first == 0 else None
        joined = self._tokens.is_joined(first)
        self._tokens.replace(chips)
        other_depth = chips.depth != self._depth
        self._depth = max(1, chips.depth)
        self._place(0 if other_depth else first, joined or self._tokens.is_joined(first))
        if is_new and chosen is not None:
            self._bring_into_sight(chosen)  # it had been chosen before it was there
        elif keeps is not None and keeps < len(self._flow):
            self._bring_into_sight(keeps)

    def hold(self) -> None:
        """Have nothing shown of what comes, until `release`."""
        self._picture.hold()

    def prepare(self) -> Iterator[None]:
        """Paint what is held, unseen, in one turn."""
        self._picture.renew(self._paint)
        yield from ()

    @Slot()
    def release(self) -> None:
        """Show what is held."""
        self._picture.release()

    def set_in_flight(self, layers_run: int | None, depth: int = 0) -> None:
        """Show a dashed chip after the last token, with the layers it has run so far; None takes it away."""
        was, self._in_flight = self._in_flight, layers_run
        self._depth = depth or self._depth
        if (was is None) != (layers_run is None):
            self._place(len(self._tokens))
        elif layers_run is not None:
            self._repaint(len(self._tokens))

    def set_selection(self, selection: Selection) -> None:
        """Highlight this selection and bring it into sight."""
        self.release()
        if selection == self._selection:
            return
        before, self._selection = self._selection.token, selection
        self._describe()
        if selection.token is not None and selection.token < len(self._flow):
            self._bring_into_sight(selection.token)
        self._repaint(before, selection.token)
        if self.hasFocus():
            self.viewport().update()  # the focus ring may lie around everything

    def make_room(self, token: int) -> None:
        """Bring this 0-based token into sight, too, for the step that will choose it: then that has not to scroll.

        Not where the chosen one is out of sight, or would be, and not under the mouse: it is about to be clicked on.
        """
        rect, height = self._rect(token) if token < len(self._flow) else QRect(), self.viewport().height()
        chosen = self._chosen_in(self.viewport().rect())
        if self._hovered is not None or chosen is None or rect.isNull() or height < 2 * self._row_height() + MARGIN:
            return
        if abs(self._flow.row_of(token) - self._flow.row_of(chosen)) == 1:
            self._bring_into_sight(token)

    def set_highlight(self, tokens: IntArray) -> None:
        """Mark the chips of these 0-based tokens, and no others."""
        before, self._highlight = self._highlight, frozenset(tokens.tolist())
        self._repaint_some(before ^ self._highlight)

    def set_bookmarks(self, tokens: Iterable[int]) -> None:
        """Mark the chips of these 0-based tokens as bookmarked, and no others."""
        before, self._bookmarks = self._bookmarks, frozenset(tokens)
        self._repaint_some(before ^ self._bookmarks)
        self._describe()

    def apply_theme(self, theme: Theme) -> None:
        keeps = self._chosen_in(self.viewport().rect())
        self._chip, self._picture = ChipPainter(self.font(), theme), self._blank(theme)
        self._place(0)
        if keeps is not None:
            self._bring_into_sight(keeps)

    def clear(self) -> None:
        """Back to no tokens at all."""
        self._in_flight, self._hovered, self._selection = None, None, Selection()
        self._tokens.clear()
        self._place(0)
        self._describe()

    def words(self, token: int) -> str:
        """What hovering over a token tells."""
        if token >= len(self._tokens):
            return f"token {token + 1} · in flight · {self._in_flight or 0} of {self._depth} layers run"
        wrong = self._tokens.outcome(token) is Outcome.WRONG_EXIT
        told = self._notes(token) if self._notes and wrong else ""
        kept = "bookmarked" if token in self._bookmarks else ""
        return " · ".join(filter(None, [*self._tokens.words(token, self._depth, told), kept]))

    # ---- geometry -------------------------------------------------------------------------------------------------

    def _place(self, first: int, joined: bool = False) -> None:
        follow, before = self._at_tail(), self._flow.end
        widths = [self._chip.width(text, self._depth) for text in self._tokens.texts[first:]]
        if self._in_flight is not None:
            widths.append(self._chip.width(IN_FLIGHT_TEXT, self._depth))
        self._flow.replace(first, widths)
        self._update_scroll_bar(follow)
        if first == 0:
            self._picture.spoil(EVERYWHERE)
        else:
            self._repaint_after(first - 1, joined, max(before, self._flow.end))

    def _blank(self, theme: Theme) -> HeldPicture:
        return HeldPicture(theme.surface, self.viewport().update)

    def _repaint_after(self, box: int, joined: bool, end: tuple[int, int]) -> None:
        """Paint the chips after this one up to the `end` again; with it where its bracket reaches to them."""
        chip, below = self._rect(box), end[0] - self._flow.row_of(box)
        left = chip.left() - MARGIN if joined else chip.right() + 1
        right = EVERYWHERE.right() if below else end[1] + 2 * MARGIN
        row = QRect(left, chip.top() - MARGIN, right - left + 1, chip.height() + 2 * MARGIN)
        self._picture.spoil(row)
        self._picture.spoil(QRect(0, row.bottom() + 1, EVERYWHERE.width(), below * self._row_height()))

    def _repaint(self, *boxes: int | None) -> None:
        """Paint these chips again, their focus rings included, and no others."""
        for box in boxes:
            if box is not None and box < len(self._flow):
                self._picture.spoil(self._rect(box).adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN))

    def _repaint_some(self, boxes: frozenset[int]) -> None:
        self._repaint(*boxes) if len(boxes) < FEW else self._picture.spoil(EVERYWHERE)

    def _chosen_in(self, area: QRect) -> int | None:
        """The selected token, where something of its chip lies here."""
        chosen = self._selection.token
        known = chosen is not None and chosen < len(self._flow)
        return chosen if known and area.intersects(self._rect(cast(int, chosen))) else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        follow, top_row = self._at_tail(), max(0, self._row_at(0))
        before = event.oldSize() if event.oldSize().isValid() else self.viewport().size()  # it was never seen
        keeps = self._chosen_in(QRect(QPoint(), before))
        top_boxes = self._flow.boxes_in(top_row)
        # As if the bar were there: rows shall not be broken anew, and all be painted, when it comes.
        if self._flow.set_available(self.width() - self.verticalScrollBar().sizeHint().width() - 2 * MARGIN):
            self._picture.spoil(EVERYWHERE)
        self._update_scroll_bar(follow)
        if not follow and top_boxes:
            self.verticalScrollBar().setValue(self._flow.row_of(top_boxes[0]) * self._row_height())
        if keeps is not None:
            self._bring_into_sight(keeps)
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange) and hasattr(self, "_picture"):
            self.apply_theme(self._chip.theme)
        super().changeEvent(event)

    # ---- painting -------------------------------------------------------------------------------------------------

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._picture.scroll(dy)
        self._picture.show_again(EVERYWHERE)

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self.viewport()) as painter:
            self._picture.show(painter, self.viewport().size(), self._paint)
            if self.hasFocus():
                token = self._selection.token
                chip = self._rect(token) if token is not None and token < len(self._flow) else None
                if token is None or chip is not None:
                    paint_ring(painter, chip, self.viewport().rect(), self._chip.theme)

    def _paint(self, painter: QPainter, part: QRect) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for row in range(max(0, self._row_at(part.top())), self._row_at(part.bottom()) + 1):
            self._paint_row(painter, row, part)

    def _paint_row(self, painter: QPainter, row: int, part: QRect) -> None:
        for box in self._flow.boxes_between(row, part.left() - MARGIN, part.right() - MARGIN):
            rect = self._rect(box)
            if part.intersects(rect):
                self._chip.paint(painter, rect, self._state(box))
        paint_brackets(painter, self._tokens.passes, self._flow.boxes_in(row), self._rect, self._chip.theme)

    def _state(self, box: int) -> ChipState:
        chosen, hovered = box == self._selection.token, box == self._hovered
        if box >= len(self._tokens):
            run = self._in_flight or 0
            accent = QColor(self._chip.theme.accent)
            share = run / self._depth
            return ChipState(IN_FLIGHT_TEXT, str(run), share, accent, None, chosen, hovered, in_flight=True)
        exit_layer, mark, kept = self._tokens.exit_layers[box], self._tokens.mark(box), box in self._bookmarks
        colour = self._chip.colour(exit_layer, self._depth)
        text, share, lit = self._tokens.texts[box], exit_layer / self._depth, box in self._highlight
        return ChipState(text, str(exit_layer), share, colour, mark, chosen, hovered, False, lit, kept)

    def _describe(self) -> None:
        token = self._selection.token
        keys = "Arrow keys, Home, End, Page Up and Page Down move the selection."
        known = token is not None and token < len(self._flow)
        self.setAccessibleDescription(self.words(cast(int, token)) if known else f"The generated tokens. {keys}")

    # ---- keyboard and mouse ---------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page = max(1, self.viewport().height() // self._row_height() - 1)
        target = moved_by(event, self._flow, self._selection.token, page)
        if target is None:
            # Not to the scroll area: it would scroll, and the selection keys must mean one thing only.
            event.ignore()
            return
        self.selected.emit(Selection(target))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        box = self._box_under(event.position().toPoint())
        if box is not None and event.button() is Qt.MouseButton.LeftButton:
            self.selected.emit(Selection(box))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()  # It belongs to the press, which was taken.

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._box_under(event.position().toPoint()))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Leave:
            self._hover(None)
        elif event.type() is QEvent.Type.ToolTip:
            self._show_tool_tip(cast("QHelpEvent", event))
            return True
        return super().viewportEvent(event)

    def _hover(self, box: int | None) -> None:
        if box != self._hovered:
            self.release()
            before, self._hovered = self._hovered, box
            self._repaint(before, box)

    def _show_tool_tip(self, event: QHelpEvent) -> None:
        box = self._box_under(event.pos())
        if box is None:
            QToolTip.hideText()
            return
        # Rich text, because only that wraps; a token may be hundreds of characters long.
        text = f"<p style='white-space: pre-wrap'>{html.escape(self.words(box))}</p>"
        QToolTip.showText(event.globalPos(), text, self.viewport(), self._rect(box))
