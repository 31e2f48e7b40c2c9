"""The teaching mode: what is hidden, when a step waits, what is revealed, live and in a recording."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.panel_keys import focus_in
from app.places import GUESS
from app.tools.guess import GuessTool
from app.tools.guessing import FIRST_GUESS
from core.analysis.summaries import TokenChips
from core.analysis.why import why
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import fake_run_events
from widgets.selection import Selection


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.panels[GUESS.key].show()
    yield stage
    stage.window.close()


def opened(stage: WindowStage, trace: Trace | None = None) -> GuessTool:
    if trace is not None:
        stage.session.show_trace(trace)
    tool = stage.work.rack.tool(GUESS)
    assert isinstance(tool, GuessTool)
    tool.view.turn.click()
    return tool


def told(stage: WindowStage) -> int:
    """How many tokens the views show."""
    stage.draw()
    return stage.work.views.figures.count


def test_that_a_step_through_a_recording_waits_for_the_guess_and_tokens_beyond_are_hidden(stage: WindowStage) -> None:
    trace = Trace.of(fake_run_events(8))
    tool = opened(stage, trace)
    assert told(stage) == 1
    stage.trigger("step_token")
    assert stage.session.selection.token == 0, "no guess, no step"
    assert "Token 2" in tool.view.question.text()
    assert stage.window.status.currentMessage() == FIRST_GUESS
    tool.view.spin.setValue(5)
    tool.view.guess.click()
    assert stage.session.selection.token == 1
    assert told(stage) == 2
    left = int(trace.exit_layers[1])
    assert [(one.token, one.guessed, one.exit_layer) for one in tool.guessing.guesses] == [(1, 5, left)]
    assert f"layer {left}" in tool.view.answer.text()
    assert tool.view.why.text() == why(trace, 1, None)
    assert "1 guess " in tool.view.score.text()
    stage.trigger("step_token")
    tool.view.turn.click()
    assert told(stage) == 8
    assert stage.window.status.currentMessage() == "", "nothing waits for a guess any more"


def test_that_the_panels_key_leads_to_the_button_that_begins(stage: WindowStage) -> None:
    stage.session.show_trace(Trace.of(fake_run_events(8)))
    tool = stage.work.rack.tool(GUESS)
    assert isinstance(tool, GuessTool)
    stage.window.panels[GUESS.key].raise_()
    stage.work.rack.flush()
    stage.qtbot.waitUntil(tool.view.turn.isVisible, timeout=TIMEOUT)
    assert focus_in(stage.window.panels[GUESS.key])
    assert tool.view.focusWidget() is tool.view.turn


def test_that_a_token_that_was_seen_is_not_asked_about_again(stage: WindowStage) -> None:
    tool = opened(stage, Trace.of(fake_run_events(8)))
    for _ in range(2):
        tool.guessing.guess(12)
    stage.trigger("step_back_token")
    assert told(stage) == 3, "what was seen stays in sight"
    assert not tool.view.guess.isEnabled()
    stage.trigger("step_token")
    assert stage.session.selection.token == 2
    assert tool.view.guess.isEnabled()


def test_that_a_live_step_is_guessed_first_and_answered_when_it_comes(stage: WindowStage) -> None:
    stage.load()
    tool = opened(stage)
    stage.trigger("step_token")  # the first token comes from the prompt: nothing to guess
    stage.until_held()
    stage.trigger("step_token")
    assert stage.session.trace is not None
    assert stage.session.trace.emitted_count == 1
    tool.guessing.guess(7)
    stage.qtbot.waitUntil(lambda: len(tool.guessing.guesses) == 1, timeout=TIMEOUT)
    assert tool.guessing.guesses[0].exit_layer == stage.session.trace.exit_layers[1]
    stage.until_held()
    stage.trigger("stop")
    stage.qtbot.waitUntil(lambda: not stage.session.is_running, timeout=TIMEOUT)


def test_that_closing_the_panel_ends_the_questions_and_shows_everything(stage: WindowStage) -> None:
    tool = opened(stage, Trace.of(fake_run_events(8)))
    tool.panel.close()
    assert not tool.guessing.is_on
    assert told(stage) == 8
    stage.trigger("step_token")
    assert stage.session.selection.token == 1


def test_that_guesses_are_saved_as_csv_and_forgotten_by_a_new_round(stage: WindowStage, tmp_path: Path) -> None:
    tool = opened(stage, Trace.of(fake_run_events(8)))
    for _ in range(3):
        tool.guessing.guess(9)
    tool.save(tmp_path / "guesses")
    with (tmp_path / "guesses.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [int(row["token"]) for row in rows] == [2, 3, 4]
    assert tool.view.table.rows.rowCount() == 3
    tool.view.reset.click()
    assert tool.guessing.guesses == []
    assert told(stage) == 4, "what was seen before stays known"
    assert "No guess" in tool.view.score.text()


def test_that_guesses_that_cannot_be_written_are_told_of(stage: WindowStage, tmp_path: Path) -> None:
    tool = opened(stage, Trace.of(fake_run_events(4)))
    tool.save(tmp_path / "no" / "such.csv")
    (dialog,) = stage.errors()
    dialog.close()


def test_that_a_turn_draws_only_what_the_veil_hid(stage: WindowStage, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace.of(fake_run_events(8))
    stage.session.show_trace(trace)
    stage.session.select(Selection(4))
    stage.draw()
    strip, drawn = stage.work.views.tokens, []
    draw = strip.set_chips

    def noted(chips: TokenChips) -> None:
        drawn.append((chips.first, len(chips.texts)))
        draw(chips)

    monkeypatch.setattr(strip, "set_chips", noted)
    tool = opened(stage)
    assert told(stage) == 5
    tool.view.turn.click()
    assert told(stage) == 8
    assert drawn == [(5, 0), (5, 3)]
    assert "token 8 " in strip.words(7)
