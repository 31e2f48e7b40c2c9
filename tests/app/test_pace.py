"""How fast the views follow a run at full speed, and that what they show at last is what its recording shows."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.places import TOKENS, VIEWS
from app.run_state import RunState
from app.views import Views
from core.trace.events import TokenEmitted
from core.trace.trace import Trace
from tests.app.pace_stage import TOKENS_RUN, grow, shown, ticks, two_views
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine, fake_run_events
from widgets.selection import Selection
from widgets.throttle import STRIDE


@pytest.fixture
def made(qtbot: QtBot) -> list[Views]:
    return two_views(qtbot)


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
