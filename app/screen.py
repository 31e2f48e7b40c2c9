"""Whether there is a screen, found out before Qt: where there is none, Qt aborts the process."""

from __future__ import annotations

import ctypes
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from core.errors import UserError

NO_SCREEN = (
    "There is no screen to open a window on{why}. Run it headless with `specee-viewer run --prompt TEXT`, or set "
    "DISPLAY or WAYLAND_DISPLAY."
)
NO_LIBRARY = (
    "Qt cannot open a window, because the system library {name} is missing. Install it (on Debian and Ubuntu: "
    "apt install libxcb-cursor0), or run headless with `specee-viewer run --prompt TEXT`."
)
XCB_CURSOR = "libxcb-cursor.so.0"
"""Needed by Qt on X11 since 6.5, and not installed by default on many systems."""
_X_DISPLAY = re.compile(r"^(?P<host>[^:]*):(?P<number>\d+)(\.\d+)?$")
_X_PORT = 6000
_PROBE_SECONDS = 2.0


def require_screen(environment: Mapping[str, str], platform: str) -> None:
    """Refuse in a sentence where Qt would abort.

    Args:
        environment: As `os.environ`.
        platform: As `sys.platform`; only Linux is looked at.

    Raises:
        UserError: no display is named or none answers, or Qt's library for X11 is missing.
    """
    plugin = environment.get("QT_QPA_PLATFORM", "")
    if not platform.startswith("linux") or (plugin and not plugin.startswith(("xcb", "wayland"))):
        return
    if not plugin.startswith("xcb") and wayland_answers(environment):
        return
    display = environment.get("DISPLAY", "")
    if not display or plugin.startswith("wayland"):
        raise UserError(NO_SCREEN.format(why=""))
    if not x_answers(display):
        raise UserError(NO_SCREEN.format(why=f" (DISPLAY is {display}, and nothing answers there)"))
    if not has_library(XCB_CURSOR):
        raise UserError(NO_LIBRARY.format(name=XCB_CURSOR))


def wayland_answers(environment: Mapping[str, str]) -> bool:
    """Whether a Wayland compositor is named and listens."""
    name = environment.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    return _answers(str(Path(environment.get("XDG_RUNTIME_DIR", "")) / name))


def x_answers(display: str) -> bool:
    """Whether something listens where the X display name points; a name of another form is left to Qt to judge."""
    parts = _X_DISPLAY.match(display)
    if parts is None:
        return True
    number, host = int(parts["number"]), parts["host"]
    if host in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"
        return _answers(path) or _answers(f"\0{path}")  # servers may listen in the abstract namespace only
    return _answers_tcp(host, _X_PORT + number)


def has_library(name: str) -> bool:
    """Whether the system's loader finds this library."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _answers_tcp(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PROBE_SECONDS):
            return True
    except OSError:
        return False
