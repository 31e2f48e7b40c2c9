"""Holding a run is tested in one thread: a held gate announces itself before it waits, and we answer there."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from app import run_control
from app.run_control import RunControl
from core.trace.events import (
    Event,
    LayerRun,
    PrefillAdvanced,
    RunEnded,
    RunStarted,
    TokenEmitted,
    TreeLayerRun,
    TreeVerified,
    Verified,
)
from tests.core.handmade import DEPTH
from tests.fakes import Plan, fake_run_events
from tests.tree_passes import TreePlan, tree_trace

Command = Callable[[RunControl], None]


def held_after(events: list[Event], control: RunControl, answer: Command) -> list[Event]:
    """Pass the events through the gate, answer every hold, and return the events after which there was one."""
    held: list[Event] = []
    for event in events:

        def announce(holds: bool, event: Event = event) -> None:
            if holds:
                held.append(event)
                answer(control)

        control.gate(event, announce)
    return held


def test_that_a_playing_run_is_never_held() -> None:
    assert held_after(fake_run_events(), RunControl(), RunControl.stop) == []


def test_that_a_run_started_paused_is_held_before_any_work_on_the_prompt() -> None:
    held = held_after(fake_run_events(), RunControl(paused=True), RunControl.play)
    assert [type(event) for event in held] == [RunStarted]


def test_that_stepping_tokens_holds_after_every_emitted_token() -> None:
    events = fake_run_events(tokens=7)
    held = held_after(events, RunControl(paused=True), RunControl.step_token)
    assert held[1:] == [event for event in events if isinstance(event, TokenEmitted)]


def test_that_a_paused_run_is_held_after_every_event_but_the_last() -> None:
    events = fake_run_events()
    control = RunControl()
    held: list[Event] = []

    def play_on(holds: bool) -> None:
        if holds:
            control.play()
            held.append(event)

    for event in events:
        control.pause()
        control.gate(event, play_on)
    assert held == events[:-1]


def test_that_stepping_layers_holds_once_for_each_layer_run_and_once_for_prefill() -> None:
    events = fake_run_events(tokens=6)
    held = held_after(events, RunControl(paused=True), RunControl.step_layer)
    layers = sum(isinstance(event, LayerRun) for event in events)
    assert len(held) == 1 + 1 + layers  # before the prompt, after it, and each layer


def test_that_a_refused_exit_belongs_to_the_step_of_its_layer() -> None:
    events = fake_run_events(tokens=2, plans=(Plan(early=False, refusals=1),))
    held = held_after(events, RunControl(paused=True), RunControl.step_layer)
    check = next(event for event in events if isinstance(event, Verified))
    assert check in held
    assert not any(isinstance(event, LayerRun) and event.layer == check.layer for event in held)


@pytest.mark.parametrize("early", [True, False])
def test_that_the_last_layer_of_a_token_is_one_step_with_the_token_it_emits(early: bool) -> None:
    events = fake_run_events(tokens=2, plans=(Plan(early, refusals=0),))
    held = held_after(events, RunControl(paused=True), RunControl.step_layer)
    emitted = [event for event in events if isinstance(event, TokenEmitted)]
    assert held[-1] == emitted[-1]
    last = emitted[-1].exit_layer - 1
    assert isinstance(held[-2], LayerRun)
    assert held[-2].layer == last - 1


def test_that_an_exit_refused_at_the_last_layer_but_one_does_not_swallow_the_last_layer() -> None:
    events = fake_run_events(tokens=2, depth=3, plans=(Plan(early=False, refusals=2),))
    held = held_after(events, RunControl(paused=True), RunControl.step_layer)
    assert [type(event) for event in held] == [RunStarted, TokenEmitted, Verified, Verified, TokenEmitted]


def test_that_a_pause_in_the_middle_of_a_layer_can_be_followed_by_a_step_to_its_end() -> None:
    events = fake_run_events(tokens=2, plans=(Plan(early=False, refusals=1),))
    proposal = next(event for event in events if isinstance(event, LayerRun) and event.proposed)
    control = RunControl()
    held: list[Event] = []
    for event in events:
        if event is proposal:
            control.pause()

        def announce(holds: bool, event: Event = event) -> None:
            if holds:
                held.append(event)
                (RunControl.step_layer if len(held) == 1 else RunControl.play)(control)

        control.gate(event, announce)
    assert held[0] is proposal
    assert isinstance(held[1], Verified)


def test_that_the_latest_of_two_requests_to_step_counts() -> None:
    def change_of_mind(control: RunControl) -> None:
        control.step_token()
        control.step_layer()

    held = held_after(fake_run_events(tokens=3), RunControl(paused=True), change_of_mind)
    assert any(isinstance(event, LayerRun) for event in held)


def test_that_nothing_is_held_after_stop_and_no_going_on_is_announced() -> None:
    control = RunControl(paused=True)
    announced: list[bool] = []

    def announce(holds: bool) -> None:
        announced.append(holds)
        control.stop()

    for event in fake_run_events():
        control.gate(event, announce)
    assert announced == [True]
    assert control.stop_event.is_set()


def test_that_the_end_of_a_run_is_never_held() -> None:
    control = RunControl(paused=True)
    held = held_after([event for event in fake_run_events() if isinstance(event, RunEnded)], control, RunControl.play)
    assert held == []


@pytest.mark.parametrize("release", [RunControl.play, RunControl.step_token, RunControl.step_layer, RunControl.stop])
def test_that_a_waiting_thread_is_released_from_another(release: Command) -> None:
    control = RunControl(paused=True)
    started, passed = threading.Event(), threading.Event()

    def work() -> None:
        control.gate(fake_run_events()[0], lambda holds: started.set() if holds else None)
        passed.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(10)
    release(control)
    thread.join(10)
    assert passed.is_set()


def test_that_the_clock_stands_still_while_a_run_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(run_control, "perf_counter", lambda: now[0])
    control = RunControl()
    prefill = next(event for event in fake_run_events() if isinstance(event, PrefillAdvanced))
    before = control.clock()
    now[0] += 1.0
    control.pause()

    def hold_for_a_minute(holds: bool) -> None:
        now[0] += 60.0 if holds else 0.0
        control.play()

    control.gate(prefill, hold_for_a_minute)
    now[0] += 0.5
    assert control.clock() - before == pytest.approx(1.5)


def tree_events() -> list[Event]:
    """Prefill's token, then passes that emit four tokens, one and three; the second one's exit is refused once."""
    plans = (TreePlan(), TreePlan(accepted=(), bonus=" it", exit_layer=DEPTH, refused=(20,)), TreePlan(accepted=(1, 4)))
    return tree_trace(*plans).events


def test_that_a_step_goes_by_target_pass_where_trees_are_run() -> None:
    held = held_after(tree_events(), RunControl(paused=True), RunControl.step_token)
    assert [event.token for event in held if isinstance(event, TokenEmitted)] == [0, 4, 5, 8]
    assert len(held) == 1 + 4


def test_that_a_step_in_a_trees_pass_goes_by_layer_with_its_walk_and_in_the_end_with_all_its_tokens() -> None:
    events = tree_events()
    held = held_after(events, RunControl(paused=True), RunControl.step_layer)
    layers = sum(isinstance(event, TreeLayerRun) for event in events)
    assert len(held) == 1 + 1 + layers  # before the prompt, after it, and each layer
    refused = next(event for event in events if isinstance(event, TreeVerified) and not event.accepted)
    assert refused in held
    assert [event.token for event in held if isinstance(event, TokenEmitted)] == [0, 4, 5, 8]
