"""Picture every panel and dialog in every state, for looking at them: no model, no network, a minute a theme and scale.

    python -m scripts.states OUT                      # both themes
    python -m scripts.states OUT --theme dark --scale 1.5 --parts sample,panels --only 'long|tree'

Writes `THEME-SCALE-STATE.png`: the window in each state and layout, each panel alone, narrow and wide, each dialog, and
sheets of the panels. Runs are the tests' fakes, with texts that are hard to show; the rest is the sample session.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QWidget

from app.application import make_application
from app.commands.window_probe import keep_settings_in
from app.error_dialog import ErrorDialog
from app.failure import Failure
from app.loader import ModelMissing
from app.main_window import MainWindow
from app.places import PLACES, TREE
from app.run_state import RunState
from app.session import Session
from app.settings import Preferences, ThemeMode
from app.theming import Theming
from app.tour_steps import STOPS
from app.workbench import Workbench
from core.choices import Policy, Record
from core.config import DEFAULT_MODEL, RunSettings
from core.trace.events import Event
from core.trace.trace import Trace
from scripts.hard_texts import TEXTS, texted
from scripts.patience import wait_until
from scripts.picture_sheet import sheet
from tests.fakes import FakeEngine, FakeLoader, fake_run_events
from widgets.selection import Selection

SIZE = (1440, 900)
SMALL = (1024, 680)
SIZES = {"narrow": (300, 300), "low": (560, 190), "wide": (900, 420)}
"""Of a panel alone, in pixels."""
PARTS = ("live", "texts", "sample", "dialogs", "panels")
QUESTION = "Why is the sky blue?"
AUDITED = RunSettings(policy=Policy.SPECEE_T1T2, max_new_tokens=40, record=Record.AUDIT)
SETTLED_MS = 700
DIALOGS = ("settings", "palette", "keys", "explain", "glossary", "about", "goto_token", "parts", "train", "save_layout")
"""Actions that open one of our own dialogs; those of the system are not ours to look at."""


class Studio:
    """One window in one theme, taken from state to state."""

    def __init__(self, application: QApplication, mode: ThemeMode, out: Path, scale: float, only: str) -> None:
        self._application, self._only = application, re.compile(only)
        self._stem = str(out / f"{mode.value}-{scale:g}x-")
        self._loader = FakeLoader(FakeEngine(tokens=40, depth=30))
        self._has_sample = False
        self.window = MainWindow(Preferences())
        Theming(application, mode).attach(self.window)
        self.window.recall()
        self.window.reset_layout()
        self.session = Session(self._loader)
        self.work = Workbench(self.session, self.window)
        for _ in self.work.build():
            pass
        self.window.resize(*SIZE)
        self.window.show()

    def take_all(self, parts: Collection[str]) -> None:
        """Every state of these parts, in the order in which a user meets them."""
        self.settle()
        self.take("empty")
        for name, take in zip(PARTS, (self._live, self._texts, self._sample, self._dialogs, self._panels), strict=True):
            if name in parts:
                take()

    def close(self) -> None:
        self.window.close()

    # States

    def _live(self) -> None:
        self._load()
        self.window.prompt.text.setPlainText(QUESTION)
        self._run_and_stop()
        self._run_by_steps()
        self._fail()

    def _load(self) -> None:
        self._loader.stuck = True
        self.work.flow.open("fake")
        self.wait(lambda: self.session.state is RunState.LOADING)
        self.settle()
        self.take("loading")
        self._loader.stuck = False
        self.session.cancel_load()
        self.wait(lambda: not self.session.is_loading)
        self.work.flow.open("fake")
        self.wait(lambda: self.session.state is RunState.READY)
        self.take("ready")

    def _run_and_stop(self) -> None:
        self._loader.engine.stuck_at = 700
        self.session.run(QUESTION, AUDITED)
        self.wait(self._loader.engine.stuck.is_set)
        self.settle()
        self.take("running")
        self.session.stop()
        self.wait(lambda: not self.session.is_running)
        self._loader.engine.stuck_at = None

    def _run_by_steps(self) -> None:
        self.session.run(QUESTION, AUDITED, paused=True)
        self.settle()
        self.take("held-before")
        for _ in range(6):
            self._step(self.session.step_token)
        for _ in range(9):
            self._step(self.session.step_layer)
        self.settle()
        self.take("paused")
        self.session.play()
        self.wait(lambda: self.session.state is RunState.FINISHED)
        self.settle()
        self.take("finished")

    def _fail(self) -> None:
        self._loader.engine.error, self._loader.engine.error_at = ValueError("a fault of the program"), 60
        self.session.run(QUESTION, AUDITED)
        self.wait(lambda: self._dialog() is not None)
        self.settle()
        self.take("failed")
        self._close_dialogs()

    def _step(self, step: Callable[[], None]) -> None:
        step()
        self.wait(lambda: self.session.is_held or not self.session.is_running)

    def _texts(self) -> None:
        for name, words in TEXTS.items():
            self._show(texted(fake_run_events(30, 30, audit=True), words), Selection(6, 20))
            self.take(f"texts-{name}")
            self._layout("debugging", ("layers", "ledger"))
            self.take(f"texts-{name}-debugging")
            self._layout("", ())
        for count in (1, 3, 10_000):
            self._show(fake_run_events(count, 30, audit=True), Selection(count // 2))
            self.take(f"tokens-{count}")
        self.window.resize(*SMALL)
        self.settle()
        self.take("small-window")
        self.window.resize(*SIZE)

    def _show(self, events: list[Event], selection: Selection) -> None:
        self.session.show_trace(Trace.of(events))
        self.session.select(selection)
        self.settle()

    def _open_sample(self) -> None:
        """Show the sample session, which is asked about where runs are unsaved; nothing where it is on show."""
        if self._has_sample:
            return
        before, unsaved = self.session.trace, self.work.files.library.is_unsaved
        self.work.files.open_sample()
        if unsaved:
            self.wait(lambda: self._dialog() is not None)
            self.settle()
            self.take("dialog-unsaved")
            next(one for one in self.window.findChildren(QPushButton) if one.text() == "&Discard").click()
        self.wait(lambda: self.session.trace is not before and not self.work.files.is_busy)
        self.settle()
        self._has_sample = True

    def _sample(self) -> None:
        self._open_sample()
        self.take("sample")
        for layout, front in (("teaching", ()), ("debugging", ("what_if",)), ("debugging", ("inspector", "kv_map"))):
            self._layout(layout, front)
            self.session.select(Selection(6, 22))
            self.settle()
            self.take("-".join((f"layout-{layout}", *front)))
        self._layout("compare", ())
        self.take("layout-compare")
        self._tree()
        self._layout("", ())

    def _tree(self) -> None:
        library = self.work.files.library
        runs = [(title.number, library.trace(title.number).started) for title in library.titles()]
        trees = [number for number, started in runs if started is not None and started.settings.tree.on]
        self.work.files.show_run(trees[0])
        self._layout("tree", ())
        for name, selection in (("", Selection(20)), ("-step", Selection(20, 12)), ("-prefill", Selection(0))):
            self.session.select(selection)
            self.settle()
            self.take(f"layout-tree{name}")
        self.work.files.show_run(runs[-1][0])

    def _layout(self, name: str, front: tuple[str, ...]) -> None:
        self.window.commands[f"layout_{name}" if name else "reset_layout"].trigger()
        for key in front:
            self.window.panels[key].show()
            self.window.panels[key].raise_()
        self.settle()

    # Dialogs

    def _dialogs(self) -> None:
        self._open_sample()
        for name in DIALOGS:
            if not self._wanted(f"dialog-{name}"):
                continue
            self.window.commands[name].trigger()
            self.settle()
            self.take_dialog(f"dialog-{name}")
            self._close_dialogs()
        self.session.model_missing.emit(ModelMissing(DEFAULT_MODEL, 93_000_000, "Apache-2.0"))
        self.take_dialog("dialog-model")
        self._close_dialogs()
        for name, details in (("error", ""), ("bug", "Traceback (most recent call last):\n  …\n" * 9)):
            sentence = "The file run.specee cannot be read: it ends too early. Choose another one."
            failure = Failure(sentence, details, user_error=not details)
            ErrorDialog(failure, self.window.theme, self.window, self.window.desk.report).open()
            self.take_dialog(f"dialog-{name}")
            self._close_dialogs()
        self._tour()

    def _tour(self) -> None:
        self.window.commands["tour"].trigger()
        self.wait(lambda: self.work.tour.stop is not None)
        for index in range(len(STOPS)):
            self.settle()
            self.take(f"tour-{index + 1}")
            self.work.tour.forward()
        self.work.tour.end()

    def _dialog(self) -> QDialog | None:
        return next((d for d in self.window.findChildren(QDialog) if d.isVisible()), None)

    def _close_dialogs(self) -> None:
        while (dialog := self._dialog()) is not None:
            dialog.close()
            self._application.processEvents()

    # Panels

    def _panels(self) -> None:
        self._open_sample()
        for place in PLACES:
            if not self._wanted(f"panel-{place.key}"):
                continue
            self._alone(place.key)
        self._sheets()

    def _alone(self, key: str) -> None:
        if key == TREE.key:
            self._tree()
        panel = self.window.panels[key]
        panel.show()
        panel.raise_()
        self.settle()
        panel.setFloating(True)
        self.session.select(Selection(6, 22))
        for name, size in SIZES.items():
            panel.resize(*size)
            self.settle()
            self.take(f"panel-{key}-{name}", panel)
        panel.setFloating(False)
        self._layout("", ())

    def _sheets(self) -> None:
        for size in SIZES:
            paths = [Path(f"{self._stem}panel-{place.key}-{size}.png") for place in PLACES]
            sheet([path for path in paths if path.exists()], Path(f"{self._stem}sheet-{size}.png"))

    # Taking

    def wait(self, condition: Callable[[], bool]) -> None:
        """Let the window live until the condition holds; raises as `wait_until`."""
        wait_until(condition, lambda: self.session.state)

    def settle(self) -> None:
        """Let panels be made, and what they ask for in threads of their own be answered."""
        timer = QElapsedTimer()
        timer.start()
        self.wait(lambda: timer.elapsed() > SETTLED_MS)
        self.work.views.flush()
        self.work.rack.flush()
        self._application.processEvents()

    def take(self, state: str, widget: QWidget | None = None) -> None:
        """Write the picture of the window, or of a part, as it is now, with a dialog that is open."""
        if not self._wanted(state):
            return
        picture = (widget or self.window).grab()
        if widget is None and (dialog := self._dialog()) is not None:
            painter = QPainter(picture)  # off screen nothing places the dialog
            painter.drawPixmap(self.window.rect().center() - dialog.rect().center(), dialog.grab())
            painter.end()
        picture.save(f"{self._stem}{state}.png")

    def take_dialog(self, state: str) -> None:
        """Write the picture of the dialog that is open; say so where there is none."""
        self.settle()
        if (dialog := self._dialog()) is not None:
            self.take(state, dialog)
        else:
            print(f"there is no {state}")

    def _wanted(self, state: str) -> bool:
        return self._only.search(state) is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="folder for the pictures")
    parser.add_argument("--scale", type=float, default=1.0, help="pixels of the screen a pixel (default: %(default)s)")
    parser.add_argument("--theme", choices=("dark", "light"), help="only this one")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to go through (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only states whose names this pattern finds")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["QT_SCALE_FACTOR"] = str(given.scale)
    application = make_application()
    application.setEffectEnabled(Qt.UIEffect.UI_AnimateCombo, False)
    with tempfile.TemporaryDirectory() as folder:
        keep_settings_in(folder)
        for mode in [ThemeMode(given.theme)] if given.theme else (ThemeMode.DARK, ThemeMode.LIGHT):
            studio = Studio(application, mode, given.out, given.scale, given.only)
            try:
                studio.take_all(given.parts.split(","))
            finally:
                studio.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
