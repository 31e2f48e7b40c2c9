"""A window over a tiny engine with real parts, whose tools have something to say of what it runs."""

from __future__ import annotations

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from app.places import Place
from app.run_state import RunState
from core.config import RunSettings
from core.trace.fork import Fork
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.tiny_loader import TinyLoader
from tests.app.window_stage import WindowStage
from tests.core.recordings import PROMPTS, Recorder


class ToolStage(WindowStage):
    """A window that records the tiny engine's runs and can bring a tool's panel in front."""

    def __init__(self, qtbot: QtBot, recorder: Recorder) -> None:
        super().__init__(qtbot, TinyLoader(recorder), recording=True)  # type: ignore[arg-type]

    def load_tiny(self) -> None:
        """Load the tiny engine; a stage begins without a model."""
        self.work.flow.open("tiny")
        self.until_state(RunState.READY)

    def until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=TIMEOUT)

    def bring(self, place: Place) -> None:
        """Put a panel in front, and draw what waits."""
        panel = self.window.panels[place.key]
        panel.show()
        panel.raise_()
        self.until(lambda: place.key in self.work.rack._tools)
        self.work.rack.flush()

    def run(self, settings: RunSettings, fork: Fork | None = None) -> Trace:
        """Another run, to its end."""
        before = self.session.trace
        self.session.run(PROMPTS[0], settings, fork=fork)
        self.until(lambda: self.session.trace is not before)
        self.until_state(RunState.FINISHED)
        self.work.rack.flush()
        assert isinstance(self.session.trace, Trace)
        return self.session.trace

    def sentence(self, place: Place) -> str:
        """What a panel says in place of its view."""
        panel = self.window.panels[place.key]
        return panel.empty.accessibleName() if panel.is_empty else ""
