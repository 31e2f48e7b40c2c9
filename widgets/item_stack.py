"""All that a plot draws over its view, as one item of the scene.

Qt asks every item of a scene for its bounds and its paint, and each answer in Python takes its time; a plot has eight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyqtgraph as pg
from PySide6.QtCore import QRect, QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from widgets.kept_picture import KeptPicture
from widgets.painting import guarded
from widgets.plot_items import PixelItem, Pixels


class ItemStack(pg.GraphicsObject):  # type: ignore[misc]  # pyqtgraph has no types
    """Fills the view and has its items drawn, the lowest first.

    After `keep` it draws those that do not move into a picture, and only where they have changed: a cursor that moves
    costs no more than the cursor. What moves then lies below or above all that does not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setFlag(self.GraphicsItemFlag.ItemUsesExtendedStyleOption)  # or Qt does not say what is exposed
        self._items: list[tuple[float, PixelItem]] = []
        self._kept: KeptPicture | None = None
        self._pixels: Pixels | None = None
        """What was painted last was painted for."""
        self.apart = False
        """Whether the next frame is this plot's alone, or the window's for all that has changed."""
        self._held: list[QRectF | None] | None = None
        """While changes are held: the parts that are to be painted anew."""
        self._drawn: list[QRectF | None] = []
        """Of them, those that are in the picture already."""
        self._half: list[QRect] = []
        """Parts of the picture in which only the lowest item is drawn so far, in pixels."""

    @property
    def items(self) -> list[PixelItem]:
        """From the lowest to the highest."""
        return [item for _, item in self._items]

    def keep(self) -> None:
        """From now on."""
        self._kept = KeptPicture("transparent")

    def add(self, item: PixelItem, depth: float) -> None:
        """Draw this, too; above what has a lower depth, and what was added before with the same."""
        item.host = self
        self._items.append((depth, item))
        self._items.sort(key=lambda entry: entry[0])
        self.renew(None)

    def renew(self, part: QRectF | None) -> None:
        """Draw the items anew in this part, in data coordinates; everywhere where none is named."""
        if self._held is not None:
            self._held.append(part)
            return
        if self._kept is not None and self._pixels is not None:
            self._kept.spoil(self._pixels.rounded(part))
        self.update() if part is None else self.update(part)

    @property
    def is_held(self) -> bool:
        """Whether changes wait for `release`."""
        return self._held is not None

    def hold(self) -> None:
        """Have nothing painted of what changes in items that stay, until `release`. After `keep` only."""
        if self._held is None:
            self._held = []

    def prepare(self, x: Sequence[float], y: Sequence[float]) -> Iterator[None]:
        """Draw into the picture what is held, as it will be seen once these are the ranges; none of it shows yet.

        Two turns: the lowest item is often an image of the whole plot.
        """
        held = self._held
        if self._kept is None or self._pixels is None or not held:
            return
        pixels, count = self._pixels.ranging(x, y), len(held)
        self._spoil_half()
        for part in [None] if pixels is not self._pixels else held:
            self._kept.spoil(pixels.rounded(part))
        self._pixels = pixels
        half = self._half = self._kept.renew(partial(self._draw_part, self._staying[:1], pixels))
        yield
        if self._half is half:  # else it has been painted, or released, meanwhile
            self._half = []
            self._kept.add(half, partial(self._draw_part, self._staying[1:], pixels))
            self._drawn, self._held = self._drawn + held[:count], held[count:]

    def release(self) -> None:
        """Have everything painted that was held."""
        self._spoil_half()
        drawn, held, self._drawn, self._held = self._drawn, self._held or [], [], None
        for part in drawn:
            self.update() if part is None else self.update(part)
        for part in held:
            self.renew(part)

    def _spoil_half(self) -> None:
        """Nothing may be shown of what only one turn of `prepare` has drawn."""
        half, self._half = self._half, []
        if self._kept is not None:
            for part in half:
                self._kept.spoil(part)

    def update(self, part: QRectF | None = None) -> None:
        """Have this part of the view, in data coordinates, painted in the window's next frame, together with all else
        that has changed; apart, the scene has it painted in a frame of its own."""
        widget = self.getViewWidget()
        if widget is None or self.apart:
            super().update() if part is None else super().update(part)
            return
        place = widget.mapFromScene(self.mapRectToScene(self.view_area() if part is None else part)).boundingRect()
        widget.viewport().update(place.adjusted(-2, -2, 2, 2))

    def view_area(self) -> QRectF:
        """What the view shows, in data coordinates."""
        return QRectF(self.viewRect() or QRectF())

    def pixel_width(self) -> float:
        """Width of a logical pixel in data coordinates; 0 before there is a view. pyqtgraph's own takes long."""
        view = self.getViewBox()
        return float(self.view_area().width() / view.width()) if view is not None and view.width() > 0 else 0.0

    def boundingRect(self) -> QRectF:
        return self.view_area()

    def viewRangeChanged(self) -> None:
        super().viewRangeChanged()
        self.prepareGeometryChange()

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()
        self.prepareGeometryChange()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        with guarded(painter):
            to_pixels = painter.worldTransform()
            area = to_pixels.mapRect(self.view_area())
            if area.width() < 1 or area.height() < 1:
                return
            ratio = painter.device().devicePixelRatioF()
            pixels = Pixels(to_pixels.m11(), to_pixels.dx(), to_pixels.m22(), to_pixels.dy(), area, ratio)
            exposed = to_pixels.mapRect(option.exposedRect)
            painter.resetTransform()
            if self._kept is None:
                self._draw(self.items, painter, pixels, exposed)
            else:
                self._show(self._kept, painter, pixels, exposed)

    def _show(self, kept: KeptPicture, painter: QPainter, pixels: Pixels, exposed: QRectF) -> None:
        """Below and above the picture of the items that stay, draw those that move."""
        self._spoil_half()
        if self._pixels is not None and pixels.is_near(self._pixels):
            pixels = self._pixels  # items keep what they have made for exactly these
        else:
            self._pixels = pixels
            kept.spoil(pixels.rounded(None))
        moving = [at for at, item in enumerate(self.items) if item.moving]
        below = next((at for at, item in enumerate(self.items) if not item.moving), len(moving))
        self._draw([self.items[at] for at in moving if at < below], painter, pixels, exposed)
        whole = pixels.rounded(None)
        draw = partial(self._draw_part, self._staying, pixels)
        kept.show(painter, QSize(whole.right() + 1, whole.bottom() + 1), draw)
        self._draw([self.items[at] for at in moving if at > below], painter, pixels, exposed)

    @property
    def _staying(self) -> list[PixelItem]:
        return [item for item in self.items if not item.moving]

    def _draw_part(self, items: list[PixelItem], pixels: Pixels, painter: QPainter, part: QRect) -> None:
        self._draw(items, painter, pixels, QRectF(part))

    def _draw(self, items: list[PixelItem], painter: QPainter, pixels: Pixels, exposed: QRectF) -> None:
        for item in items:
            item.exposed = exposed
            with guarded(painter):
                item.draw(painter, pixels)
