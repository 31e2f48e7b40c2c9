"""What every test gets: a fresh home, no screen, no hub, and a complaint where it leaves a widget behind."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from core.model.loading import LoadedModel

# All three are read when Qt, torch or the hub client is first imported, hence here and not in a fixture.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

REAL_CACHE = Path(os.environ.get("SPECEE_VIEWER_CACHE") or platformdirs.user_cache_dir("specee-viewer"))
"""Where the user's own model store lies; only tests marked `model` may look into it."""

FAILED = pytest.StashKey[bool]()

# Tests must not depend on luck or on how busy the machine is; `./dev.sh soak` draws other examples, from its seeds.
settings.register_profile("fast", deadline=None, derandomize=True, database=None)
settings.register_profile("soak", deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember failures: a failed test's traceback keeps its widgets alive, which is not the test's leak."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(autouse=True)
def no_leaked_widgets(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a top-level widget behind. Set up first, so that it looks after every other fixture."""
    before = set(top_level_widgets())
    yield
    if request.node.stash.get(FAILED, False):
        return
    if leaked_widgets(before):
        gc.collect()
    leaked = leaked_widgets(before)
    if leaked:
        pytest.fail(f"left behind: {', '.join(leaked)}; add it with qtbot.addWidget or close and delete it")


@pytest.fixture(autouse=True)
def plain_application(no_leaked_widgets: None) -> Iterator[None]:
    """Take colours and stylesheet off the application again: with one a window takes three times as long to make."""
    yield
    if not qt_is_loaded():
        return
    from PySide6.QtGui import QPalette
    from PySide6.QtWidgets import QApplication

    application = QApplication.instance()
    if isinstance(application, QApplication) and application.styleSheet():
        application.setStyleSheet("")
        application.setPalette(QPalette())


@pytest.fixture(autouse=True)
def fresh_home(no_leaked_widgets: None, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home of its own for each test: settings, data and cache. Tests marked `model` keep the real model store."""
    home = tmp_path / "home"
    home.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in HOME_VARIABLES.items():
            patch.setenv(name, str(home / folder))
        is_model_test = request.node.get_closest_marker("model") is not None
        patch.setenv("SPECEE_VIEWER_CACHE", str(REAL_CACHE if is_model_test else home / "store"))
        isolate_settings(home / "settings")
        yield home


HOME_VARIABLES = {
    "HOME": "",
    "USERPROFILE": "",
    "APPDATA": "roaming",
    "LOCALAPPDATA": "local",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_CACHE_HOME": ".cache",
    "XDG_STATE_HOME": ".local/state",
}


def isolate_settings(folder: Path) -> None:
    """Keep QSettings inside `folder`."""
    if not qt_is_loaded():
        return
    from PySide6.QtCore import QSettings

    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    for form in (QSettings.Format.IniFormat, QSettings.Format.NativeFormat):
        QSettings.setPath(form, QSettings.Scope.UserScope, str(folder))


def qt_is_loaded() -> bool:
    """Whether Qt takes part in this test run; core's tests also run on a machine without it."""
    return "PySide6.QtCore" in sys.modules


def top_level_widgets() -> list[object]:
    """The windows without a parent that exist now, once pending deletions are done."""
    if not qt_is_loaded():
        return []
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    if QCoreApplication.instance() is None:
        return []
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return [w for w in QApplication.topLevelWidgets() if w.parent() is None and not is_qts_own(w)]


def is_qts_own(widget: object) -> bool:
    """Whether Qt keeps this window for itself, such as the one tooltip that it reuses."""
    return widget.metaObject().className() == "QTipLabel"  # type: ignore[attr-defined]


def leaked_widgets(before: set[object]) -> list[str]:
    """What exists now and did not in `before`, as readable names."""
    return [f"{type(w).__name__} {w.objectName()!r}" for w in top_level_widgets() if w not in before]  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def default_model_folder() -> Path:
    """The default model in the user's own store, for tests marked `model`."""
    from core.config import DEFAULT_MODEL
    from core.model.store import ModelStore

    folder = ModelStore(REAL_CACHE).find(DEFAULT_MODEL)
    if folder is None:
        pytest.fail("The default model is not in the store; run `specee-viewer model fetch` while online first.")
    return folder


@pytest.fixture(scope="session")
def default_model(default_model_folder: Path) -> LoadedModel:
    """The default model in float32, loaded once for all tests marked `model`."""
    from core.choices import DType
    from core.model.loading import load_model
    from core.progress import quiet

    return load_model(default_model_folder, dtype=DType.FLOAT32, threads=None, report=quiet, cancel=None)
