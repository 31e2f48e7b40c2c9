"""How fast the views follow a run at full speed, and that what they show at last is what its recording shows."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.panel import Panel
from app.places import CURVES, EXITS, SCHEDULER, TOKENS, TREE, VIEWS, WHY
from app.run_state import RunState
from app.views import Views
from core.trace.events import Event, TokenEmitted
from core.trace.trace import Trace
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine, fake_run_events
from tests.tree_passes import TreePlan, pass_events, tree_trace
from tests.widgets.plots import alike
from widgets.palette import DARK
from widgets.selection import Selection
from widgets.throttle import STRIDE

TOKENS_RUN = 14


@pytest.fixture
def made(qtbot: QtBot) -> list[Views]:
    """Two sets of views: one that follows a run, one that replays it."""
    both = []
    for _ in range(2):
        views = Views({place.key: Panel(place) for place in VIEWS})
        for panel in views.panels.values():
            qtbot.addWidget(panel)
        for _ in views.build(DARK):
            pass
        for panel in views.panels.values():
            panel.show()
        views.throttle.timer.setInterval(1_000_000)  # the tests are its clock
        both.append(views)
    return both


def shown(views: Views) -> dict[str, object]:
    """What all views show, in values that can be compared."""
    curves, series = views.curves.curves, views.exits.series
    return {
        "strip": (vars(views.tokens._tokens), views.tokens._in_flight),
        "chosen": [view.selection for view in (views.exits, views.scheduler, views.curves)],
        "bars": (series.exit_layers.tolist(), series.outcomes.tolist(), np.nan_to_num(series.running_mean).tolist()),
        "map": views.scheduler.states.tolist(),
        "curves": None if curves is None else (curves.token, curves.layers.tolist(), curves.probabilities.tolist()),
        "why": views.why.text(),
        "titles": [views.panels[key].header.subtitle.text() for key in (CURVES.key, WHY.key)],
        "figures": (views.figures.count, views.figures.mean_exit_layer, views.figures.active_layers_mean),
    }


def grow(views: Views, events: list[Event], trace: Trace, ticks: int = 1) -> None:
    """Bring these events to the views, with some frames after each."""
    for event in events:
        trace.append(event)
        first = getattr(event, "token", trace.emitted_count)
        newest = Selection(trace.emitted_count - 1) if trace.emitted_count else Selection()
        views.show_trace(trace, first, newest)
        if isinstance(event, TokenEmitted):
            views.show_selection(newest, gently=True)
        for _ in range(ticks):
            views.throttle.tick()


def ticks(views: Views) -> None:
    """Frames enough for all that waits."""
    for _ in range(2 * STRIDE * len(VIEWS)):
        views.throttle.tick()


@pytest.mark.parametrize("dropped", [1, 2, 5])
def test_that_a_calm_window_shows_what_the_recording_shows_within_a_few_frames_of_a_halt(
    made: list[Views], dropped: int
) -> None:
    live, replay = made
    events = fake_run_events(TOKENS_RUN)
    events = events[: len(events) - dropped] if dropped > 1 else events  # held at some layer, or at the end
    live.set_calm(True)
    trace = Trace()
    grow(live, events, trace)
    assert not live.throttle.idle
    live.set_calm(False)
    for _ in range(len(VIEWS) + 2):  # the figures, and what an update has left of its turns
        live.throttle.tick()
    assert live.throttle.idle
    again = Trace.of(events)
    replay.show_trace(again, 0, Selection(again.emitted_count - 1))
    replay.flush()
    assert shown(live) == shown(replay)


def test_that_each_token_reaches_the_strip_at_once_and_the_plots_in_their_turn(made: list[Views]) -> None:
    live, trace = made[0], Trace()
    live.set_calm(True)
    drawn: dict[str, int] = dict.fromkeys(live._draw, 0)
    for key, draw in list(live._draw.items()):

        def count(first: int, key: str = key, draw: object = draw) -> None:
            drawn[key] += 1
            draw(first)  # type: ignore[operator]  # what was there before

        live._draw[key] = count
    ticks = 0
    for event in fake_run_events(TOKENS_RUN):
        grow(live, [event], trace, ticks=2)
        ticks += 2
        if isinstance(event, TokenEmitted) and event.token:
            assert len(live.tokens._tokens.texts) == trace.emitted_count
    assert sum(drawn[key] for key in drawn if key != TOKENS.key) <= ticks / STRIDE + 2 * len(VIEWS)  # its first sight
    assert all(drawn.values())


def test_that_what_the_user_chooses_is_told_of_at_once_in_a_calm_window(made: list[Views]) -> None:
    live, trace = made[0], Trace()
    grow(live, fake_run_events(TOKENS_RUN)[:-4], trace)
    live.set_calm(True)
    live.show_selection(Selection(3))
    assert "Token 4" in live.why.text()
    assert live.exits.selection == live.scheduler.selection == Selection(3)
    assert live.curves.curves is not None
    assert live.curves.curves.token == 3


def test_that_the_window_is_calm_while_a_run_is_at_full_speed_and_not_otherwise(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    throttle = stage.work.views.throttle
    assert not throttle.calm
    stage.load(FakeEngine(stuck_at=20, stuck_s=1))
    stage.trigger("run")
    qtbot.waitUntil(stage.loader.engine.stuck.is_set)
    assert throttle.calm
    stage.trigger("pause")
    stage.until_state(RunState.PAUSED)
    assert not throttle.calm
    stage.trigger("run")
    stage.until_state(RunState.FINISHED)
    assert not throttle.calm
    qtbot.waitUntil(lambda: stage.work.views.is_idle)
    assert stage.session.trace is not None
    assert len(stage.work.views.tokens._tokens.texts) == stage.session.trace.emitted_count
    assert stage.work.views.figures.count == stage.session.trace.emitted_count


def test_that_panels_keep_what_they_show_while_a_prompt_is_read_unless_that_takes_long(made: list[Views]) -> None:
    live, before = made[0], Trace.of(fake_run_events(TOKENS_RUN))
    live.show_trace(before, 0, Selection(2))
    live.set_empty(None)
    live.flush()
    was, sentences = shown(live), dict.fromkeys(live.panels, "Reading the prompt…")
    live.set_calm(True)
    events, trace = fake_run_events(TOKENS_RUN, run=1), Trace()
    grow(live, events[:2], trace, ticks=len(VIEWS) + 2)
    for _ in range(2):
        live.set_empty(sentences)
    ticks(live)
    assert live.tokens._tokens.texts == []
    assert {key: shown(live)[key] for key in ("bars", "map", "curves", "why")} == {
        key: was[key] for key in ("bars", "map", "curves", "why")
    }
    assert not any(panel.is_empty for panel in live.panels.values())
    assert not live.is_idle  # the sentences wait
    live._pages.hurry()  # as their timer does
    live.set_empty(sentences)
    ticks(live)
    assert all(panel.is_empty for panel in live.panels.values())
    grow(live, events[2:], trace)
    live.set_empty(None)
    live.set_calm(False)
    ticks(live)
    made[1].show_trace(Trace.of(events), 0, Selection(TOKENS_RUN - 1))
    made[1].flush()
    assert shown(live) == shown(made[1])
    assert not any(panel.is_empty for panel in live.panels.values())


def test_that_a_first_token_before_the_patience_is_over_takes_no_panel_to_words_and_back(made: list[Views]) -> None:
    live, turned = made[0], list[str]()
    live.show_trace(Trace.of(fake_run_events(3)), 0, Selection(2))
    live.set_empty(None)
    live.flush()
    for panel in live.panels.values():
        panel.filled.connect(lambda: turned.append("filled"))
    live.set_calm(True)
    events, trace = fake_run_events(TOKENS_RUN, run=1), Trace()
    grow(live, events[:2], trace)
    live.set_empty(dict.fromkeys(live.panels, "Reading the prompt…"))
    grow(live, events[2:], trace)
    live.set_empty(None)
    ticks(live)
    assert live.is_idle
    assert turned == []


@pytest.mark.parametrize("held", [True, False])
def test_that_a_run_that_stands_still_before_its_first_token_says_so_at_once(made: list[Views], held: bool) -> None:
    live = made[0]
    live.show_trace(Trace.of(fake_run_events(3)), 0, Selection(2))
    live.set_empty(None)
    live.flush()
    live.set_calm(True)
    events = fake_run_events(TOKENS_RUN, run=1)
    trace = Trace()
    grow(live, [*events[:2], *([] if held else events[-1:])], trace)
    live.set_calm(False)
    live.set_empty(dict.fromkeys(live.panels, "Held"))
    ticks(live)
    assert all(panel.is_empty for panel in live.panels.values())
    assert len(live.exits.series.exit_layers) == 0
    assert live.why.text() == ""


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
