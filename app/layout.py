"""Puts the panels where a layout says, maximises one, and remembers where the user left them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from weakref import ref

from PySide6.QtCore import QByteArray, QChildEvent, QEvent, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStyle, QTabBar, QVBoxLayout, QWidget

from app.layouts import FIRST, NAMED, Group, Layout
from app.places import TOOLS
from app.settings import LAYOUT_VERSION, Preferences

SIZE = (1520, 940)
MARGIN = 8
LEFT_WIDTH = 288
PROMPT_LEAST = 150
"""Height in pixels that the prompt keeps in a low window."""
GRIP = 80
"""Pixels of a window's upper edge that have to be on a screen, for it to be dragged by."""
DRAGGED_MS = 100
"""Until it is looked again whether a panel is still being dragged."""
HORIZONTAL, VERTICAL = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


class DockHost(QMainWindow):
    """Holds the panels. A main window inside the main window, because only so can there be room around the docks."""

    maximised_changed = Signal(bool)
    """Whether one panel has all the room now."""
    child_polished = Signal(object)
    """A widget that lies in it will be seen for the first time: a row of tabs."""

    def __init__(self, docks: Mapping[str, QDockWidget]) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self.setAnimated(False)  # panels change places at once, for who wants no motion, too
        self._docks = docks
        self._layout = FIRST
        self._untouched = True
        self._before: QByteArray | None = None
        """Where everything was before one panel was maximised."""
        self._alone: QDockWidget | None = None
        """The panel that was maximised last."""
        self._put_away: list[QDockWidget] = []
        """Those that were hidden for it."""
        self._in_front: list[QDockWidget] = []
        """Of these, those that lay behind no other."""
        self._beside: list[QDockWidget] = []
        """Those that floated meanwhile."""
        self._tidy = QTimer(self, singleShot=True, interval=0)
        self._tidy.timeout.connect(self._settled)
        self.arrange()
        host = ref(self)

        def see() -> None:
            """Not a method: as the host goes its panels still tell of each other, and must find nobody there."""
            if (there := host()) is not None:
                there._tidy.start()

        for dock in docks.values():
            dock.topLevelChanged.connect(self._touch)
            dock.visibilityChanged.connect(see)

    # Layouts

    def arrange(self, layout: Layout = FIRST) -> None:
        """Put every panel where the layout has it; those that it does not name are hidden."""
        self._forget_maximised()
        self._layout = layout = layout.among(self._docks)
        self._untouched = False  # what is resized meanwhile must not look for panels that are not there yet
        for dock in self._docks.values():
            dock.setFloating(False)
            self.removeDockWidget(dock)
        self._place_rows(layout)
        self._place_column(layout.left)
        for group in layout.groups:
            self._pile(group)
        self._hide_others(layout)
        for group in layout.groups:
            self._docks[group.keys[0]].raise_()
        self._untouched = True
        self._share()
        self._tidy.start()

    def restore(self, state: QByteArray) -> bool:
        """Put the panels where they were; False, and everything in its first place, where that cannot be read."""
        self._forget_maximised()
        self._untouched = False
        found = self.restoreState(state, LAYOUT_VERSION)
        if not found:
            self.arrange()
        self._tidy.start()
        return found

    @property
    def shared_as(self) -> str:
        """The layout by whose shares the room is divided; "" once the user has moved something."""
        known = {"first": FIRST, **NAMED}
        names = (name for name, layout in known.items() if layout.among(self._docks) == self._layout)
        return next(names, "") if self._untouched else ""

    def share_as(self, name: str) -> None:
        """Divide the room by a layout's shares from now on, as nothing was moved since it was chosen."""
        layout = {"first": FIRST, **NAMED}.get(name)
        if layout is not None:
            self._layout, self._untouched = layout.among(self._docks), True
            self.settle()

    def state(self) -> QByteArray:
        """Where the panels are, or were before one was maximised."""
        return self._before if self._before is not None else self.saveState(LAYOUT_VERSION)

    # One panel over all

    @property
    def is_maximised(self) -> bool:
        return self._before is not None

    def maximise(self, key: str) -> None:
        """Give one panel all the room, or give the others theirs back."""
        if self._before is not None:
            before, untouched = self._before, self._untouched
            self.restore(before)
            self._untouched = untouched
            self.settle()
            return
        self._before, self._alone = self.saveState(LAYOUT_VERSION), self._docks[key]
        others = [dock for other, dock in self._docks.items() if other != key and not dock.isFloating()]
        self._put_away = [dock for dock in others if not dock.isHidden()]
        self._in_front = self._seen()
        self._beside = [dock for other, dock in self._docks.items() if other != key and dock.isFloating()]
        for dock in others:
            dock.hide()
        self._alone.setFloating(False)  # in a window of its own it would leave this one empty
        self._alone.show()
        self.maximised_changed.emit(True)

    def _give_back(self) -> None:
        """Who closes the panel that has all the room, takes it out, or puts one back beside it, wants the others back.

        Called between two events only: as Qt takes a panel out it hides it for a moment, and would crash if all were
        laid out anew meanwhile; nor may anything change while it is still dragged.
        """
        if self._before is None or self._alone is None:
            return
        if self._alone.isHidden():
            self.maximise(self._alone.objectName())
        elif not (self._alone.isFloating() or any(not dock.isFloating() for dock in self._beside)):
            return
        elif QGuiApplication.mouseButtons() == Qt.MouseButton.NoButton:
            self._forget_maximised()
            in_front = [*self._in_front, *self._seen()]
            for dock in self._put_away:
                dock.show()  # which brings it before those that it shares its place with
            for dock in in_front:
                dock.raise_()
        else:
            QTimer.singleShot(DRAGGED_MS, self._tidy, self._tidy.start)

    def _seen(self) -> list[QDockWidget]:
        """The panels in sight that do not float."""
        return [dock for dock in self._docks.values() if not (dock.isFloating() or dock.visibleRegion().isEmpty())]

    def _forget_maximised(self) -> None:
        if self._before is not None:
            self._before = None
            self.maximised_changed.emit(False)

    # Sizes

    def event(self, event: QEvent) -> bool:
        """A press that reaches the host itself is on a line between panels: from now on the sizes are the user's."""
        if event.type() is QEvent.Type.MouseButtonPress:
            self._touch()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Sizes given before the window has its own are lost; they are given again until the user sees them."""
        super().resizeEvent(event)
        self.settle()
        self._tidy.start()

    def childEvent(self, event: QChildEvent) -> None:
        """Tab bars come and go as panels are laid behind each other."""
        super().childEvent(event)
        if event.type() is not QEvent.Type.ChildPolished:
            return  # a child that is being removed may be half gone, and must not be touched
        bar = event.child()
        if isinstance(bar, QTabBar):
            bar.setElideMode(Qt.TextElideMode.ElideRight)
            bar.setUsesScrollButtons(True)
            bar.setAccessibleName("Panels behind each other")
            self._tidy.start()
        if isinstance(bar, QWidget):
            self.child_polished.emit(bar)

    @Slot()
    def _settled(self) -> None:
        """Qt forgets tab bars of layouts that were replaced before they were shown, and leaves them where they were."""
        self._give_back()
        panels = [dock.geometry() for dock in self._docks.values() if dock.isVisible() and not dock.isFloating()]
        for bar in self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            place = bar.geometry()
            if not self.rect().intersects(place) or any(place.intersects(panel) for panel in panels):
                bar.hide()

    def tabs_of(self, dock: QDockWidget) -> QRect:
        """Where the tabs of a panel lie that has others behind it; an empty rectangle for one without."""
        for bar in self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if bar.isVisible() and dock.windowTitle() in map(bar.tabText, range(bar.count())):
                return bar.geometry()
        return QRect()

    @Slot()
    def settle(self) -> None:
        """Share the room anew, unless the user has moved something before."""
        if self._untouched and self._before is None:
            self._share()

    @Slot()
    def _touch(self) -> None:
        self._untouched = False

    def _place_rows(self, layout: Layout) -> None:
        fronts = [[self._docks[group.keys[0]] for group in row.groups] for row in layout.rows]
        for index, (first, *_) in enumerate(fronts):
            if index:
                self.splitDockWidget(fronts[index - 1][0], first, VERTICAL)
            else:
                self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, first)
        for row in fronts:
            for left, right in pairwise(row):
                self.splitDockWidget(left, right, HORIZONTAL)

    def _place_column(self, groups: tuple[Group, ...]) -> None:
        fronts = [self._docks[group.keys[0]] for group in groups]
        for index, front in enumerate(fronts):
            if index:
                self.splitDockWidget(fronts[index - 1], front, VERTICAL)
            else:
                self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, front)

    def _pile(self, group: Group) -> None:
        front, *behind = (self._docks[key] for key in group.keys)
        for dock in behind:
            self.tabifyDockWidget(front, dock)
        for dock in (front, *behind):
            dock.show()

    def _hide_others(self, layout: Layout) -> None:
        """Behind the panel that each belongs to, so that it comes up there once it is asked for."""
        homes = {place.key: place.behind for place in TOOLS}
        fallback = layout.groups[-1].keys[0]
        for key, dock in self._docks.items():
            if key not in layout.shown:
                home = homes.get(key, "")
                self.tabifyDockWidget(self._docks[home if home in layout.shown else fallback], dock)
                dock.hide()

    def _share(self) -> None:
        layout = self._layout
        gap = self.style().pixelMetric(QStyle.PixelMetric.PM_DockWidgetSeparatorExtent, None, self)
        width, height = self.width() - (LEFT_WIDTH if layout.left else 0), self.height()
        room = height - (len(layout.rows) - 1) * gap
        heights = [round(row.share * room) for row in layout.rows]
        fronts = [[self._docks[group.keys[0]] for group in row.groups] for row in layout.rows]
        if layout.left:
            self.resizeDocks([self._docks[layout.left[0].keys[0]], fronts[0][0]], [LEFT_WIDTH, width], HORIZONTAL)
            self._share_column(layout.left, heights[0], height - gap)
        self.resizeDocks([row[0] for row in fronts], heights, VERTICAL)
        for row, docks in zip(layout.rows, fronts, strict=True):
            whole = sum(group.weight for group in row.groups)
            self.resizeDocks(docks, [round(width * group.weight / whole) for group in row.groups], HORIZONTAL)

    def _share_column(self, groups: tuple[Group, ...], beside: int, room: int) -> None:
        docks = [self._docks[group.keys[0]] for group in groups]
        if groups[0].keys[0] == "prompt" and len(groups) == 2:
            # As high as the tokens beside it, so that the panels' edges line up; the engine's many inputs get the rest.
            prompt = max(PROMPT_LEAST, beside)
            sizes = [prompt, room - prompt]
        else:
            whole = sum(group.weight for group in groups)
            sizes = [round(room * group.weight / whole) for group in groups]
        self.resizeDocks(docks, sizes, VERTICAL)


def framed(host: DockHost) -> QWidget:
    """The host with room around it."""
    frame = QWidget()
    column = QVBoxLayout(frame)
    column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
    column.addWidget(host)
    return frame


def restore(window: QMainWindow, host: DockHost, preferences: Preferences) -> None:
    """Put window and panels where they were left; where nothing usable is remembered, where they were made."""
    geometry, layout = preferences.geometry, preferences.layout
    if geometry.isEmpty() or not window.restoreGeometry(geometry):
        window.resize(*SIZE)
    if not layout.isEmpty() and host.restore(layout):
        host.share_as(preferences.desk.shared_layout)
    bring_back(window, host)


def remember(window: QMainWindow, host: DockHost, preferences: Preferences) -> None:
    """Keep where window and panels are."""
    preferences.geometry = window.saveGeometry()
    preferences.layout = host.state()
    preferences.desk.shared_layout = host.shared_as


def bring_back(window: QWidget, host: DockHost) -> None:
    """Move the window and floating panels onto a screen that is there, where none shows their upper edge."""
    floating = [dock for dock in host.findChildren(QDockWidget) if dock.isFloating()]
    for one in (window, *floating):
        if not _can_be_dragged(one):
            room = QGuiApplication.primaryScreen().availableGeometry()
            one.resize(one.size().boundedTo(room.size()))
            one.move(room.center() - one.rect().center())


def _can_be_dragged(window: QWidget) -> bool:
    frame = window.frameGeometry()
    edge = frame.adjusted(0, 0, 0, MARGIN - frame.height())
    seen = (screen.availableGeometry().intersected(edge) for screen in QGuiApplication.screens())
    return any(part.width() >= min(GRIP, frame.width()) and part.height() > 0 for part in seen)
