"""All that a plot draws over its view, as one item of the scene.

Qt asks every item of a scene for its bounds and its paint, and each answer in Python takes its time; a plot has eight.
"""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from widgets.painting import guarded
from widgets.plot_items import PixelItem, Pixels


class ItemStack(pg.GraphicsObject):  # type: ignore[misc]  # pyqtgraph has no types
    """Fills the view and has its items drawn, the lowest first."""

    def __init__(self) -> None:
        super().__init__()
        self.setFlag(self.GraphicsItemFlag.ItemUsesExtendedStyleOption)  # or Qt does not say what is exposed
        self._items: list[tuple[float, PixelItem]] = []

    @property
    def items(self) -> list[PixelItem]:
        """From the lowest to the highest."""
        return [item for _, item in self._items]

    def add(self, item: PixelItem, depth: float) -> None:
        """Draw this, too; above what has a lower depth, and what was added before with the same."""
        item.host = self
        self._items.append((depth, item))
        self._items.sort(key=lambda entry: entry[0])
        self.update()

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
            for _, item in self._items:
                item.exposed = exposed
                with guarded(painter):
                    item.draw(painter, pixels)
