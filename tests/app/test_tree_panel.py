"""The views on a run with token trees: one selection over tree, candidates and strip, and the panels' words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.layout import DockHost
from app.panel import Panel
from app.places import CURVES, PLACES, TOKENS, TREE, VIEWS
from app.tree_panel import pass_words, touches
from app.views import Views
from core.analysis.tree_view import tree_figure
from core.trace.trace import Trace
from tests.core.handmade import DEPTH
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace
from widgets.palette import DARK, LIGHT
from widgets.selection import Selection
from widgets.tree_view import NO_TREE, PREFILL


@pytest.fixture
def views(qtbot: QtBot) -> Iterator[Views]:
    made = Views({place.key: Panel(place) for place in VIEWS})
    for panel in made.panels.values():
        qtbot.addWidget(panel)
    for _ in made.build(DARK):
        pass
    for panel in made.panels.values():
        panel.show()  # a hidden panel draws nothing
    yield made
    made.flush()  # what waits must not be drawn after the panels are gone


def show(views: Views, *plans: TreePlan, selection: Selection) -> Trace:
    trace = tree_trace(*plans)
    views.show_trace(trace, 0, selection)
    views.flush()
    return trace


def subtitle(views: Views, key: str) -> str:
    return views.panels[key].header.subtitle.text()


def test_that_the_selected_tokens_pass_is_drawn_and_named(views: Views) -> None:
    show(views, TreePlan(), TreePlan(accepted=(2,), bonus=" sea"), selection=Selection(3))
    assert views.tree.figure is not None
    assert views.tree.figure.token == 1
    assert subtitle(views, TREE.key).startswith("tokens 2–5, τ 4")
    views.show_selection(Selection(5))
    views.flush()
    assert views.tree.figure.token == 5
    assert subtitle(views, TREE.key).startswith("tokens 6–7, τ 2")


def test_that_a_chosen_node_shows_its_candidates_in_the_curves(views: Views) -> None:
    show(views, TreePlan(), selection=Selection(2))
    assert views.curves.curves is not None
    assert views.curves.curves.candidate_texts[0] == "·because"
    views.show_selection(Selection(2, None, 4))
    views.flush()
    assert views.curves.curves.candidate_texts[0] == "·of"
    assert subtitle(views, CURVES.key).startswith("after ‘·because’")


def test_that_a_layer_chosen_in_the_curves_keeps_the_node(views: Views) -> None:
    show(views, TreePlan(), selection=Selection(2, None, 4))
    assert views.curves.pick(20.0, 0.5) == Selection(2, 19, 4)


def test_that_a_selection_of_the_trees_reaches_the_window(views: Views, qtbot: QtBot) -> None:
    show(views, TreePlan(), selection=Selection(2))
    with qtbot.waitSignal(views.selected, timeout=1000) as asked:
        views.tree.table.node_wanted.emit(5)
    assert asked.args == [Selection(2, None, 5)]


@pytest.mark.parametrize(("token", "words"), [(0, PREFILL), (None, "Select a token")])
def test_that_a_token_without_a_tree_says_why(views: Views, token: int | None, words: str) -> None:
    show(views, TreePlan(), selection=Selection(token))
    assert views.tree.message.text().startswith(words)


def test_that_a_run_without_trees_says_what_to_choose(views: Views) -> None:
    views.show_trace(Trace.of(fake_run_events(4)), 0, Selection(2))
    views.flush()
    assert views.tree.message.text() == NO_TREE
    assert subtitle(views, TREE.key) == ""


def test_that_only_runs_with_trees_name_the_bracket_in_the_strips_legend(views: Views) -> None:
    show(views, TreePlan(), selection=Selection(2))
    assert "one pass" in subtitle(views, TOKENS.key)
    views.show_trace(Trace.of(fake_run_events(4)), 0, Selection(2))
    assert "one pass" not in subtitle(views, TOKENS.key)


def test_that_a_token_that_joins_the_pass_renews_the_tree_of_those_before_it() -> None:
    trace = tree_trace(TreePlan(), TreePlan())
    assert [touches(trace.records[2], first) for first in (1, 4, 5)] == [True, True, False]
    assert touches(tree_trace(TreePlan(), whole=False).records[1], 1)


@pytest.mark.parametrize(
    ("plan", "whole", "words"),
    [
        (TreePlan(), True, "tokens 2–5, τ 4"),
        (TreePlan(accepted=(), bonus=" it", exit_layer=DEPTH), True, "token 2, τ 1"),
        (TreePlan(), False, "pass from token 2 on, in flight"),
    ],
)
def test_that_a_pass_is_named_by_its_tokens(plan: TreePlan, whole: bool, words: str) -> None:
    figure = tree_figure(tree_trace(plan, whole=whole), 1)
    assert figure is not None
    assert pass_words(figure) == words


def test_that_the_panel_that_has_something_to_show_comes_forward_and_the_one_behind_draws_nothing(
    qtbot: QtBot,
) -> None:
    panels = {place.key: Panel(place) for place in PLACES}
    host = DockHost(panels)
    qtbot.addWidget(host)
    views = Views(panels)
    for _ in views.build(LIGHT):
        pass
    host.resize(1200, 800)
    host.show()
    views.show_trace(tree_trace(TreePlan()), 0, Selection(2))
    until_in_front(qtbot, views, TREE.key, CURVES.key)
    views.flush()
    tree = views.tree.figure
    assert tree is not None
    assert views.curves.curves is None
    views.show_trace(Trace.of(fake_run_events(4)), 0, Selection(2))
    until_in_front(qtbot, views, CURVES.key, TREE.key)
    views.flush()
    assert views.curves.curves is not None
    assert views.tree.figure is tree
    panels[TREE.key].raise_()
    until_in_front(qtbot, views, TREE.key, CURVES.key)
    views.flush()
    assert views.tree.figure is None  # it has caught up: this run has no trees


def until_in_front(qtbot: QtBot, views: Views, front: str, behind: str) -> None:
    """Wait until Qt has brought one panel before the other; both are "visible" to it."""
    qtbot.waitUntil(lambda: not views.panels[front].visibleRegion().isEmpty(), timeout=2000)
    assert views.panels[behind].visibleRegion().isEmpty()
