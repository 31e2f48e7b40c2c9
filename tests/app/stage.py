"""A session with a real thread and a fake engine, to be put into every state and listened to."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QThread, Slot
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.loader import ModelMissing, ModelRequest
from app.run_state import RunState
from app.session import Session
from core.config import RunSettings
from core.progress import Progress
from core.trace.trace import Trace
from tests.fakes import FakeEngine, FakeLoader
from widgets.selection import Selection

TIMEOUT = 20_000
"""Milliseconds; only a hang comes near it."""


class Recorder(QObject):
    """Writes down everything a session says, and checks that it is said in the GUI thread."""

    def __init__(self, session: Session) -> None:
        super().__init__()  # without a parent: session and recorder must not make a reference cycle
        self.states: list[RunState] = []
        self.failures: list[Failure] = []
        self.missing: list[ModelMissing] = []
        self.progress: list[Progress] = []
        self.selections: list[Selection] = []
        self.changes: list[int] = []
        self.models: list[object] = []
        self._session = session
        session.state_changed.connect(self._on_state)
        session.failed.connect(self._on_failed)
        session.model_missing.connect(self._on_missing)
        session.progressed.connect(self._on_progressed)
        session.selection_changed.connect(self._on_selection)
        session.trace_changed.connect(self._on_trace)
        session.model_changed.connect(self._on_model)

    @Slot(object)
    def _on_state(self, state: RunState) -> None:
        assert QThread.currentThread() is self.thread()
        self.states.append(state)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failures.append(failure)

    @Slot(object)
    def _on_missing(self, missing: ModelMissing) -> None:
        self.missing.append(missing)

    @Slot(object)
    def _on_progressed(self, progress: Progress) -> None:
        self.progress.append(progress)

    @Slot(object)
    def _on_selection(self, selection: Selection) -> None:
        self.selections.append(selection)

    @Slot(int)
    def _on_trace(self, first: int) -> None:
        assert QThread.currentThread() is self.thread()
        self.changes.append(first)
        selected = self._session.selection.token
        if selected is not None:  # a view may look the selected token up at once
            assert self._session.trace is not None
            assert self._session.trace.records[selected].token == selected

    @Slot(object)
    def _on_model(self, model: object) -> None:
        self.models.append(model)


class Stage:
    """A session, what it said, and the fakes behind it."""

    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.loader = FakeLoader()
        self.session = Session(self.loader)
        self.heard = Recorder(self.session)

    @property
    def engine(self) -> FakeEngine:
        return self.loader.engine

    @property
    def trace(self) -> Trace:
        assert self.session.trace is not None
        return self.session.trace

    def until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=TIMEOUT)

    def until_state(self, state: RunState) -> None:
        self.until(lambda: self.session.state is state)

    def load(self, engine: FakeEngine | None = None) -> None:
        self.loader.engine = engine or self.loader.engine
        self.session.load_model(ModelRequest("fake"))
        self.until_state(RunState.READY)

    def run(self, prompt: str = "Why is the sky blue?", *, paused: bool = False) -> None:
        self.session.run(prompt, RunSettings(), paused=paused)

    def run_to_end(self) -> None:
        self.run()
        self.until_state(RunState.FINISHED)

    def run_until_stuck(self) -> None:
        self.run()
        self.until(self.engine.stuck.is_set)

    def hold(self) -> None:
        """Start a run and wait until it is held before the prompt."""
        self.run(paused=True)
        self.until(lambda: self.session.is_held)
        assert self.session.state is RunState.PAUSED

    def trace_events(self) -> list[object]:
        return list(self.session.trace.events) if self.session.trace is not None else []

    def step(self, command: Callable[[], None]) -> list[object]:
        """One step from hold to hold, and the events that it brought."""
        before = len(self.trace_events())
        command()
        self.until(lambda: self.session.is_held)
        return self.trace_events()[before:]


def names(events: list[object]) -> list[str]:
    """The kinds of these events."""
    return [type(event).__name__ for event in events]
