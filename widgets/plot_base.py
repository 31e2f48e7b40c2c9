"""What all plots have in common: one view with two light axes, a hover readout, the keyboard, and a spoken summary."""

from __future__ import annotations

from abc import abstractmethod

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QFont,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QVBoxLayout, QWidget

from widgets.item_stack import ItemStack
from widgets.painting import painting
from widgets.palette import DARK, Theme
from widgets.plot_items import PixelItem, Ticks
from widgets.quiet_label import QuietLabel
from widgets.selection import Selection
from widgets.text_axis import TextAxis
from widgets.theme import RADIUS, SMALL, mixed

_RING = 2
"""Width of the focus ring in pixels."""


class PlotView(QWidget):
    """A plot in a card. Subclasses add items to `self.view` and say what a place in it means."""

    selected = Signal(object)
    """A `Selection` that the user asks for."""
    _type_size = 0.0
    """Points of the type that axes and items were made for; 0 before the first theme."""

    def __init__(self, name: str, captions: tuple[str, str], ticks: tuple[Ticks, Ticks], parent: QWidget | None = None):
        super().__init__(parent)
        self.theme: Theme = DARK
        self.selection = Selection()
        self._top_room = 0.0
        self._y_bounds = (0.0, 1.0)
        self._hover_at: QPointF | None = None
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(220, 120)
        self._build(captions, ticks)

    def _build(self, captions: tuple[str, str], ticks: tuple[Ticks, Ticks]) -> None:
        self.canvas = self._make_canvas()
        self._make_plot(captions, ticks)
        self._connect()
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(_RING, _RING, _RING, _RING)
        self.column.setSpacing(2)
        self.column.addWidget(self.canvas, 1)
        self._readout = _overlay(self, "readout", Qt.TextFormat.RichText)
        self._message = _overlay(self, "message", Qt.TextFormat.PlainText)
        self._message.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.label.setWordWrap(True)

    def _make_canvas(self) -> pg.GraphicsView:
        canvas = pg.GraphicsView(self)
        for part in (canvas, canvas.viewport()):  # the plot takes the keys, as a whole
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # It has a ground of its own: what lies below need not be painted with it.
        canvas.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        canvas.viewport().installEventFilter(self)
        keep_room(canvas)
        return canvas

    def _make_plot(self, captions: tuple[str, str], ticks: tuple[Ticks, Ticks]) -> None:
        self.view = pg.ViewBox(enableMenu=False)
        self.x_axis = TextAxis("bottom", captions[0], ticks[0])
        self.y_axis = TextAxis("left", captions[1], ticks[1])
        self.x_axis.linkToView(self.view)
        self.y_axis.linkToView(self.view)
        grid = pg.GraphicsLayout()
        grid.setContentsMargins(2, 2, 10, 2)
        grid.setSpacing(0)
        grid.addItem(self.y_axis, 0, 0)
        grid.addItem(self.view, 0, 1)
        grid.addItem(self.x_axis, 1, 1)
        self.canvas.setCentralItem(grid)
        self._grid, self._stack = grid, ItemStack()
        self.view.addItem(self._stack, ignoreBounds=True)
        self.view.disableAutoRange()
        self.view.setMouseEnabled(x=False, y=False)
        self.view.setDefaultPadding(0)

    def _connect(self) -> None:
        self.view.sigResized.connect(self._fit)
        self.view.sigRangeChanged.connect(self._turn_to_range)
        scene = self.canvas.scene()
        scene.sigMouseMoved.connect(self._on_hover)
        scene.sigMouseClicked.connect(self._on_click)

    def add(self, item: PixelItem, depth: float) -> None:
        """Put an item into the plot, once; higher depths lie on top."""
        self._stack.add(item, depth)

    def paint_apart(self, apart: bool) -> None:
        """Paint what changes in frames of this plot's own: several plots of a run that grows would make one frame long.
        Otherwise all that a step changes is seen at once."""
        self._stack.apart = apart

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def readout(self, x: float, y: float) -> str | None:
        """What is at this place of the plot, as HTML for the hover; None where nothing is."""

    @abstractmethod
    def pick(self, x: float, y: float) -> Selection | None:
        """What a click here selects."""

    @abstractmethod
    def step(self, key: Qt.Key) -> Selection | None:
        """Where an arrow key, Home, End or a page key leads; None where it leads nowhere."""

    @abstractmethod
    def show_selection(self) -> None:
        """Bring the items in line with `self.selection`."""

    def hover(self, x: float | None, y: float | None) -> None:
        """The pointer is here now, or left (None)."""

    # What the window calls.

    def set_selection(self, selection: Selection) -> None:
        """Highlight this; emits nothing."""
        if selection != self.selection:
            self.selection = selection
            self.show_selection()

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self.theme = theme
        self.canvas.setBackground(QColor(theme.surface))
        self._type_size = self.font().pointSizeF()
        font = QFont(self.font())
        font.setPointSizeF(self._type_size * SMALL)
        for axis in (self.x_axis, self.y_axis):
            axis.apply_theme(theme, font)
        self._grid.layout.activate()
        for item in self._stack.items:
            item.apply_theme(theme)
        self._readout.setStyleSheet(_READOUT.format(t=theme, border=mixed(theme.muted, theme.surface, 0.5)))
        self._message.setStyleSheet(f"color: {theme.muted}; background: transparent;")
        self._fit()
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a new size of type, which may come after the theme that asked for it."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange and self._type_size not in (0.0, self.font().pointSizeF()):
            self.apply_theme(self.theme)

    def set_message(self, text: str | None) -> None:
        """Say in the plot's place why there is nothing to see; None shows the plot."""
        self._message.setText(text or "")
        self._message.setVisible(text is not None)
        self.canvas.setVisible(text is None)
        if text is not None:
            self._readout.hide()
            self.describe(text)

    @property
    def message(self) -> str:
        """The sentence shown in place of the plot; empty while the plot is shown."""
        return self._message.text()

    def warm_up(self) -> None:
        """Paint the plot once, unseen: the first painting takes several times as long as those that follow."""
        self.canvas.grab()

    def describe(self, summary: str) -> None:
        """The sentence that a screen reader says of this plot."""
        if summary != self.accessibleDescription():
            self.setAccessibleDescription(summary)
            if QAccessible.isActive():
                QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.DescriptionChanged))

    def set_y_range(self, low: float, high: float, top_room: float = 0.0) -> None:
        """Show `low`…`high`, leaving `top_room` pixels above for marks whatever the plot's height."""
        if (low, high, top_room) != (*self._y_bounds, self._top_room):
            self._y_bounds, self._top_room = (low, high), top_room
            self._fit()

    # What Qt calls.

    def sizeHint(self) -> QSize:
        return QSize(560, 240)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._message.setGeometry(self.rect().adjusted(16, 8, -16, -8))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground, and the focus ring around everything."""
        with painting(self) as painter:
            painter.fillRect(self.rect(), QColor(self.theme.surface))
            if self.hasFocus():
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(QPen(QColor(self.theme.accent), _RING))
                ring = QRectF(self.rect()).adjusted(_RING / 2, _RING / 2, -_RING / 2, -_RING / 2)
                painter.drawRoundedRect(ring, RADIUS - 2, RADIUS - 2)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        wanted = None if event.modifiers() & _COMMANDS else self.step(Qt.Key(event.key()))
        if wanted is None:
            super().keyPressEvent(event)
            return
        event.accept()
        self.selected.emit(wanted)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Leave:
            self.leave()
        return super().eventFilter(watched, event)

    def leave(self) -> None:
        """Take the hover readout away."""
        self._hover_at = None
        self._readout.hide()
        self.hover(None, None)

    def refresh_hover(self) -> None:
        """Renew the readout after the data below the pointer changed."""
        if self._hover_at is not None:
            self._on_hover(self._hover_at)

    def _turn_to_range(self, *_: object) -> None:
        """At once: left to the first painting, as pyqtgraph does, it would have all painted a second time."""
        self.view.updateMatrix()

    def _fit(self) -> None:
        self.view.setYRange(*self._y_range(), padding=0)

    def _y_range(self) -> tuple[float, float]:
        low, high = self._y_bounds
        height = self.view.height()
        if height > self._top_room:
            high = low + (high - low) * height / (height - self._top_room)
        return low, high

    def _on_hover(self, at: QPointF) -> None:
        if not self.view.sceneBoundingRect().contains(at):
            self.leave()
            return
        self._hover_at = QPointF(at)
        place = self.view.mapSceneToView(at)
        self.hover(place.x(), place.y())
        text = self.readout(place.x(), place.y())
        self._readout.setVisible(text is not None)
        if text is not None:
            self._readout.setText(text)
            self._place_readout(self.canvas.mapFromScene(at) + self.canvas.pos())

    def _place_readout(self, at: object) -> None:
        """Beside the pointer, on the side that has room; inside of the plot always."""
        size = self._readout.label.sizeHint()
        self._readout.resize(size)
        x, y = at.x() + 16, at.y() - size.height() - 10  # type: ignore[attr-defined]
        if x + size.width() > self.width() - 4:
            x = at.x() - size.width() - 16  # type: ignore[attr-defined]
        self._readout.move(max(x, 4), min(max(y, 4), max(self.height() - size.height() - 4, 4)))
        self._readout.raise_()

    def _on_click(self, event: object) -> None:
        at = event.scenePos()  # type: ignore[attr-defined]
        if not self.view.sceneBoundingRect().contains(at):
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        place = self.view.mapSceneToView(at)
        if event.double():  # type: ignore[attr-defined]
            self.double_clicked()
            return
        wanted = self.pick(place.x(), place.y())
        if wanted is not None:
            self.selected.emit(wanted)

    def double_clicked(self) -> None:
        """Undo panning and zooming, where there is any."""


def keep_room(widget: QWidget) -> None:
    """Leave a widget its room while a message stands in its place: else all is laid out anew when it comes back."""
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


_COMMANDS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
_READOUT = (
    "QLabel#readout {{ background: {t.raised}; color: {t.text}; border: 1px solid {border};"
    " border-radius: 5px; padding: 5px 8px; }}"
)


def _overlay(parent: QWidget, name: str, text_format: Qt.TextFormat) -> QuietLabel:
    """Words over the plot; the readout changes with every move of the mouse."""
    overlay = QuietLabel(parent, placed=True)
    overlay.label.setObjectName(name)
    overlay.label.setTextFormat(text_format)
    overlay.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    overlay.hide()
    return overlay
