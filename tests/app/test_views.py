"""The views on one trace: what an audited run adds to legends, title bars and hovers."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.panel import Panel
from app.places import CURVES, EXITS, SCHEDULER, TOKENS, VIEWS, WHY
from app.views import Views
from core.analysis.summaries import Outcome, outcome, scheduler_map
from core.trace.trace import Trace
from tests.fakes import fake_run_events
from widgets.palette import DARK
from widgets.selection import Selection


@pytest.fixture
def views(qtbot: QtBot) -> Views:
    made = Views({place.key: Panel(place) for place in VIEWS})
    for panel in made.panels.values():
        qtbot.addWidget(panel)
    for _ in made.build(DARK):
        pass
    for panel in made.panels.values():
        panel.show()  # a hidden panel draws nothing
    return made


def show(views: Views, *, audit: bool, tokens: int = 12) -> Trace:
    trace = Trace.of(fake_run_events(tokens, audit=audit))
    views.show_trace(trace, 0, Selection(_wrong(trace) if audit else 1))
    views.flush()
    return trace


def _wrong(trace: Trace) -> int:
    return next(r.token for r in trace.emitted if outcome(r) is Outcome.WRONG_EXIT)


def subtitle(views: Views, key: str) -> str:
    return views.panels[key].header.subtitle.text()


def test_that_legends_name_wrong_exits_only_while_an_audited_run_is_shown(views: Views) -> None:
    for audit in (False, True, False):
        show(views, audit=audit)
        for key, mark in ((TOKENS.key, "≠"), (EXITS.key, "≠"), (SCHEDULER.key, "✕")):
            assert (mark in subtitle(views, key)) is audit
        assert ("not run" in subtitle(views, CURVES.key)) is audit


def test_that_tokens_of_one_run_are_not_highlighted_in_another(views: Views) -> None:
    show(views, audit=True)
    views.set_highlight(np.array([3, 5]), "found")
    assert "found" in subtitle(views, TOKENS.key)
    show(views, audit=True)
    assert "found" not in subtitle(views, TOKENS.key)
    assert not views.tokens._highlight
    assert not len(views.exits.highlight.tokens)


def test_that_a_wrong_exit_is_told_with_both_tokens_wherever_it_is_shown(views: Views) -> None:
    trace = show(views, audit=True)
    token = _wrong(trace)
    told = "full depth gives"
    assert told in views.tokens.words(token)
    assert told in (views.exits.readout(token + 1, 1) or "")
    record = trace.records[token]
    assert record.emitted is not None
    assert told in (views.scheduler.readout(token + 1, record.emitted.exit_layer) or "")
    assert "≠" in subtitle(views, CURVES.key)
    assert "wrong exit" in views.why.text()
    assert "≠" in subtitle(views, WHY.key)


def test_that_a_very_long_token_is_cut_in_a_title_bar(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fakes.WORDS", tuple(f"<{'x' * 60}{i}>" for i in range(10)))
    show(views, audit=False)
    assert "…" in subtitle(views, WHY.key)
    assert "<x" not in subtitle(views, WHY.key)


def test_that_a_title_shows_escaped_characters_as_what_they_are(views: Views) -> None:
    panel = views.panels[WHY.key]
    panel.set_subtitle("token 24 ‘&#x27;s &lt;’")
    assert panel.header.subtitle.lead.text() == "token 24 ‘'s <’"
    assert panel.header.subtitle.lead.textFormat() is Qt.TextFormat.PlainText


@pytest.mark.parametrize("gently", [True, False])
def test_that_only_a_selection_of_the_users_is_marked_before_the_views_own_turn(
    views: Views, monkeypatch: pytest.MonkeyPatch, gently: bool
) -> None:
    show(views, audit=False)
    marked: list[Selection] = []
    for view in (views.tokens, views.exits, views.scheduler, views.curves):
        monkeypatch.setattr(view, "set_selection", marked.append)
    views.show_selection(Selection(5), gently=gently)
    assert len(marked) == (0 if gently else 5)  # the curves once more, as they are drawn at once, too
    views.flush()
    assert len(marked) >= 4
    assert set(marked) == {Selection(5)}


def test_that_panels_of_a_run_turn_to_sentences_one_a_frame_and_not_at_all_where_a_token_comes_first(
    views: Views,
) -> None:
    show(views, audit=False)
    views.set_empty(None)
    views.flush()
    sentences = dict.fromkeys(views.panels, "Reading the prompt…")

    def empty() -> int:
        return sum(panel.is_empty for panel in views.panels.values())

    views.set_empty(sentences)
    assert empty() == 0
    views.throttle.tick()
    assert empty() == 1
    views.set_empty(None)
    views.flush()
    assert empty() == 0
    views.set_empty(sentences)
    views.flush()
    assert empty() == len(views.panels)


@pytest.mark.parametrize("hurried", [True, False])
def test_that_only_a_selection_on_the_way_to_another_is_told_of_later(views: Views, hurried: bool) -> None:
    show(views, audit=False)
    views.show_selection(Selection(5), hurried=hurried)
    told = "Token 6" in views.why.text(), views.curves.curves is not None and views.curves.curves.token == 5
    assert told == (not hurried, not hurried)
    views.flush()
    assert "Token 6" in views.why.text()


def test_that_a_long_run_is_drawn_in_portions_and_whole_in_the_end(
    views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.panel_turns.PORTIONS", {TOKENS.key: 5, SCHEDULER.key: 7})
    trace, drawn = Trace.of(fake_run_events(12)), []
    monkeypatch.setattr(views.tokens, "set_chips", lambda chips: drawn.append((chips.first, len(chips.texts))))
    views.show_trace(trace, 0, Selection(11))
    views.flush()
    assert drawn == [(0, 5), (5, 5), (10, 2)]
    np.testing.assert_array_equal(views.scheduler.states, scheduler_map(trace).states)


def test_that_a_token_far_down_a_long_run_comes_into_sight_with_its_portion(
    views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.panel_turns.PORTIONS", {TOKENS.key: 50, SCHEDULER.key: 50})
    views.panels[TOKENS.key].resize(300, 160)
    views.show_trace(Trace.of(fake_run_events(400)), 0, Selection(333))
    views.flush()
    assert views.tokens.viewport().rect().contains(views.tokens.chip_rect(333))
