"""Many pictures on one."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QColor, QPainter, QPixmap


def sheet(paths: list[Path], out: Path, width: int = 3000, gap: int = 12) -> None:
    """Put pictures side by side, in rows of at most `width` pixels."""
    pictures, places, x, y, row = [QPixmap(str(path)) for path in paths], [], gap, gap, 0
    for picture in pictures:
        if x > gap and x + picture.width() > width:
            x, y, row = gap, y + row + gap, 0
        places.append((x, y))
        x, row = x + picture.width() + gap, max(row, picture.height())
    made = QPixmap(width, y + row + gap)
    made.fill(QColor("#808080"))
    painter = QPainter(made)
    for (left, top), picture in zip(places, pictures, strict=True):
        painter.drawPixmap(left, top, picture)
    painter.end()
    if pictures:
        made.save(str(out))
