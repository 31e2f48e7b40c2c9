"""Answers "What am I looking at?" for the panel that is meant, and opens the glossary."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication

from app.places import PLACES, Place

if TYPE_CHECKING:
    from app.explanations_dialog import ExplanationsDialog
    from app.main_window import MainWindow


class Explainer(QObject):
    """Behind two actions and each panel's own button. The dialog is imported when it is asked for."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.dialog: ExplanationsDialog | None = None
        window.commands["explain"].triggered.connect(self.explain_here)
        window.commands["glossary"].triggered.connect(self.show_glossary)
        for place in PLACES:
            window.panels[place.key].explain_wanted.connect(partial(self.explain, place))

    @property
    def here(self) -> Place | None:
        """The panel that has the focus; None for the window as a whole."""
        focus = QApplication.focusWidget()
        inside = (place for place in PLACES if focus and self._window.panels[place.key].isAncestorOf(focus))
        return next(inside, None)

    @Slot()
    def explain_here(self) -> None:
        """Explain the panel that has the focus."""
        self.explain(self.here)

    def explain(self, place: Place | None) -> None:
        """Say what a panel shows, how it is read, and where the papers speak of it."""
        from app.explanations import explanation_of

        self._open().show_entry(explanation_of(place))

    @Slot()
    def show_glossary(self) -> None:
        """Show the field's terms."""
        self._open().show_terms()

    def _open(self) -> ExplanationsDialog:
        from app.explanations_dialog import ExplanationsDialog

        if self.dialog is None:
            self.dialog = ExplanationsDialog(self._window)
            self.dialog.finished.connect(self._forget)
        self.dialog.show()
        self.dialog.activateWindow()
        return self.dialog

    @Slot()
    def _forget(self) -> None:
        self.dialog = None
