"""Make the README's pictures: the real window, off screen, on a real run of the default model.

    python -m scripts.screenshots            # into docs/images
    python -m scripts.screenshots --out DIR --model REF

Writes one picture a state and theme: the finished run as `window-dark.png` and `window-light.png`, the others as
`window-dark-loading.png` and so on; then the named layouts on the sample session. `--sample` makes only these, and
needs no model.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QPoint, Qt
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog

from app.application import make_application
from app.commands import fitting
from app.commands.window_probe import keep_settings_in
from app.loader import ModelMissing
from app.main_window import MainWindow
from app.run_state import RunState
from app.session import Session
from app.settings import Preferences, ThemeMode
from app.theming import Theming
from app.workbench import Workbench
from core.analysis.summaries import Outcome, outcome
from core.choices import Policy, Record
from core.config import DEFAULT_MODEL, RunSettings
from scripts.patience import wait_until
from widgets.selection import Selection

SIZE = (1440, 900)
PROMPT = "Write a short story about a robot who learns to paint."
"""Its answer is long enough for every state."""
SETTLED_MS = 2500
MAIN_STATE = "finished"
RUNNING_TOKENS, PAUSED_TOKENS, PAUSED_LAYERS, ALL_TOKENS = 24, 12, 17, 64


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture of the sample session."""

    name: str
    selection: Selection
    layout: str = ""
    """The scene's name where it is empty."""
    front: tuple[str, ...] = ()
    """Panels that are brought in front of others."""
    tree: bool = False
    """Whether the run of token trees is on show, and not the last one."""


SCENES = (
    Scene("debugging", Selection(6, 22), front=("what_if",)),
    Scene("inspector", Selection(6, 22), layout="debugging", front=("inspector", "ledger", "kv_map")),
    Scene("teaching", Selection(2, 26)),
    Scene("compare", Selection(6)),
    Scene("tree", Selection(20), tree=True),
)
"""What is shown of the sample session."""


class Studio:
    """One window in one theme, taken from state to state."""

    def __init__(self, application: QApplication, mode: ThemeMode, out: Path) -> None:
        self._application, self._mode, self._out = application, mode, out
        self.window = MainWindow(Preferences())
        Theming(application, mode).attach(self.window)
        self.window.recall()
        self.session = Session()
        self.work = Workbench(self.session, self.window)
        for _ in self.work.build():
            pass
        self.window.resize(*SIZE)
        self.window.show()

    def take_all(self, model: str) -> None:
        """Every state, in the order in which a user meets them."""
        self.wait(lambda: self.window.isVisible())
        self.take("empty")
        self._first_launch()
        self._load(model)
        self._run_and_stop()
        self._pause_in_a_token()
        self._finish()
        self._fail()

    def take_sample(self) -> None:
        """The named layouts."""
        self.wait(lambda: self.window.isVisible())
        self.work.files.open_sample()
        self.wait(lambda: self.session.trace is not None and not self.work.files.is_busy)
        library = self.work.files.library
        runs = [(title.number, library.trace(title.number).started) for title in library.titles()]
        trees = [number for number, started in runs if started is not None and started.settings.tree.on]
        for scene in SCENES:
            self.work.files.show_run(trees[0] if scene.tree else runs[-1][0])
            self.window.commands[f"layout_{scene.layout or scene.name}"].trigger()
            for key in scene.front:
                self.window.panels[key].raise_()
            self.session.select(scene.selection)
            self.let_settle()
            self.take(scene.name)

    def let_settle(self) -> None:
        """Let panels be made, and what they ask for in threads of their own be answered."""
        timer = QElapsedTimer()
        timer.start()
        self.wait(lambda: timer.elapsed() > SETTLED_MS)

    def close(self) -> None:
        """End it, with whatever is unsaved."""
        self.window.close()

    def _first_launch(self) -> None:
        self.session.model_missing.emit(ModelMissing(DEFAULT_MODEL, 93_000_000, "Apache-2.0"))
        self.take("first-launch")
        self._close_dialogs()

    def _load(self, model: str) -> None:
        self.work.flow.open(model)
        self.wait(lambda: self.session.state is RunState.LOADING)
        self.take("loading")
        self.wait(lambda: self.session.model is not None and self.session.state is RunState.READY)
        self.take("ready")

    @property
    def settings(self) -> RunSettings:
        """The paper's, audited, as far as the model goes."""
        model = self.session.model
        assert model is not None, "a model is loaded first"
        policy = Policy.SPECEE_T1T2 if model.has_parts else Policy.DENSE
        settings = RunSettings(policy=policy, max_new_tokens=ALL_TOKENS, record=Record.AUDIT)
        return fitting.shrink(settings, model.info.depth)

    def _run_and_stop(self) -> None:
        self.window.prompt.text.setPlainText(PROMPT)
        self.window.form.set_settings(self.settings)  # so that the panel shows what was run
        self.session.run(PROMPT, self.settings)
        self.wait(lambda: self._emitted() >= RUNNING_TOKENS)
        self.take("running")
        self.session.stop()
        self.wait(lambda: not self.session.is_running)
        self.session.reset()

    def _pause_in_a_token(self) -> None:
        self.session.run(PROMPT, self.settings, paused=True)
        for token in range(PAUSED_TOKENS):
            self.session.step_token()
            self.wait(partial(self._is_paused_after, token + 1))
        for layer in range(min(PAUSED_LAYERS, self._depth() - 1)):
            self.session.step_layer()
            self.wait(partial(self._has_run, layer + 1))
        self.take("paused")

    def _is_paused_after(self, tokens: int) -> bool:
        return self._emitted() >= tokens and self.session.state is RunState.PAUSED

    def _has_run(self, layers: int) -> bool:
        """Whether the token in flight is that far, or gone: a SpecEE token may leave before."""
        return self._layers_in_flight() >= layers or self._emitted() > PAUSED_TOKENS

    def _depth(self) -> int:
        return self.session.model.info.depth if self.session.model else 1

    def _finish(self) -> None:
        self.session.play()
        self.wait(lambda: self.session.state is RunState.FINISHED)
        self.session.select(Selection(self._telling_token()))
        self.take(MAIN_STATE)

    def _telling_token(self) -> int:
        """The middle one of the tokens that left early, or of all."""
        records = self.session.trace.emitted if self.session.trace else []
        early = [record.token for record in records if outcome(record) is Outcome.EARLY_EXIT]
        among = early or list(range(len(records)))
        return among[len(among) // 2]

    def _fail(self) -> None:
        self.session.run("sky " * 20_000, self.settings)
        self.wait(lambda: self._dialog() is not None)
        self.take("error")
        self._close_dialogs()

    def _emitted(self) -> int:
        return self.session.trace.emitted_count if self.session.trace else 0

    def _layers_in_flight(self) -> int:
        records = self.session.trace.records if self.session.trace else []
        return records[-1].layers_run if records and records[-1].emitted is None else 0

    def _dialog(self) -> QDialog | None:
        return next((d for d in self.window.findChildren(QDialog) if d.isVisible()), None)

    def _close_dialogs(self) -> None:
        dialog = self._dialog()
        if dialog is not None:
            dialog.close()
        self.wait(lambda: self._dialog() is None)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Let the window live until the condition holds; raises as `wait_until`."""
        wait_until(condition, lambda: self.session.state)

    def take(self, state: str) -> None:
        """Write the picture of what is on show now."""
        self.work.views.flush()
        self.work.rack.flush()
        self._application.processEvents()
        picture = self.window.grab()
        dialog = self._dialog()
        if dialog is not None:
            self._put_on(picture, dialog)
        suffix = "" if state == MAIN_STATE else f"-{state}"
        path = self._out / f"window-{self._mode.value}{suffix}.png"
        picture.save(str(path))
        print(path)

    def _put_on(self, picture: QPixmap, dialog: QDialog) -> None:
        # Off screen there is no window manager that would place the dialog or frame it.
        part = dialog.grab()
        centre = self.window.rect().center() - QPoint(dialog.width() // 2, dialog.height() // 2)
        painter = QPainter(picture)
        painter.drawPixmap(centre, part)
        painter.setPen(Qt.GlobalColor.gray)
        painter.drawRect(centre.x() - 1, centre.y() - 1, dialog.width() + 1, dialog.height() + 1)
        painter.end()


def main() -> int:
    """Take all pictures in both themes."""
    parser = argparse.ArgumentParser(description="Make the README's pictures from a real run, off screen.")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where to (default: %(default)s)")
    parser.add_argument("--sample", action="store_true", help="only the sample session's pictures")
    parser.add_argument("--model", default=DEFAULT_MODEL, metavar="REF", help="which model (default: %(default)s)")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = make_application()
    for mode in (ThemeMode.DARK, ThemeMode.LIGHT):
        with tempfile.TemporaryDirectory() as folder:  # the layouts of one theme's windows are not the next one's
            keep_settings_in(folder)
            if not arguments.sample:
                live = Studio(application, mode, arguments.out)
                live.take_all(arguments.model)
                live.close()
            recorded = Studio(application, mode, arguments.out)
            recorded.take_sample()
            recorded.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
