"""A kept picture that tells what of it is to be shown anew, at once or after a while."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect
from PySide6.QtGui import QRegion

from widgets.kept_picture import KeptPicture


class HeldPicture(KeptPicture):
    """What is spoiled is shown in the widget's next frame. While held, it waits for `release`, so that what makes a
    frame long together can be several short stretches of work: to take in what is new, to paint it, and to show it."""

    def __init__(self, ground: str, show: Callable[[QRegion], object]) -> None:
        """`show` has a part of the widget painted in the next frame."""
        super().__init__(ground)
        self._show_soon = show
        self._held: QRegion | None = None
        """While held: what is to be shown."""

    def hold(self) -> None:
        """Have nothing shown of what comes, until `release`."""
        if self._held is None:
            self._held = QRegion()

    def release(self) -> None:
        """Show what is held."""
        if self._held is not None:
            held, self._held = self._held, None
            self._show_soon(held)

    def spoil(self, part: QRect) -> None:
        super().spoil(part)
        self.show_again(part)

    def show_again(self, part: QRect) -> None:
        """Have this part copied to the widget, changed or not."""
        if self._held is None:
            self._show_soon(QRegion(part))
        else:
            self._held += part
