"""The tour of the views on the sample session: offered once, taken and left at any time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Slot

from app.actions import explain
from app.run_state import RunState
from app.tour_card import TourCard, TourFrame, TourOffer
from app.tour_steps import STOPS, Stop, token_for
from resources.paths import SAMPLE
from widgets.selection import Selection

if TYPE_CHECKING:
    from app.workbench import Workbench

BUSY = (RunState.LOADING, RunState.RUNNING)
"""States that the tour neither begins in nor is offered in."""


class Tour(QObject):
    """Leads through the stops; stands in nobody's way, as every panel stays usable meanwhile."""

    def __init__(self, work: Workbench) -> None:
        super().__init__(work)
        self._work, self._window, self._session = work, work.window, work.session
        self._at: int | None = None
        self._awaits = False
        """Whether the sample session is being opened for it."""
        self.card: TourCard | None = None
        self.frame: TourFrame | None = None
        self.offered: TourOffer | None = None
        self._may_offer = False
        self._window.commands["tour"].triggered.connect(self.begin)
        work.files.opened.connect(self._opened)
        self._session.trace_changed.connect(self._follow_trace)
        self._window.installEventFilter(self)

    @property
    def stop(self) -> Stop | None:
        """Where the tour is; None while none is under way."""
        return STOPS[self._at] if self._at is not None else None

    # The offer

    def offer(self) -> None:
        """Offer the tour in a corner, once for all launches, as soon as nothing is loaded or running."""
        self._may_offer = not self._window.preferences.desk.tour_offered
        self.show_state()

    @Slot()
    def decline(self) -> None:
        """Offer it no more; the Help menu keeps it."""
        self._may_offer = False
        if self.offered is not None:
            self._window.status.removeWidget(self.offered)
            self.offered.deleteLater()
            self.offered = None

    def _show_offer(self) -> None:
        self._window.preferences.desk.tour_offered = True
        self.offered = TourOffer()
        self.offered.taken.connect(self.begin)
        self.offered.declined.connect(self.decline)
        self._window.status.addPermanentWidget(self.offered)

    # The way

    @Slot()
    def begin(self) -> None:
        """Open the sample session, and show the first stop once it is there."""
        self.decline()
        self.end()
        self._awaits = True
        self._work.files.open_sample()

    @Slot()
    def forward(self) -> None:
        if self._at is not None:
            self._go(self._at + 1)

    @Slot()
    def backward(self) -> None:
        if self._at:
            self._go(self._at - 1)

    @Slot()
    def end(self) -> None:
        """Take card and frame away; everything else stays as it is now."""
        self._at, self._awaits = None, False
        for part in (self.card, self.frame):
            if part is not None:
                part.hide()
                part.deleteLater()
        self.card = self.frame = None

    @Slot(object)
    def _opened(self, path: Path) -> None:
        if self._awaits and path == SAMPLE:
            self._awaits = False
            self._work.views.flush()  # a view that has not drawn a token yet cannot bring it into sight
            self._make()
            self._go(0)

    def _make(self) -> None:
        self.frame, self.card = TourFrame(self._window), TourCard(self._window)
        self.card.forward.connect(self.forward)
        self.card.backward.connect(self.backward)
        self.card.ended.connect(self.end)

    def _go(self, at: int) -> None:
        if at >= len(STOPS) or self.card is None:
            self.end()
            return
        self._at, stop = at, STOPS[at]
        trace = self._session.trace
        if trace is not None and (token := token_for(trace, stop)) is not None:
            self._session.select(Selection(token))
        if self._window.host.is_maximised:
            self._window.host.maximise(stop.place.key)
        panel = self._window.panels[stop.place.key]
        panel.show()
        panel.raise_()
        self.card.show_stop(at + 1, len(STOPS), stop.place.title, stop.text)
        self._place(still=self._window.preferences.desk.look.still)
        self.card.next.setFocus()

    def _place(self, *, still: bool) -> None:
        stop = self.stop
        if stop is None or self.card is None or self.frame is None:
            return
        panel = self._window.panels[stop.place.key]
        around = QRect(panel.mapTo(self._window, QPoint()), panel.size()) if not panel.isFloating() else QRect()
        if panel.isFloating():
            self.frame.hide()
        else:
            self.frame.surround(around, still=still)
        host = self._window.host
        tabs = host.tabs_of(panel)
        tabs.moveTopLeft(host.mapTo(self._window, tabs.topLeft()))
        self.card.stand_beside(around.united(tabs), self._room())

    def _room(self) -> QRect:
        """The window without menu, toolbar and status bar."""
        middle = self._window.centralWidget()
        return middle.geometry() if middle is not None else self._window.rect()

    # What goes on beside it

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Card and frame follow the window's size."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._place(still=True)
        return False

    def show_state(self) -> None:
        """Let the tour be taken, or not, as the session's state has it."""
        busy = self._session.state in BUSY
        explain(self._window.commands["tour"], not busy, "wait until nothing is loaded or run")
        if busy:
            self.end()
            if self.offered is not None:
                self.decline()
        elif self._may_offer and self.offered is None:
            self._show_offer()

    @Slot()
    def _follow_trace(self) -> None:
        """Who takes the sample session away has seen enough."""
        if self._at is not None and self._session.trace is None:
            self.end()
