"""What comes of a run between the turns in which its views are drawn is neither lost nor shown beside what it was."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.places import CURVES, EXITS, SCHEDULER, TOKENS, TREE, VIEWS, WHY
from app.views import Views
from core.trace.events import Event, TokenEmitted
from core.trace.trace import Trace
from tests.app.pace_stage import TOKENS_RUN, grow, shown, ticks, two_views
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, pass_events, tree_trace
from tests.widgets.plots import alike
from widgets.selection import Selection


@pytest.fixture
def made(qtbot: QtBot) -> list[Views]:
    return two_views(qtbot)


def tree_events() -> list[Event]:
    """A run whose passes give several tokens each, over more than a row of the strip."""
    first, plans = tree_trace(TreePlan()), (TreePlan(accepted=(1,)), TreePlan(), TreePlan(accepted=()), TreePlan())
    assert first.started is not None
    assert first.prefill is not None
    events: list[Event] = [first.started, first.prefill, _emitted_of(first)]
    token = 1
    for plan in plans:
        events += pass_events(token, plan)
        token += len(plan.accepted) + 1
    return events


def _emitted_of(trace: Trace) -> TokenEmitted:
    emitted = trace.records[0].emitted
    assert emitted is not None
    return emitted


def assert_same(live: Views, replay: Views, events: list[Event]) -> None:
    """Nothing may tell the views that followed a run from those that get what there is of it at once."""
    trace = Trace.of(events)
    newest = Selection(trace.emitted_count - 1)
    replay.show_trace(trace, 0, newest)
    replay.flush()
    live.show_selection(newest, gently=True)
    ticks(live)
    QApplication.processEvents()
    assert live.is_idle
    assert shown(live) == shown(replay)
    for key in (TOKENS.key, EXITS.key, CURVES.key, TREE.key, WHY.key):
        assert alike(live.by_key[key].grab().toImage(), replay.by_key[key].grab().toImage()), key


@pytest.mark.parametrize("run", [fake_run_events(TOKENS_RUN), tree_events()], ids=["tokens", "trees"])
@pytest.mark.parametrize("step", [0, 3])
def test_that_a_run_that_is_held_between_any_two_turns_shows_all_there_is(
    made: list[Views], run: list[Event], step: int
) -> None:
    live, replay = made
    trace = Trace()
    for start in range(0, len(run), 13):
        live.set_calm(True)
        grow(live, run[start : start + 13], trace)
        for _ in range((start + step) % 11):
            live.throttle.tick()
        live.set_calm(False)
        if trace.emitted_count:
            assert_same(live, replay, run[: start + 13])


@pytest.mark.parametrize("waited", range(0, 16, 2))
def test_that_tokens_that_come_between_two_turns_are_drawn_from_the_first_on(made: list[Views], waited: int) -> None:
    live, replay = made
    live.set_calm(True)
    events, trace = fake_run_events(TOKENS_RUN), Trace()
    firsts = [i for i, event in enumerate(events) if isinstance(event, TokenEmitted)]
    grow(live, events[: firsts[0] + 1], trace, ticks=0)
    for _ in range(waited):
        live.throttle.tick()
    grow(live, events[firsts[0] + 1 : firsts[3] + 1], trace, ticks=0)
    live.set_calm(False)
    assert_same(live, replay, events[: firsts[3] + 1])


@pytest.mark.parametrize("waited", range(8))
@pytest.mark.parametrize("calm", [True, False])
def test_that_a_run_taken_away_between_two_turns_leaves_nothing(made: list[Views], waited: int, calm: bool) -> None:
    live, replay = made
    live.set_calm(True)
    grow(live, fake_run_events(TOKENS_RUN), Trace(), ticks=3)
    for _ in range(waited):
        live.throttle.tick()
    live.show_trace(None, 0, Selection())
    live.set_calm(calm)
    ticks(live)
    QApplication.processEvents()
    assert live.is_idle
    assert shown(live) == shown(replay)
    assert alike(live.tokens.grab().toImage(), replay.tokens.grab().toImage())


@pytest.mark.parametrize("waited", range(0, 12, 2))
@pytest.mark.parametrize("count", [3, TOKENS_RUN])
def test_that_another_run_shown_between_two_turns_is_shown_whole(made: list[Views], waited: int, count: int) -> None:
    live, replay = made
    live.set_calm(True)
    grow(live, fake_run_events(TOKENS_RUN)[:-9], Trace(), ticks=3)
    for _ in range(waited):
        live.throttle.tick()
    other = fake_run_events(count, run=1, prompt="Another one")
    live.show_trace(Trace.of(other), 0, Selection(count - 1))
    ticks(live)
    assert_same(live, replay, other)


@pytest.mark.parametrize("waited", [1, 2, 4, 8])
def test_that_the_newest_token_chosen_is_told_of_though_the_run_goes_on_and_is_held(
    made: list[Views], waited: int
) -> None:
    live, trace = made[0], Trace()
    live.set_calm(True)
    events = fake_run_events(TOKENS_RUN)
    last = next(i for i, event in enumerate(events) if isinstance(event, TokenEmitted) and event.token == 5)
    grow(live, events[: last + 1], trace)
    ticks(live)
    live.show_selection(Selection(5, 2))
    for _ in range(waited):
        live.throttle.tick()
    for event in events[last + 1 : last + 6]:  # the next token's pass begins
        trace.append(event)
        live.show_trace(trace, 6, Selection(5, 2))
    live.set_calm(False)
    ticks(live)
    assert live.curves.curves is not None
    assert live.curves.curves.token == 5
    assert live.panels[CURVES.key].header.subtitle.text().startswith("token 6")
    assert live.why.text().startswith("Layer 3")


def test_that_the_strip_shows_tokens_that_come_with_every_frame(made: list[Views]) -> None:
    live, trace = made[0], Trace()
    live.set_calm(True)
    seen: set[int] = set()
    real = live.tokens.release
    live.tokens.release = lambda: seen.add(len(live.tokens._tokens)) or real()  # type: ignore[method-assign,func-returns-value]
    for event in fake_run_events(60):
        grow(live, [event], trace, ticks=isinstance(event, TokenEmitted))
    assert len(seen) > 60 / (3 * len(VIEWS))


@pytest.mark.parametrize("key", [TOKENS.key, EXITS.key, SCHEDULER.key])
@pytest.mark.parametrize("broken", ["draw", "prepare"])
def test_that_an_error_in_a_turn_keeps_nothing_held(
    made: list[Views], monkeypatch: pytest.MonkeyPatch, key: str, broken: str
) -> None:
    live, trace = made[0], Trace()
    events = fake_run_events(TOKENS_RUN)
    live.set_calm(True)
    grow(live, events[:-20], trace)
    ticks(live)

    def fail(*_: object) -> None:
        raise ValueError("broken view")

    view = live.by_key[key]
    with monkeypatch.context() as patch:
        if broken == "draw":
            patch.setitem(live._draw, key, fail)
        else:
            patch.setattr(view, "prepare", fail)
        with pytest.raises(ValueError, match="broken view"):  # noqa: PT012
            grow(live, events[-20:-1], trace)
            ticks(live)
    ticks(live)
    updates: list[object] = []
    where, what = (live.tokens._picture, "_show_soon") if key == TOKENS.key else (view._stack, "update")  # type: ignore[union-attr]
    monkeypatch.setattr(where, what, lambda *part: updates.append(part))
    view.set_highlight(np.arange(3)) if key != SCHEDULER.key else view.marks.update()  # type: ignore[union-attr]
    assert updates


@pytest.mark.parametrize("waited", [1, 2, 3, 5, 8])
def test_that_the_newest_token_that_is_drawn_stays_marked_while_others_come(made: list[Views], waited: int) -> None:
    live, trace = made[0], Trace()
    live.set_empty(None)
    live.flush()
    live.set_calm(True)
    for event in fake_run_events(60):
        grow(live, [event], trace, ticks=waited if isinstance(event, TokenEmitted) else 0)
        if trace.emitted_count < 30:
            continue  # the first sight of each view takes longer
        for plot in (live.exits, live.scheduler):
            assert plot.selection.token is not None
            assert plot.selection.token < plot.count
        chosen = live.tokens._selection.token
        assert chosen is not None
        assert chosen < len(live.tokens._tokens)


def test_that_why_says_nothing_of_a_run_that_is_gone(made: list[Views]) -> None:
    live, trace = made[0], Trace()
    live.set_calm(True)
    grow(live, fake_run_events(TOKENS_RUN)[:-1], trace)
    ticks(live)
    live.show_selection(Selection(3), gently=True)
    while "Token 4" not in live.why.text():  # its title comes in another turn
        live.throttle.tick()
    live.show_trace(Trace(), 0, Selection())
    ticks(live)
    assert live.panels[WHY.key].header.subtitle.text() == ""
