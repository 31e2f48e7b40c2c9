"""Whether there is a screen, without asking Qt."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import screen
from core.errors import UserError

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="such sockets are Unix's")


@pytest.fixture
def compositor() -> Iterator[dict[str, str]]:
    """A socket that listens where Wayland clients look. A socket's path must be short, so not in pytest's folder."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(str(Path(folder) / "wayland-7"))
        server.listen()
        yield {"XDG_RUNTIME_DIR": folder, "WAYLAND_DISPLAY": "wayland-7"}


@pytest.mark.parametrize(
    ("environment", "platform"),
    [
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux"),
        ({"QT_QPA_PLATFORM": "minimal:x"}, "linux"),
        ({}, "darwin"),
        ({}, "win32"),
    ],
)
def test_that_what_needs_no_screen_is_not_refused(environment: dict[str, str], platform: str) -> None:
    screen.require_screen(environment, platform)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"DISPLAY": ""},
        {"DISPLAY": ":4711"},
        {"DISPLAY": "unix:4711.0"},
        {"WAYLAND_DISPLAY": "wayland-4711"},
        {"WAYLAND_DISPLAY": "/nowhere/wayland-0", "DISPLAY": ":4711"},
        {"QT_QPA_PLATFORM": "xcb"},
        {"QT_QPA_PLATFORM": "wayland", "DISPLAY": ":4711"},
    ],
)
def test_that_a_machine_without_a_screen_is_told_so_and_how_to_run_headless(environment: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"no screen .*specee-viewer run --prompt"):
        screen.require_screen(environment, "linux")


def test_that_a_compositor_that_listens_is_a_screen(compositor: dict[str, str]) -> None:
    screen.require_screen(compositor, "linux")
    screen.require_screen(compositor | {"QT_QPA_PLATFORM": "wayland"}, "linux")
    with pytest.raises(UserError, match="no screen"):
        screen.require_screen(compositor | {"QT_QPA_PLATFORM": "xcb"}, "linux")


def test_that_an_x_server_that_listens_is_a_screen_if_qt_has_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        display = f"127.0.0.1:{server.getsockname()[1] - 6000}"
        monkeypatch.setattr(screen, "has_library", lambda name: True)
        screen.require_screen({"DISPLAY": display}, "linux")
        monkeypatch.setattr(screen, "has_library", lambda name: False)
        with pytest.raises(UserError, match="apt install libxcb-cursor0"):
            screen.require_screen({"DISPLAY": display}, "linux")
    assert not screen.x_answers(display)


def test_that_a_display_name_of_another_form_is_left_to_qt() -> None:
    assert screen.x_answers("odd name")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the name is glibc's")
def test_that_a_library_is_found_only_where_it_is() -> None:
    assert screen.has_library("libc.so.6")
    assert not screen.has_library("libnowhere.so.1")
