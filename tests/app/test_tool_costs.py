"""The costs' panel: the analysis' times in bars, table and words, and of what is asked the newest only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.places import COSTS
from app.tools.costs import CostsTool
from app.tools.newest import watching
from core.analysis.cost_words import one_token, whole_run
from core.analysis.costs import STAGES, Costs, costs
from core.choices import Policy
from core.config import RunSettings
from core.progress import Cancelled
from core.trace.events import StageTimes, TokenEmitted
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace
from widgets.cost_bars import LOOKS, WORDS, CostBar, CostBars, milliseconds
from widgets.selection import Selection
from widgets.theme import SMALL


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.panels[COSTS.key].raise_()
    yield stage
    stage.window.close()


def opened(stage: WindowStage, trace: Trace, token: int) -> CostsTool:
    stage.session.show_trace(trace)
    stage.session.select(Selection(token))
    tool = stage.work.rack.tool(COSTS)
    assert isinstance(tool, CostsTool)
    stage.work.rack.flush()
    stage.qtbot.waitUntil(lambda: not tool.is_reading, timeout=TIMEOUT)
    return tool


def test_that_every_stage_has_a_look_of_its_own() -> None:
    assert tuple(look.name for look in LOOKS) == STAGES == tuple(WORDS)
    assert len({look.pattern for look in LOOKS}) == len(LOOKS), "colours alone tell nothing"


def test_that_bars_table_and_words_say_what_the_analysis_says(stage: WindowStage) -> None:
    trace = Trace.of(fake_run_events(16))
    tool, found = opened(stage, trace, 4), costs(trace)
    token, run = tool.view.bars.bars
    assert token.seconds == pytest.approx(found.stages[4])
    assert run.seconds == pytest.approx(found.stages[1:].sum(0))
    rows = tool.view.table.rows
    for stage_at in range(len(LOOKS)):
        assert rows.data(rows.index(stage_at, 1)) == milliseconds(found.stages[4, stage_at])
        share = found.stages[1:, stage_at].sum() / found.stages[1:].sum()
        assert rows.data(rows.index(stage_at, 4)) == f"{share:.1%}"
    assert tool.view.run_words.text() == whole_run(found)
    assert tool.view.token_words.text() == one_token(trace, found, 4)
    assert ("did not pay" in tool.panel.header.subtitle.text()) == (not found.paid)
    stage.session.select(Selection(2))
    stage.work.rack.flush()
    assert tool.view.bars.bars[0].title == "Token 3"


def test_that_a_run_whose_layers_are_cheap_against_its_checks_is_told_to_have_lost(stage: WindowStage) -> None:
    slow = StageTimes(draft=0.02, layers=0.001, predictor=0.01, verification=0.002, total=0.034)
    events = [replace(e, times=slow) if isinstance(e, TokenEmitted) else e for e in fake_run_events(16)]
    tool = opened(stage, Trace.of(events), 1)
    assert "did not pay" in tool.view.run_words.text()
    assert "a loss of" in tool.view.token_words.text()
    assert tool.panel.header.subtitle.text().startswith("▲ the exits did not pay")


@pytest.mark.parametrize(
    ("trace", "token", "sentence"),
    [
        (Trace.of(fake_run_events(4)), 0, "comes from the prompt’s own pass"),
        (Trace.of(fake_run_events(4, settings=RunSettings(Policy.DENSE))), 1, ""),
        (tree_trace(TreePlan(), TreePlan()), 3, "came with the pass of token <b>2</b>"),
    ],
)
def test_that_a_token_without_an_exit_of_its_own_is_told_so(trace: Trace, token: int, sentence: str) -> None:
    words = one_token(trace, costs(trace), token)
    assert sentence in words
    assert bool(sentence) == bool(words)


def test_that_a_dense_runs_exits_are_not_judged() -> None:
    dense = costs(Trace.of(fake_run_events(6, settings=RunSettings(Policy.DENSE))))
    assert "no exit" in whole_run(dense)
    lone = costs(Trace.of(fake_run_events(1)))
    assert "is not known" in whole_run(lone)


def test_that_a_recording_without_times_is_told_so(stage: WindowStage) -> None:
    events = [replace(e, times=StageTimes()) if isinstance(e, TokenEmitted) else e for e in fake_run_events(5)]
    tool = opened(stage, Trace.of(events), 1)
    assert tool.panel.is_empty
    assert "holds no times" in tool.panel.empty.accessibleName()


def test_that_of_whole_times_alone_nothing_is_said_of_layer_times(stage: WindowStage) -> None:
    """As another engine may tell them."""
    whole = StageTimes(total=0.01)
    events = [replace(e, times=whole) if isinstance(e, TokenEmitted) else e for e in fake_run_events(5)]
    tool = opened(stage, Trace.of(events), 1)
    assert not tool.panel.is_empty
    assert "time of a layer cannot be told" in tool.view.run_words.text()
    assert tool.view.token_words.text() == ""


def test_that_the_pointer_finds_the_stage_below_it(qtbot: QtBot) -> None:
    bars = CostBars()
    qtbot.addWidget(bars)
    bars.set_bars((CostBar("Token 1", (0.001, 0.003, 0, 0, 0, 0, 0)),))
    bars.resize(400, bars.height())
    bars.grab()
    assert bars.words_at(50, 30) == "Token 1: Draft 1.0 ms, 25.0%"
    assert bars.words_at(250, 30) == "Token 1: Layers 3.0 ms, 75.0%"
    assert bars.words_at(50, 2) == ""


def test_that_a_sweep_that_is_called_off_ends_after_its_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.analysis.cost_reading.PORTION", 64)
    trace, seen = Trace.of(fake_run_events(200)), []
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        costs(trace, watching(cancel, seen.append))
    costs(trace, watching(threading.Event(), seen.append))
    assert seen == [63, 127, 191]


def held_up(monkeypatch: pytest.MonkeyPatch, at: int) -> tuple[threading.Event, threading.Event]:
    """Have adding up tell of token `at`, then set the first event and wait for the second."""
    reached, free = threading.Event(), threading.Event()

    def slow(trace: Trace, watch: Callable[[int], object]) -> Costs:
        watch(at)
        reached.set()
        assert free.wait(TIMEOUT / 1000)
        return costs(trace, watch)

    monkeypatch.setattr("app.tools.costs.costs", slow)
    return reached, free


def test_that_adding_up_can_be_stopped_and_begun_again(stage: WindowStage, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, (told, free) = Trace.of(fake_run_events(90)), held_up(monkeypatch, at=63)
    stage.session.show_trace(trace)
    tool = stage.work.rack.tool(COSTS)
    assert isinstance(tool, CostsTool)
    stage.work.rack.flush()
    assert told.wait(TIMEOUT / 1000)
    stage.qtbot.waitUntil(lambda: "64 of 90 tokens" in tool.view.run_words.text(), timeout=TIMEOUT)
    tool.view.run_words.linkActivated.emit("stop")
    free.set()
    stage.qtbot.waitUntil(lambda: not tool.is_reading, timeout=TIMEOUT)
    assert tool.found is None
    assert "was stopped" in tool.view.run_words.text()
    tool.view.run_words.linkActivated.emit("again")
    stage.qtbot.waitUntil(lambda: tool.found is not None, timeout=TIMEOUT)
    assert tool.view.run_words.text() == whole_run(costs(trace))


def test_that_a_run_that_grows_is_not_added_up_again_after_stop(
    stage: WindowStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = list(fake_run_events(90))
    late = next(at for at, event in enumerate(events) if isinstance(event, TokenEmitted) and event.token == 40)
    trace, (told, free) = Trace.of(events[:late]), held_up(monkeypatch, at=30)
    stage.session.show_trace(trace)
    tool = stage.work.rack.tool(COSTS)
    assert isinstance(tool, CostsTool)
    stage.work.rack.flush()
    assert told.wait(TIMEOUT / 1000)
    tool.view.link_chosen.emit("stop")
    free.set()
    for event in events[late:]:
        trace.append(event)
    tool.draw(40)
    assert not tool.is_reading
    assert "was stopped" in tool.view.run_words.text()
    tool.view.link_chosen.emit("again")
    stage.qtbot.waitUntil(lambda: tool.found is not None, timeout=TIMEOUT)
    assert len(tool.found.stages) == 90


def test_that_a_run_that_was_left_for_one_without_times_is_added_up_on_coming_back(
    stage: WindowStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, (begun, free) = Trace.of(fake_run_events(20)), held_up(monkeypatch, at=0)
    untimed = [replace(e, times=StageTimes()) if isinstance(e, TokenEmitted) else e for e in fake_run_events(5)]
    stage.session.show_trace(trace)
    tool = stage.work.rack.tool(COSTS)
    assert isinstance(tool, CostsTool)
    stage.work.rack.flush()
    assert begun.wait(TIMEOUT / 1000)
    stage.session.show_trace(Trace.of(untimed))
    stage.work.rack.flush()
    assert not tool.is_reading
    free.set()
    stage.qtbot.waitUntil(lambda: tool._newest._chore is None, timeout=TIMEOUT)
    stage.session.show_trace(trace)
    stage.work.rack.flush()
    stage.qtbot.waitUntil(lambda: tool.found is not None, timeout=TIMEOUT)


def test_that_bars_are_high_enough_for_their_labels_in_type_of_any_size(qtbot: QtBot) -> None:
    bars = CostBars()
    qtbot.addWidget(bars)
    bars.set_bars((CostBar("Token 7", (1.0,) * len(LOOKS)),))
    before = bars.height()
    bars.setStyleSheet("QWidget { font-size: 40pt }")
    bars.ensurePolished()
    assert bars.height() > before + bars.fontMetrics().height()
    inside = next(area for _, area in bars._areas(bars.bars[0], 0))
    assert inside.height() >= bars.fontMetrics().height() * SMALL + 8
