"""From nothing to an open window, in an order that keeps the first paint early and never lets Qt abort."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from app.calm import calm_collector, share_heaps, take_short_turns
from app.screen import require_screen

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QApplication

    from app.opening import Opening

NAME = "specee-viewer"


def run_app(
    model: str | None = None, theme: str | None = None, reset_layout: bool = False, file: Path | None = None
) -> int:
    """Open the window and stay until it is closed; returns the exit code.

    Args:
        model: Name, folder, GGUF file or hub id to open; None opens the last one.
        theme: "system", "dark" or "light" for this launch and those to come; None keeps what was chosen last.
        reset_layout: Put every panel back in its first place.
        file: Session to open; then no model is loaded unless `model` names one.

    Raises:
        UserError: there is no screen.
    """
    require_screen(os.environ, sys.platform)
    # torch reads it when it is imported; two spinning threads on a busy two-core machine are up to 70 times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    take_short_turns()
    with calm_collector():
        application = make_application()
        opening = open_window(application, model, theme, reset_layout, file)
    code = application.exec()
    opening.close()
    if opening.error is not None:
        raise opening.error
    return code


def make_application() -> QApplication:
    """The QApplication with its names, icon and fonts' smoothing set, and memory shared out for its threads."""
    share_heaps()
    from PySide6.QtCore import QCoreApplication
    from PySide6.QtGui import QGuiApplication
    from PySide6.QtWidgets import QApplication

    from app.icons import app_icon
    from widgets import theme

    QCoreApplication.setOrganizationName(NAME)
    QCoreApplication.setApplicationName(NAME)
    QGuiApplication.setDesktopFileName(NAME)  # must equal the .desktop file's name for the desktop to find the icon
    application = QApplication(sys.argv[:1])
    theme.begin(application)
    application.setWindowIcon(app_icon())
    return application


def open_window(
    application: QApplication,
    model: str | None = None,
    theme: str | None = None,
    reset_layout: bool = False,
    file: Path | None = None,
) -> Opening:
    """Show the window; what it needs beyond the first paint follows that."""
    from app.main_window import MainWindow
    from app.opening import Opening
    from app.settings import Preferences, ThemeMode
    from app.theming import Theming

    preferences = Preferences()
    if theme is not None:
        preferences.theme = ThemeMode(theme)
    window = MainWindow(preferences)
    # Only now: with a stylesheet every widget that finds its place would be styled anew, with all that it holds.
    Theming(application, preferences.theme).attach(window)
    window.recall()
    if reset_layout:
        window.reset_layout()
    opening = Opening(window, model or (None if file else preferences.model), file=file)
    opening.failed.connect(application.quit)
    window.show()
    return opening
