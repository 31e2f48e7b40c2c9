"""Which page each of the views' panels shows: its view, or a sentence that stands in its place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QObject, QTimer, Slot

from app.panel import Panel
from widgets.throttle import Throttle

PATIENCE_MS = 500
"""How long a prompt is read before the panels say so: most are read sooner, and turning all to and fro takes long."""


class Pages(QObject):
    """Turns panels one a frame where a run is on show, as all of them fill a frame, and a token may come first."""

    def __init__(self, panels: Mapping[str, Panel], throttle: Throttle, parent: QObject) -> None:
        """`panels` by their keys."""
        super().__init__(parent)
        self._panels, self._throttle = panels, throttle
        self._held: dict[str, str] = {}
        """By panel: the sentence that waits for the end of patience."""
        self._is_over = False
        """Whether patience came to its end."""
        self._timer = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._timer.timeout.connect(self.hurry)

    @property
    def idle(self) -> bool:
        """Whether no sentence is held back."""
        return not self._held

    def turn(self, wanted: Mapping[str, str | None], *, in_turns: bool, patient: bool) -> None:
        """Show these sentences; None shows a panel's view.

        Args:
            wanted: By panel.
            in_turns: Whether panels that turn do so one a frame; views come back so always.
            patient: Whether sentences may come some time later, and not at all where a view comes back before.
        """
        self._is_over = self._is_over and patient
        for key, sentence in wanted.items():
            panel, page = self._panels[key], (key, "page")
            self._held.pop(key, None)
            if panel.is_empty is (sentence is not None) or (sentence is not None and not in_turns):
                self._throttle.cancel(page)
                panel.set_empty(sentence)
            elif sentence is not None and patient and not self._is_over:
                self._held[key] = sentence
            else:
                self._throttle.request(page, partial(panel.set_empty, sentence))
        if not self._held:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    @Slot()
    def hurry(self) -> None:
        """Show what is held back, now that it takes longer."""
        self._is_over = self._is_over or bool(self._held)
        for key, sentence in self._held.items():
            self._throttle.request((key, "page"), partial(self._panels[key].set_empty, sentence))
        self._held.clear()
