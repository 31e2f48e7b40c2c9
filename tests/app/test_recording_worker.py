"""The worker records every event, and a recording that fails takes nothing from the run."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from app.engine_worker import EngineWorker, LoadOrder, RunOrder
from app.loader import ModelRequest
from app.mailbox import LoadOver, Mailbox, RecordingStopped, RunOver
from app.recorder import Recorder
from app.run_control import RunControl
from core.config import RunSettings
from core.trace.events import Event, TokenEmitted
from core.trace.session_file import SessionFile
from tests.core.any_events import same_events
from tests.fakes import FakeEngine, FakeLoader


def test_that_every_event_is_recorded_before_it_is_handed_on(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    mailbox = Mailbox()
    loader = FakeLoader(FakeEngine(tokens=4))
    worker = EngineWorker(loader, mailbox, recorder)
    worker.load_model(LoadOrder(1, ModelRequest("fake"), threading.Event()))
    worker.run(RunOrder(3, "Why?", RunSettings(), RunControl()))
    path = recorder.file_of(3)
    assert path is not None
    told = [item for item in mailbox.take(10_000) if isinstance(item, LoadOver)]
    assert told
    events = [item for item in mailbox.take(10_000) if isinstance(item, Event)]
    with contextlib.closing(SessionFile(path)) as file:
        assert same_events(list(file.trace(3).events), events)
    recorder.close(keep=False)


def test_that_a_recording_that_fails_is_told_once_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    mailbox = Mailbox()
    worker = EngineWorker(FakeLoader(FakeEngine(tokens=4)), mailbox, Recorder(tmp_path / "file" / "recovery"))
    worker.load_model(LoadOrder(1, ModelRequest("fake"), threading.Event()))
    worker.run(RunOrder(0, "Why?", RunSettings(), RunControl()))
    items = [item for _ in range(4) for item in mailbox.take(10_000)]
    (stopped,) = [item for item in items if isinstance(item, RecordingStopped)]
    assert stopped.failure.user_error
    assert "cannot be recorded" in stopped.failure.sentence
    assert len([item for item in items if isinstance(item, TokenEmitted)]) == 4
    assert [item.failure for item in items if isinstance(item, RunOver)] == [None]
