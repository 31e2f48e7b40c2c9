from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QRegion
from pytestqt.qtbot import QtBot

from widgets.kept_picture import KeptPicture

SIZE = QSize(80, 60)
ALL = QRect(0, 0, 80, 60)


class Scene:
    """Boxes of many colours that can be moved; it writes down what it is asked to paint."""

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        self.asked: list[QRect] = []

    def paint(self, painter: QPainter, part: QRect) -> None:
        self.asked.append(QRect(part))
        for column in range(12):
            for row in range(-60, 80):
                colour = QColor.fromHsv((column * 47 + row * 31) % 360, 200, 200)
                painter.fillRect(QRect(column * 7, row * 5 + self.offset, 6, 4), colour)

    def take(self) -> list[QRect]:
        asked, self.asked = self.asked, []
        return asked


def shown(picture: KeptPicture, scene: Scene, size: QSize = SIZE, ratio: float = 1.0) -> QImage:
    """What a widget of this size would look like."""
    image = QImage(round(size.width() * ratio), round(size.height() * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.magenta)
    painter = QPainter(image)
    picture.show(painter, size, scene.paint)
    painter.end()
    return image


@pytest.fixture
def scene(qtbot: QtBot) -> Scene:
    return Scene()


def test_that_a_picture_is_painted_once_and_copied_afterwards(scene: Scene) -> None:
    picture = KeptPicture("#102030")
    first = shown(picture, scene)
    assert scene.take() == [ALL]
    assert shown(picture, scene) == first
    assert scene.take() == []


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 2.0])
def test_that_a_spoiled_part_is_painted_alone_and_leaves_no_seam(scene: Scene, ratio: float) -> None:
    picture = KeptPicture("#102030")
    whole = shown(picture, scene, ratio=ratio)
    scene.take()
    for part in (QRect(3, 5, 21, 13), QRect(30, 31, 7, 9)):
        picture.spoil(part)
    assert shown(picture, scene, ratio=ratio) == whole
    asked = scene.take()
    assert len(asked) == 2
    assert QRegion(ALL) - QRegion(asked[0]) - QRegion(asked[1]) != QRegion()


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 2.0])
@pytest.mark.parametrize("dy", [-8, 8, -3, 300])
def test_that_a_scrolled_picture_is_what_would_be_painted_there(scene: Scene, ratio: float, dy: int) -> None:
    picture = KeptPicture("#102030")
    shown(picture, scene, ratio=ratio)
    scene.take()
    scene.offset = dy
    picture.scroll(dy)
    scrolled, asked = shown(picture, scene, ratio=ratio), scene.take()
    assert scrolled == shown(KeptPicture("#102030"), Scene(dy), ratio=ratio)
    if ratio == 1 and abs(dy) < 60:
        assert [part.height() for part in asked] == [abs(dy)]


def test_that_what_was_spoiled_before_a_scroll_moves_with_it(scene: Scene) -> None:
    picture = KeptPicture("#102030")
    shown(picture, scene)
    scene.take()
    picture.spoil(QRect(10, 20, 5, 5))
    picture.scroll(-8)
    shown(picture, scene)
    assert QRect(10, 12, 5, 5) in scene.take()


def test_that_a_grown_widget_paints_only_what_it_has_won(scene: Scene) -> None:
    picture = KeptPicture("#102030")
    shown(picture, scene)
    scene.take()
    taller = shown(picture, scene, QSize(80, 90))
    assert scene.take() == [QRect(0, 60, 80, 30)]
    assert taller == shown(KeptPicture("#102030"), scene, QSize(80, 90))
    shown(picture, scene, QSize(70, 60))
    assert scene.asked[1:] == []


def test_that_another_pixel_ratio_paints_everything(scene: Scene) -> None:
    picture = KeptPicture("#102030")
    shown(picture, scene)
    scene.take()
    assert shown(picture, scene, ratio=2.0) == shown(KeptPicture("#102030"), Scene(), ratio=2.0)
    assert scene.take() == [ALL]


def test_that_the_ground_is_there_where_nothing_is_painted(qtbot: QtBot) -> None:
    class Nothing(Scene):
        def paint(self, painter: QPainter, part: QRect) -> None:
            assert not QRectF(part).isEmpty()

    assert shown(KeptPicture("#102030"), Nothing()).pixelColor(5, 5).name() == "#102030"
