"""A plot item that is one image of whole screen pixels, made for what is in view and kept."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage, QPainter

from widgets.plot_items import PixelItem, Pixels


class PixelImage(PixelItem):
    """Override `renew`. A new token has its own end of the image made anew, a moving selection nothing at all.

    Scaled by Qt, an image would lie a pixel further where only a part of it is painted.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cells = np.zeros((0, 0), np.uint32)
        """The newest image's pixels, shape [height, width]; the image reads from this memory."""
        self._made: tuple[Pixels, QImage] | None = None
        """The newest image and what it was made for."""
        self._from: int | None = None
        """The first token that the newest image does not show as it is now."""
        self._filled = 0
        """Columns of the image beyond these are clear."""
        self._count_before = 0
        """How many tokens there were when some had changed the last time."""

    def spoil(self, token: int) -> None:
        """The 0-based tokens from this one on have changed."""
        self._from = token if self._from is None else min(token, self._from)
        before, self._count_before = self._count_before, self.count()
        self.update_from(token, max(before, self._count_before))
        if self.host is not None and self.host.is_held:
            self._renew()  # in this turn, as the rest of what is held fills the next

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def count(self) -> int:
        """How many tokens there are."""

    @abstractmethod
    def renew(self, cells: NDArray[np.uint32], left: int, pixels: Pixels) -> None:
        """Fill clear columns of the image, the first of which is `left`: `cells`, shape [height, n], with `argb`."""

    def draw_image(self, painter: QPainter, pixels: Pixels) -> None:
        """Paint it over the whole view; for `draw`."""
        if self._made is None or self._made[0] != pixels:
            width, height = (round(v * pixels.ratio) for v in (pixels.area.width(), pixels.area.height()))
            self._cells = np.zeros((height, width), np.uint32)
            image = QImage(self._cells.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
            image.setDevicePixelRatio(pixels.ratio)
            self._made, self._from, self._filled = (pixels, image), 0, 0
        self._renew()
        painter.drawImage(pixels.area.topLeft(), self._made[1])

    def _renew(self) -> None:
        """Bring what has changed into the newest image."""
        if self._made is None or self._from is None:
            return
        pixels = self._made[0]
        count = self.count()
        left, right = (self._column(token, pixels) for token in (min(self._from, count), count))
        self._cells[:, left : self._filled] = 0
        if left < min(right + 2, self._cells.shape[1]):  # not beyond the view
            self.renew(self._cells[:, left : right + 2], left, pixels)
        self._from, self._filled = None, right + 2

    def _column(self, token: int, pixels: Pixels) -> int:
        """The column before the one in which a 0-based token begins, as far as it is in view."""
        edge = ((token + 0.5) * pixels.x_scale + pixels.x_zero - pixels.area.left()) * pixels.ratio
        return min(max(math.floor(edge) - 1, 0), self._cells.shape[1])


def rgb(colour: str) -> NDArray[np.int64]:
    """Red, green, blue, 0…255."""
    made = QColor(colour)
    return np.array([made.red(), made.green(), made.blue()], np.int64)


def argb(colours: NDArray[np.generic]) -> NDArray[np.uint32]:
    """Opaque pixels. Shape [n, 3] to [n]."""
    red, green, blue = np.asarray(colours).astype(np.uint32).T
    return np.asarray(np.uint32(0xFF000000) | red << np.uint32(16) | green << np.uint32(8) | blue, np.uint32)
