"""Pictures in files: of a drawing as PNG, and of any widget as it is on screen, as PNG or SVG."""

from __future__ import annotations

import os

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication, QImage, QImageWriter, QPainter, QPalette, QRegion
from PySide6.QtSvg import QSvgGenerator, QSvgRenderer
from PySide6.QtWidgets import QWidget

from core.errors import UserError


def png_of(svg: str, size: tuple[int, int]) -> bytes:
    """A picture of so many pixels, from SVG that fills them. Needs no screen."""
    if QGuiApplication.instance() is None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        application = QGuiApplication([])  # whom the fonts belong to, as long as the picture is painted
        return _rendered(svg, size, application)
    return _rendered(svg, size)


def _rendered(svg: str, size: tuple[int, int], _application: QGuiApplication | None = None) -> bytes:
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    image = QImage(QSize(*size), QImage.Format.Format_ARGB32_Premultiplied)
    if image.isNull():
        raise UserError(f"A picture of {size[0]}x{size[1]} pixels does not fit into memory; ask for a smaller one.")
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer.render(painter)
    painter.end()
    return _as_png(image)


def widget_png(widget: QWidget) -> bytes:
    """What a widget shows, with as many pixels as on its screen."""
    return _as_png(widget_image(widget))


def widget_image(widget: QWidget) -> QImage:
    """What a widget shows on the ground of its panel."""
    ratio = widget.devicePixelRatioF()
    image = QImage(widget.size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    _paint(widget, painter)
    painter.end()
    return image


def widget_svg(widget: QWidget, title: str) -> bytes:
    """The same as shapes and text."""
    made = QBuffer()
    made.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(made)
    generator.setSize(widget.size())
    generator.setViewBox(QRect(QPoint(), widget.size()))
    generator.setTitle(title)
    generator.setResolution(widget.logicalDpiX())  # or fonts would not fit the places that were measured with them
    painter = QPainter(generator)
    _paint(widget, painter)
    painter.end()
    return bytes(made.data().data())


def _paint(widget: QWidget, painter: QPainter) -> None:
    painter.fillRect(widget.rect(), widget.palette().color(QPalette.ColorRole.Base))
    widget.render(painter, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)


def _as_png(image: QImage) -> bytes:
    made = QBuffer()
    made.open(QIODevice.OpenModeFlag.WriteOnly)
    if not QImageWriter(made, QByteArray(b"PNG")).write(image):
        raise UserError("The picture could not be made; there may not be enough memory for it.")
    return bytes(made.data().data())
