"""Our line icons, painted in the colours of the theme.

The SVGs say `currentColor`, which Qt does not resolve; it is written in here, once for the normal and once for the
disabled look.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from resources.paths import icon_file

SIZES = (14, 16, 20, 24)
"""That icons are shown in, in logical pixels."""
APP_SIZES = (16, 24, 32, 48, 64, 128, 256)


@cache
def icon(name: str, colour: str, disabled: str) -> QIcon:
    """The icon in `colour`, and in `disabled` where its action cannot be used."""
    result = QIcon()
    for look, mode in ((colour, QIcon.Mode.Normal), (disabled, QIcon.Mode.Disabled)):
        drawing = _drawing(name, look)
        for size in _sizes():
            result.addPixmap(_picture(drawing, size), mode)
    return result


@cache
def _sizes() -> tuple[int, ...]:
    """In the pixels of all screens that there are: a picture that Qt has to scale is blurred."""
    return tuple(sorted({round(size * ratio) for size in SIZES for ratio in ratios()}))


def ratios() -> set[float]:
    """How many pixels a logical one has, on each screen that there is."""
    return {screen.devicePixelRatio() for screen in QGuiApplication.screens()} or {1.0}


def follow_screens() -> bool:
    """Paint icons for the screens that there are now, from the next one on; False where they suit them already."""
    before = _sizes()
    _sizes.cache_clear()
    if set(_sizes()) <= set(before):
        return False
    icon.cache_clear()
    return True


@cache
def app_icon() -> QIcon:
    """The program's own icon, which carries its own colours."""
    result, drawing = QIcon(), _drawing("specee-viewer", "#000000")
    for size in APP_SIZES:
        result.addPixmap(_picture(drawing, size))
    return result


def pixmap(name: str, colour: str, size: int, ratio: float = 1.0) -> QPixmap:
    """The icon as a picture of `size` logical pixels, sharp at the screen's `ratio`."""
    picture = _picture(_drawing(name, colour), round(size * ratio))
    picture.setDevicePixelRatio(ratio)
    return picture


def _drawing(name: str, colour: str) -> QSvgRenderer:
    """The parsed icon; one serves all sizes, since parsing takes longer than painting."""
    return QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))


@cache
def _source(name: str) -> str:
    return icon_file(name).read_text(encoding="utf-8")


def _picture(drawing: QSvgRenderer, size: int) -> QPixmap:
    """Qt keeps what painted a picture, 8 KB, for as long as the picture; of the copy there is only the picture."""
    picture = QPixmap(size, size)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    drawing.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return picture.copy()
