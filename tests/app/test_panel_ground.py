"""A panel's card is the same whether it is painted whole or, as a step does, in parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPalette, QRegion
from PySide6.QtWidgets import QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from app.panel import Panel
from app.places import WHY

SIZE = (300, 160)
PARTS = [QRect(0, 0, 1, 160), QRect(1, 40, 298, 30), QRect(40, 0, 9, 9), QRect(40, 1, 90, 20), QRect(0, 0, 6, 6)]
PARTS += [
    QRect(292, 152, 8, 8),
    QRect(290, 150, 9, 9),
    QRect(0, 150, 300, 10),
    QRect(2, 2, 296, 156),
    QRect(8, 8, 284, 3),
]


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[Panel]:
    window, panel = QMainWindow(), Panel(WHY)
    qtbot.addWidget(window)
    window.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, panel)  # alone it would be a window, and have no corners
    panel.setFixedSize(*SIZE)
    window.show()
    assert panel.size() == QSize(*SIZE)
    yield panel
    window.close()


def painted(panel: Panel, part: QRect) -> QImage:
    image = QImage(*SIZE, QImage.Format.Format_RGB32)
    image.fill(0)
    panel.render(image, part.topLeft(), QRegion(part), QWidget.RenderFlag(0))
    return image.copy(part)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.x()},{part.y()} {part.width()}x{part.height()}")
def test_that_a_part_is_painted_as_in_the_whole(panel: Panel, part: QRect) -> None:
    assert painted(panel, part) == painted(panel, QRect(QPoint(), panel.size())).copy(part)


def test_that_the_whole_has_a_line_around_it_and_round_corners(panel: Panel) -> None:
    whole = painted(panel, QRect(QPoint(), panel.size()))
    ground, line = (panel.palette().color(role).rgb() for role in (QPalette.ColorRole.Base, QPalette.ColorRole.Mid))
    assert whole.pixel(150, 8) == ground
    for x, y in ((0, 80), (SIZE[0] - 1, 80), (150, 0), (150, SIZE[1] - 1)):
        assert whole.pixel(x, y) == line
    for x, y in ((0, 0), (SIZE[0] - 1, 0), (0, SIZE[1] - 1), (SIZE[0] - 1, SIZE[1] - 1)):
        assert whole.pixelColor(x, y) == QColor(0, 0, 0), "nothing is painted beyond a corner"
