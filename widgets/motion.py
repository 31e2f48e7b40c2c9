"""Whether anything may move by itself; the user's choice, kept where every widget can ask."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication

_PROPERTY = "stillness"


def keep_still(still: bool) -> None:
    """From now on nothing moves by itself, or may again."""
    application = QApplication.instance()
    if application is not None:
        application.setProperty(_PROPERTY, still)


def is_still() -> bool:
    """Whether the user wants nothing to move by itself: no playing, no bar that runs to and fro."""
    application = QApplication.instance()
    return application is not None and bool(application.property(_PROPERTY))
