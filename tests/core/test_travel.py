"""Travelling through a recording: the places are those at which the live run could be held, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.following import newest
from app.run_control import RunControl
from core.analysis.travel import Journey, Place, Stride
from core.trace.events import ExitReason, RunStarted, TokenEmitted
from core.trace.trace import Trace
from tests.core.handmade import ended
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace


def in_flight() -> Trace:
    """A run that is held amid its fifth token."""
    events = fake_run_events(8)
    at = [place for place, event in enumerate(events) if isinstance(event, TokenEmitted)]
    return Trace.of(events[: at[3] + 6])


def given_past() -> Trace:
    """A branch that was given five tokens."""
    events = [
        replace(event, reason=ExitReason.GIVEN) if isinstance(event, TokenEmitted) and event.token < 5 else event
        for event in fake_run_events(9)
    ]
    return Trace.of(events)


@cache
def traces() -> dict[str, Trace]:
    passes = (
        TreePlan(),
        TreePlan(accepted=(), exit_layer=12),
        TreePlan(accepted=(1, 4), refused=(11, 14), exit_layer=17),
    )
    tree = tree_trace(*passes)
    tree.append(ended())
    return {
        "tokens": Trace.of(fake_run_events(9)),
        "in flight": in_flight(),
        "trees": tree,
        "tree in flight": tree_trace(*passes, whole=False),
        "given": given_past(),
        "one": Trace.of(fake_run_events(1)),
        "nothing": Trace.of(fake_run_events(1)[:1]),
    }


class Moment(NamedTuple):
    """How far a run was when it could be held at a place."""

    emitted: int
    """Tokens that were there."""
    layers: int
    """Layers that had run for the next one."""


def moment(journey: Journey, place: Place) -> Moment:
    """How far the run was at a place of its recording."""
    token, stop = journey._stop_of(place)
    layer = journey._at(token, stop).layer
    return Moment(token, layer + 1) if layer is not None else Moment(min(token + 1, journey._emitted), 0)


def live(trace: Trace, stride: Callable[[RunControl], None]) -> list[tuple[Place, Moment]]:
    """Where a run of the same events is held if it is stepped through, and how far it is there."""
    control, seen, found = RunControl(paused=True), Trace(), []

    def held(is_held: bool) -> None:
        if not is_held:
            return
        if not isinstance(seen.events[-1], RunStarted):
            at, count = newest(seen, held=True), seen.emitted_count
            assert at.token is not None
            layers = seen.records[count].layers_run if len(seen.records) > count else 0
            found.append((Place(at.token, at.layer), Moment(count, layers)))
        stride(control)

    for event in trace.events:
        seen.append(event)
        control.gate(event, held)
    return found


def walked(trace: Trace, stride: Stride) -> list[tuple[Place, Moment]]:
    """The same through the recording."""
    journey = Journey(trace)
    places = [journey.first]
    while (following := journey.forward(places[-1], stride)) is not None:
        places.append(following)
    return [(place, moment(journey, place)) for place in places if place]


@pytest.mark.parametrize("name", ["tokens", "trees", "one"])
def test_that_a_recording_is_held_by_layers_where_the_live_run_was_and_as_far(name: str) -> None:
    trace = traces()[name]
    alone = [(place, moment) for place, moment in walked(trace, Stride.LAYER) if is_held_live(trace, place)]
    assert alone == live(trace, RunControl.step_layer)


def is_held_live(trace: Trace, place: Place) -> bool:
    """A live run is not held between the tokens of one pass."""
    return place.layer is not None or Journey(trace)._end(place.token, Stride.PASS) == place.token


@pytest.mark.parametrize("name", ["tokens", "trees", "one"])
def test_that_a_recording_is_held_by_passes_where_the_live_run_was(name: str) -> None:
    trace = traces()[name]
    assert walked(trace, Stride.PASS) == live(trace, RunControl.step_token)


def test_that_steps_by_token_stop_at_each_token_and_at_the_layer_in_flight() -> None:
    tree = traces()["trees"]
    assert [place for place, _ in walked(tree, Stride.TOKEN)] == [Place(token) for token in range(tree.emitted_count)]
    held = traces()["in flight"]
    layers = held.records[4].layers_run
    assert layers > 1
    assert [place for place, _ in walked(held, Stride.TOKEN)] == [*map(Place, range(4)), Place(4, layers - 1)]


def test_that_given_tokens_have_no_layers_to_stand_at() -> None:
    places = [place for place, _ in walked(traces()["given"], Stride.LAYER)]
    assert places[:6] == [*map(Place, range(5)), Place(5, 0)]


@given(st.sampled_from(sorted(traces())), st.sampled_from(Stride), st.integers(0, 300))
def test_that_forward_then_back_and_back_then_forward_end_where_they_began(
    name: str, stride: Stride, steps: int
) -> None:
    journey, places = Journey(traces()[name]), [place for place, _ in walked(traces()[name], stride)]
    if not places:
        return
    place = places[steps % len(places)]
    following = journey.forward(place, stride)
    assert following is None or journey.back(following, stride) == place
    before = journey.back(place, stride)
    assert before is None or journey.forward(before, stride) == place


@given(
    st.sampled_from(sorted(traces())),
    st.integers(0, 20),
    st.none() | st.integers(0, 40),
    st.lists(st.tuples(st.booleans(), st.sampled_from(Stride)), max_size=12),
)
def test_that_any_walk_from_anywhere_moves_the_way_it_was_asked_and_stays_in_the_recording(
    name: str, token: int, layer: int | None, steps: list[tuple[bool, Stride]]
) -> None:
    trace = traces()[name]
    journey, order = Journey(trace), [place for place, _ in walked(trace, Stride.LAYER)]
    if not order:
        assert journey.forward(Place(token, layer), Stride.TOKEN) is None
        return
    place = Place(min(token, len(trace.records) - 1), layer)
    for ahead, stride in steps:
        moved = journey.forward(place, stride) if ahead else journey.back(place, stride)
        if moved is None:
            edge = journey.last if ahead else journey.first
            assert moment(journey, place) == moment(journey, edge)
            continue
        assert moved in order
        here, there = moment(journey, place), moment(journey, moved)
        assert there > here if ahead else there < here
        place = moved


def test_that_only_the_newest_token_asks_the_engine_for_more() -> None:
    journey = Journey(traces()["in flight"])
    assert journey.is_at_end(None, Stride.TOKEN)
    assert journey.is_at_end(Place(4, 0), Stride.TOKEN)
    assert not journey.is_at_end(Place(4, 0), Stride.LAYER)
    assert journey.is_at_end(journey.last, Stride.LAYER)
    assert not journey.is_at_end(Place(3), Stride.TOKEN)


def test_that_a_layer_that_never_ran_is_its_token() -> None:
    trace = traces()["tokens"]
    token = int(np.argmin(trace.exit_layers))
    journey = Journey(trace)
    for stride in Stride:
        assert journey.back(Place(token, 11), stride) == journey.back(Place(token), stride)
    assert journey.forward(Place(token, 11), Stride.LAYER) == journey.forward(Place(token), Stride.LAYER)
