"""Our line icons, painted in the colours of the theme.

The SVGs say `currentColor`, which Qt does not resolve; it is written in here, once for the normal and once for the
disabled look.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from resources.paths import icon_file

SIZES = (16, 20, 24, 32, 40, 48)
APP_SIZES = (16, 24, 32, 48, 64, 128, 256)


@cache
def icon(name: str, colour: str, disabled: str) -> QIcon:
    """The icon in `colour`, and in `disabled` where its action cannot be used."""
    result = QIcon()
    for size in SIZES:
        result.addPixmap(_pixmap(name, colour, size), QIcon.Mode.Normal)
        result.addPixmap(_pixmap(name, disabled, size), QIcon.Mode.Disabled)
    return result


@cache
def app_icon() -> QIcon:
    """The program's own icon, which carries its own colours."""
    result = QIcon()
    for size in APP_SIZES:
        result.addPixmap(_pixmap("specee-viewer", "#000000", size))
    return result


def pixmap(name: str, colour: str, size: int, ratio: float = 1.0) -> QPixmap:
    """The icon as a picture of `size` logical pixels, sharp at the screen's `ratio`."""
    picture = _pixmap(name, colour, round(size * ratio))
    picture.setDevicePixelRatio(ratio)
    return picture


def _pixmap(name: str, colour: str, size: int) -> QPixmap:
    svg = icon_file(name).read_text(encoding="utf-8").replace("currentColor", colour)
    picture = QPixmap(size, size)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return picture
