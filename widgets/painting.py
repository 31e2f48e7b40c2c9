"""Painting that survives its own errors.

An exception that leaves a paint call while its painter is still active takes the whole process down. Whatever paints
does so inside of `guarded` or `painting`: the error goes where uncaught ones go, and the painter is put in order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget


@contextmanager
def guarded(painter: QPainter) -> Iterator[QPainter]:
    """Paint with a painter that belongs to Qt; its state is as before afterwards."""
    painter.save()
    try:
        yield painter
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        painter.restore()


@contextmanager
def painting(widget: QWidget) -> Iterator[QPainter]:
    """Paint on a widget, in its `paintEvent`."""
    painter = QPainter(widget)
    try:
        with guarded(painter):
            yield painter
    finally:
        painter.end()
