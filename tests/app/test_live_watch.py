"""A live run is held at the very token that a search through its recording finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.engine_worker import EngineWorker, LoadOrder, RunOrder
from app.live_watch import Halt, LiveWatch
from app.loader import ModelRequest
from app.mailbox import Mailbox, RunMoved
from app.run_control import RunControl
from app.run_state import RunState
from core.analysis.breakpoints import find
from core.analysis.conditions import (
    AcceptanceAtMost,
    ActiveSetChanged,
    CandidatesMiss,
    Condition,
    ExitAtLeast,
    ExitAtMost,
    NearThreshold,
    Refused,
    WrongExit,
)
from core.analysis.text_conditions import TextContains, TokenMatches
from core.choices import Policy
from core.config import RunSettings
from core.trace.events import Event, TokenEmitted
from core.trace.trace import Trace
from tests.app.stage import Stage
from tests.core.handmade import emitted, started
from tests.core.recordings import DEPTH, Recorder, audit_settings
from tests.fakes import FakeLoader, fake_run_events
from tests.tiny import make_tiny_model
from tests.tree_passes import TreePlan, tree_trace
from widgets.selection import Selection

EVERY: tuple[Condition, ...] = (
    ExitAtMost(4),
    ExitAtLeast(6),
    Refused(),
    WrongExit(),
    NearThreshold(0.05),
    ActiveSetChanged(),
    CandidatesMiss(),
    TextContains("e"),
    TokenMatches("[a-m]"),
    AcceptanceAtMost(1),
)
FAKE_SETTINGS = RunSettings(policy=Policy.SPECEE_T1T2)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    return Recorder(make_tiny_model(tmp_path_factory.mktemp("tiny"), depth=DEPTH))


def halts(events: list[Event], *conditions: Condition) -> list[int]:
    """The tokens after which a run of these events is held."""
    watch, held = LiveWatch(), []
    watch.watch_for(conditions)
    for event in events:
        if (halt := watch.look(event)) is not None:
            assert isinstance(event, TokenEmitted)
            assert halt.token == event.token
            held.append(halt.token)
    return held


def found(trace: Trace, *conditions: Condition) -> list[int]:
    """The tokens that a search goes to one after the other."""
    tokens, at = [], -1
    while hit := find(conditions, trace, at):
        at = hit.token
        tokens.append(at)
    return tokens


@pytest.mark.parametrize("condition", EVERY, ids=lambda one: one.label)
def test_that_a_live_run_is_held_where_the_replay_search_says(recorder: Recorder, condition: Condition) -> None:
    trees = tree_trace(TreePlan(), TreePlan(accepted=(), refused=(14,)), TreePlan(accepted=(1, 4), exit_layer=30))
    audited, fake = recorder.run(audit_settings()), Trace.of(fake_run_events(24, settings=FAKE_SETTINGS))
    runs = (audited, fake, trees)
    assert any(found(trace, condition) for trace in runs)
    for trace in runs:
        assert halts(list(trace.events), condition) == found(trace, condition)


def test_that_a_halt_tells_every_condition_that_was_met() -> None:
    watch, told = LiveWatch(), []
    watch.watch_for(EVERY)
    events = fake_run_events(12, audit=True)
    for event in events:
        if halt := watch.look(event):
            told.append(halt)
    trace = Trace.of(events)
    for halt in told:
        assert set(halt.conditions) == {one for one in EVERY if one.found(trace, halt.token, halt.token + 1)[0]}
    assert any(len(halt.conditions) > 1 for halt in told)


def test_that_a_condition_set_in_the_middle_of_a_run_knows_what_came_before() -> None:
    """The text begins in a token that nobody waited for."""
    watch = LiveWatch()
    for event in (started(), emitted(0, " the"), emitted(1, " sky")):
        assert watch.look(event) is None
    watch.watch_for([TextContains("sky is")])
    halt = watch.look(emitted(2, " is"))
    assert halt == Halt(0, 2, (TextContains("sky is"),))


def test_that_a_pattern_without_end_holds_the_run_once_and_is_given_up() -> None:
    watch, endless = LiveWatch(), TokenMatches("(a+)+$")
    watch.watch_for([endless])
    watch.look(started())
    halt = watch.look(emitted(0, "a" * 500 + "!"))
    assert halt is not None
    assert halt.conditions == ()
    assert [(one, sentence.endswith("write a simpler one.")) for one, sentence in halt.problems] == [(endless, True)]
    assert watch.look(emitted(1, "a" * 500 + "!")) is None


def test_that_the_worker_holds_the_run_before_it_asks_for_anything_more() -> None:
    mailbox, watch, control = Mailbox(), LiveWatch(), RunControl()
    worker = EngineWorker(FakeLoader(), mailbox, watch=watch)
    worker.load_model(LoadOrder(1, ModelRequest("fake"), control.stop_event))
    watch.watch_for([Refused()])
    gate, seen = control.gate, []

    def answered(event: Event, announce: object) -> None:
        def tell(holds: bool) -> None:
            announce(holds)  # type: ignore[operator]
            if holds:
                seen.append(event)
                control.play()

        gate(event, tell)

    control.gate = answered  # type: ignore[method-assign]
    worker.run(RunOrder(0, "Why?", RunSettings(), control))
    items = []
    while portion := mailbox.take(1000):
        items += portion
    tokens = [event.token for event in seen]
    assert tokens == found(Trace.of(fake_run_events()), Refused())
    for halt in (item for item in items if isinstance(item, Halt)):
        place = items.index(halt)
        assert isinstance(items[place - 1], TokenEmitted)
        assert items[place + 1] == RunMoved(0, RunState.PAUSED)


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.session.close()


def test_that_a_session_tells_of_a_halt_with_everything_up_to_there_on_show(stage: Stage) -> None:
    stage.load()
    heard: list[tuple[int, int]] = []

    def halted(halt: Halt) -> None:
        heard.append((halt.token, stage.trace.emitted_count))

    stage.session.halted.connect(halted)
    stage.session.watch.watch_for([ExitAtLeast(12)])
    stage.run()
    stage.until(lambda: stage.session.is_held)
    assert heard == [(3, 4)]
    assert stage.session.selection == Selection(3)
    stage.session.play()
    stage.until(lambda: stage.session.is_held and len(heard) == 2)
    assert heard == [(3, 4), (4, 5)]
