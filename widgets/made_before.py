"""A plot item whose picture is made before it is painted, so that no frame has to do both."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPixmap

from widgets.plot_items import PixelItem, Pixels


class MadeBefore(PixelItem):
    """Override `paint_all`, and call `forget` when something has changed and `make` once all of it has."""

    def __init__(self) -> None:
        super().__init__()
        self._pixels: Pixels | None = None
        """What the newest picture was made for."""
        self._picture: QPixmap | None = None

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def paint_all(self, painter: QPainter, pixels: Pixels) -> None:
        """Paint everything, exposed or not."""

    def forget(self) -> None:
        """Make the picture anew before it is painted next."""
        self._picture = None
        self.update()

    def make(self) -> None:
        """Make the picture now, for the place that the last one was made for."""
        if self._picture is None and self._pixels is not None:
            self._picture = self.picture_for(self._pixels)

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self._picture is None or self._pixels != pixels:
            self._picture, self._pixels = self.picture_for(pixels), pixels
        painter.drawPixmap(_corner(pixels), self._picture)

    def picture_for(self, pixels: Pixels) -> QPixmap:
        """All of it as it is now, painted for this place."""
        picture = blank(pixels)
        paint_on(picture, pixels, self.paint_all)
        return picture


def blank(pixels: Pixels, spare: QPixmap | None = None) -> QPixmap:
    """A clear picture for this place; the spare one where it fits."""
    corner = _corner(pixels)
    width, height = (
        math.ceil((end - start) * pixels.ratio)
        for end, start in ((pixels.area.right(), corner.x()), (pixels.area.bottom(), corner.y()))
    )
    picture = spare if spare is not None and spare.size() == QSize(width, height) else QPixmap(width, height)
    picture.setDevicePixelRatio(pixels.ratio)
    picture.fill(Qt.GlobalColor.transparent)
    return picture


def paint_on(picture: QPixmap, pixels: Pixels, paint: Callable[[QPainter, Pixels], None]) -> None:
    """Paint on a picture for this place, as if it were the plot."""
    painter = QPainter(picture)
    try:
        painter.translate(-_corner(pixels))
        paint(painter, pixels)
    finally:
        painter.end()


def _corner(pixels: Pixels) -> QPointF:
    """The upper left corner of the view, on a whole pixel of the screen: a picture beside them would be blurred."""
    x, y = (math.floor(value * pixels.ratio) / pixels.ratio for value in (pixels.area.left(), pixels.area.top()))
    return QPointF(x, y)
