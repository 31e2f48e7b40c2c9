"""Starting: the screen is looked for first, torch comes last, and the theme follows the desktop."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import application
from app.settings import ThemeMode
from app.theming import Theming
from tests.app.window_stage import WindowStage, undress
from widgets.palette import DARK, LIGHT

ROOT = Path(application.__file__).resolve().parent.parent


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there does Qt abort")
def test_that_the_command_leaves_with_2_and_a_sentence_where_there_is_no_screen() -> None:
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-m", "app"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "There is no screen" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("launch", ["app.application", "app.commands.window_probe"])
def test_that_nothing_slow_is_imported_before_the_window_is_painted(launch: str) -> None:
    """The bench's launch too: its first paint is to be the one that a user sees."""
    program = (
        "import sys\n"
        f"import {launch}\n"
        "from app.application import make_application, open_window\n"
        "application = make_application()\n"
        "opening = open_window(application)\n"
        "window = opening.window\n"
        "window.shown.disconnect()\n"
        "window.shown.connect(application.quit)\n"
        "application.exec()\n"
        "slow = {'torch', 'transformers', 'numpy', 'pyqtgraph', 'core.trace', 'core.analysis', 'app.session'}\n"
        "heavy = slow & set(sys.modules)\n"
        "window.close()\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def theming(qapp: QApplication) -> Iterator[Theming]:
    theming = Theming(qapp, ThemeMode.DARK)
    yield theming
    undress(theming)


def test_that_a_chosen_theme_reaches_application_and_window_at_once(theming: Theming, qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    theming.attach(stage.window)
    stage.trigger("theme_light")
    assert theming.theme is LIGHT
    assert stage.window.theme is LIGHT
    assert stage.window.preferences.theme is ThemeMode.LIGHT
    assert QApplication.palette().window().color().name() == LIGHT.window
    stage.trigger("theme_dark")
    assert stage.window.theme is DARK
    stage.window.close()


def test_that_following_the_system_follows_its_changes_live(theming: Theming, qapp: QApplication) -> None:
    theming.choose(ThemeMode.SYSTEM)
    for scheme, theme in ((Qt.ColorScheme.Light, LIGHT), (Qt.ColorScheme.Dark, DARK)):
        qapp.styleHints().setColorScheme(scheme)
        qapp.styleHints().colorSchemeChanged.emit(scheme)
        if qapp.styleHints().colorScheme() is scheme:  # a platform may have no say in it
            assert theming.theme is theme


def test_that_a_chosen_theme_ignores_the_system(theming: Theming, qapp: QApplication) -> None:
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert theming.theme is DARK
