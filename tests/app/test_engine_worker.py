"""The worker is called directly, in the test's own thread; `test_session.py` covers the thread around it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from app.engine_worker import EngineWorker, LoadOrder, RunOrder, leave_a_core
from app.loader import LoadedEngine, LoadedSummary, Loader, ModelMissing, ModelRequest
from app.mailbox import Item, LoadOver, Mailbox, RunMoved, RunOver
from app.run_control import RunControl
from app.run_state import RunState
from core.config import RunSettings
from core.errors import UserError
from core.progress import Progress, Report
from core.trace.events import EndReason, Event, LayerRun, RunEnded, RunStarted
from tests.fakes import FakeEngine, FakeLoader, fake_run_events, fake_summary


class Bench:
    """A worker, its mailbox, and how often it asked for attention."""

    def __init__(self, loader: Loader, mailbox: Mailbox | None = None) -> None:
        self.mailbox = mailbox or Mailbox()
        self.worker = EngineWorker(loader, self.mailbox)
        self.calls = {"events_ready": 0, "settled": 0}
        self.worker.events_ready.connect(self._on_events_ready)
        self.worker.settled.connect(self._on_settled)

    def _on_events_ready(self) -> None:
        self.calls["events_ready"] += 1

    def _on_settled(self) -> None:
        self.calls["settled"] += 1

    def load(self, cancel: threading.Event | None = None) -> list[Item]:
        self.worker.load_model(LoadOrder(1, ModelRequest("fake"), cancel or threading.Event()))
        return self.taken()

    def run(self, prompt: str = "Why?", control: RunControl | None = None, run: int = 3) -> list[Item]:
        self.worker.run(RunOrder(run, prompt, RunSettings(), control or RunControl()))
        return self.taken()

    def taken(self) -> list[Item]:
        items: list[Item] = []
        while portion := self.mailbox.take(10_000):
            items += portion
        return items


@pytest.fixture
def loader() -> FakeLoader:
    return FakeLoader()


@pytest.fixture
def bench(loader: FakeLoader) -> Bench:
    return Bench(loader)


def test_that_a_run_arrives_event_by_event_and_then_its_end(bench: Bench) -> None:
    bench.load()
    *events, over = bench.run()
    assert [type(event) for event in events] == [type(event) for event in fake_run_events(run=3, prompt="Why?")]
    assert over == RunOver(3, None)


def test_that_the_window_is_told_once_of_a_whole_run_that_it_has_not_looked_at(bench: Bench) -> None:
    bench.load()
    before = dict(bench.calls)
    bench.run()
    assert bench.calls["events_ready"] - before["events_ready"] == 1
    assert bench.calls["settled"] - before["settled"] == 1


def test_that_a_loaded_model_arrives_as_a_summary_after_its_progress(bench: Bench) -> None:
    progress, over = bench.load()
    assert isinstance(progress, Progress)
    assert isinstance(over, LoadOver)
    assert isinstance(over.outcome, LoadedSummary)
    assert over.outcome.info.depth == 12


def test_that_a_refused_prompt_leaves_no_event_behind(bench: Bench) -> None:
    bench.load()
    (over,) = bench.run("  ")
    assert isinstance(over, RunOver)
    assert over.failure is not None
    assert over.failure.user_error
    assert over.failure.sentence.startswith("The prompt is empty")


def test_that_an_engine_that_breaks_off_ends_its_trace_with_the_sentence(loader: FakeLoader, bench: Bench) -> None:
    loader.engine = FakeEngine(error=ValueError("bad shape"), error_at=20)
    bench.load()
    *events, ended, over = bench.run()
    assert len(events) == 20
    assert isinstance(over, RunOver)
    assert over.failure is not None
    assert ended == RunEnded(3, EndReason.FAILED, over.failure.sentence)
    assert not over.failure.user_error
    assert "bad shape" in over.failure.details
    assert "Traceback" in over.failure.details


def test_that_the_worker_runs_again_after_an_engine_broke_off(loader: FakeLoader, bench: Bench) -> None:
    loader.engine = FakeEngine(error=ValueError(), error_at=20)
    bench.load()
    bench.run()
    loader.engine.error = None
    assert bench.run(run=4)[-1] == RunOver(4, None)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_that_code_of_the_users_own_that_wants_to_leave_ends_its_run_only(
    error: BaseException, loader: FakeLoader, bench: Bench
) -> None:
    loader.engine = FakeEngine(error=error, error_at=20)
    bench.load()
    *_, ended, over = bench.run()
    assert isinstance(over, RunOver)
    assert over.failure is not None
    assert ended == RunEnded(3, EndReason.FAILED, over.failure.sentence)
    loader.engine.error = None
    assert bench.run(run=4)[-1] == RunOver(4, None)


def test_that_running_without_a_model_is_refused_in_a_sentence(bench: Bench) -> None:
    (over,) = bench.run()
    assert isinstance(over, RunOver)
    assert over.failure is not None
    assert over.failure.user_error


class ReleasingMailbox(Mailbox):
    """Answers every hold by going on, in the moment that it is told of it."""

    def __init__(self, control: RunControl) -> None:
        super().__init__()
        self.control = control

    def put(self, item: Item) -> bool:
        if isinstance(item, RunMoved) and item.state is RunState.PAUSED:
            self.control.play()
        return super().put(item)


def test_that_holds_and_releases_stand_between_the_events_they_fell_between(loader: FakeLoader) -> None:
    control = RunControl(paused=True)
    bench = Bench(loader, ReleasingMailbox(control))
    bench.load()
    started, held, released, *_ = bench.run(control=control)
    assert isinstance(started, RunStarted)
    assert held == RunMoved(3, RunState.PAUSED)
    assert released == RunMoved(3, RunState.RUNNING)


def test_that_a_run_stopped_before_its_turn_does_no_layer(bench: Bench) -> None:
    bench.load()
    control = RunControl()
    control.stop()
    items = bench.run(control=control)
    assert not any(isinstance(item, LayerRun) for item in items)
    assert isinstance(items[-2], RunEnded)
    assert items[-2].reason is EndReason.STOPPED


def test_that_an_engine_that_just_stops_yielding_still_leaves_an_end() -> None:
    def run(
        prompt: str, settings: RunSettings, run: int, stop: threading.Event, clock: object, fork: object
    ) -> Iterator[Event]:
        yield from fake_run_events(run=run)[:5]

    def load(request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
        return LoadedEngine(fake_summary(), run)

    bench = Bench(load)
    bench.load()
    assert isinstance(bench.run()[-2], RunEnded)


@pytest.mark.parametrize("cancelled_before", [True, False])
def test_that_a_cancelled_load_is_no_failure(cancelled_before: bool, loader: FakeLoader, bench: Bench) -> None:
    cancel = threading.Event()
    cancel.set()
    loader.stuck = not cancelled_before
    assert bench.load(cancel)[-1] == LoadOver(1, None)


def test_that_a_load_that_ends_just_as_it_is_cancelled_changes_nothing(loader: FakeLoader) -> None:
    def load(request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
        loaded = loader(request, report, cancel)
        cancel.set()
        return loaded

    bench = Bench(load)
    assert bench.load()[-1] == LoadOver(1, None)
    assert isinstance(bench.run()[0], RunOver)  # refused: there is no model


def test_that_a_missing_model_is_told_apart_with_size_and_licence(loader: FakeLoader, bench: Bench) -> None:
    loader.error = ModelMissing("far", 93_000_000, "Apache-2.0")
    over = bench.load()[-1]
    assert isinstance(over, LoadOver)
    assert isinstance(over.outcome, ModelMissing)
    assert (over.outcome.ref, over.outcome.size, over.outcome.licence) == ("far", 93_000_000, "Apache-2.0")
    assert over.outcome.__traceback__ is None


def test_that_the_model_loaded_before_survives_one_that_cannot_be_loaded(loader: FakeLoader, bench: Bench) -> None:
    bench.load()
    loader.error = UserError("That folder holds no model.")
    bench.load()
    assert bench.run()[-1] == RunOver(3, None)


@pytest.mark.parametrize(("cores", "asked", "given"), [(2, None, 1), (1, None, 1), (16, None, 15), (2, 2, 2)])
def test_that_the_window_keeps_a_core_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, cores: int, asked: int | None, given: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert leave_a_core(ModelRequest(threads=asked)).threads == given
