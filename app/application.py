"""From nothing to an open window, in an order that keeps the first paint early and never lets Qt abort."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.errors import UserError

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from app.main_window import MainWindow

NAME = "specee-viewer"
NO_SCREEN = (
    "There is no screen to open a window on{why}. Run it headless with `specee-viewer run --prompt TEXT`, or set "
    "DISPLAY or WAYLAND_DISPLAY."
)
_X_DISPLAY = re.compile(r"^(?P<host>[^:]*):(?P<number>\d+)(\.\d+)?$")
_X_PORT = 6000
_PROBE_SECONDS = 2.0


def run_app(model: str | None = None, theme: str | None = None, reset_layout: bool = False) -> int:
    """Open the window and stay until it is closed; returns the exit code.

    Args:
        model: Name, folder, GGUF file or hub id to open; None opens the last one.
        theme: "system", "dark" or "light" for this launch and those to come; None keeps what was chosen last.
        reset_layout: Put every panel back in its first place.

    Raises:
        UserError: there is no screen.
    """
    require_screen(os.environ, sys.platform)
    # torch reads it when it is imported; two spinning threads on a busy two-core machine are up to 70 times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    application = make_application()
    window = open_window(application, model, theme, reset_layout)
    code = application.exec()
    window.session.close()
    return code


def require_screen(environment: Mapping[str, str], platform: str) -> None:
    """Refuse in a sentence where Qt would abort the process.

    Raises:
        UserError: on Linux, no display is named, or the one named cannot be reached.
    """
    if not platform.startswith("linux") or environment.get("QT_QPA_PLATFORM"):
        return
    if environment.get("WAYLAND_DISPLAY"):
        return
    display = environment.get("DISPLAY", "")
    if not display:
        raise UserError(NO_SCREEN.format(why=""))
    if not reachable(display):
        raise UserError(NO_SCREEN.format(why=f" (DISPLAY is {display}, and nothing answers there)"))


def reachable(display: str) -> bool:
    """Whether something listens where the X display name points. A name of another form is left to Qt to judge."""
    parts = _X_DISPLAY.match(display)
    if parts is None:
        return True
    number, host = int(parts["number"]), parts["host"]
    if host in ("", "unix"):
        name = f"/tmp/.X11-unix/X{number}"
        return _answers(socket.AF_UNIX, name) or _answers(socket.AF_UNIX, f"\0{name}")
    return _answers_tcp(host, _X_PORT + number)


def make_application() -> QApplication:
    """The QApplication with its names, icon and fonts' smoothing set."""
    from PySide6.QtCore import QCoreApplication
    from PySide6.QtGui import QGuiApplication
    from PySide6.QtWidgets import QApplication

    from app.icons import app_icon
    from core.version import version

    QCoreApplication.setOrganizationName(NAME)
    QCoreApplication.setApplicationName(NAME)
    QCoreApplication.setApplicationVersion(version())
    QGuiApplication.setDesktopFileName(NAME)  # must equal the .desktop file's name for the desktop to find the icon
    application = QApplication(sys.argv[:1])
    application.setWindowIcon(app_icon())
    return application


def open_window(
    application: QApplication, model: str | None = None, theme: str | None = None, reset_layout: bool = False
) -> MainWindow:
    """Show the window; the model is loaded only after the first paint."""
    from app.main_window import MainWindow
    from app.session import Session
    from app.settings import Preferences, ThemeMode
    from app.theming import Theming

    preferences = Preferences()
    if theme is not None:
        preferences.theme = ThemeMode(theme)
    theming = Theming(application, preferences.theme)
    window = MainWindow(Session(), preferences)
    theming.attach(window)
    if reset_layout:
        window.reset_layout()
    wanted = model or preferences.model
    window.shown.connect(lambda: window.flow.open(wanted))
    window.show()
    return window


def _answers(family: socket.AddressFamily, address: str) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(address)
        except OSError:
            return False
    return True


def _answers_tcp(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PROBE_SECONDS):
            return True
    except OSError:
        return False
