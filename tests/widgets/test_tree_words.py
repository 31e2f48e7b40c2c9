"""What the tree view says, in plain text."""

from __future__ import annotations

import pytest

from core.analysis.tree_figure import TreeFigure
from core.analysis.tree_view import tree_figure
from core.choices import Mapping
from core.trace.events import TreeVerified, WalkEnd
from core.trace.trace import Trace
from tests.core.handmade import DEPTH
from tests.tree_passes import TreePlan, tree_trace
from widgets.tree_words import counts_text, node_words, plain, stage_runs, summary


def figure(plan: TreePlan, token: int = 1) -> TreeFigure:
    made = tree_figure(tree_trace(plan), token)
    assert made is not None
    return made


def said(plan: TreePlan, layer: int) -> str:
    return plain(stage_runs(figure(plan), layer))


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (5, "no predictor was asked"),
        (11, "0 of 6 paths proposed, the best at "),
        (18, "1 of 6 paths proposed → ⊘ refused: ‘·blue’ says ‘·it’, none of its candidates S"),
        (23, "1 of 6 paths proposed → ✓ verified → exit 24: 3 accepted + bonus ‘·light’"),
        (24, "not run: the pass left at 24"),
    ],
)
def test_that_each_layer_says_how_far_it_took_the_pass(layer: int, words: str) -> None:
    assert said(TreePlan(refused=(18,)), layer).startswith(words)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (WalkEnd.NOT_PROPOSED, "says ‘·because’, its path had not passed the threshold"),
        (WalkEnd.GATED, "says ‘·because’, by a margin below the gate"),
    ],
)
def test_that_every_refusal_has_its_reason(end: WalkEnd, words: str) -> None:
    assert said(TreePlan(refused=(18,), refusal=end), 18).endswith(words)


def test_that_the_last_layer_is_said_to_end_every_pass() -> None:
    words = said(TreePlan(accepted=(), bonus=" it", exit_layer=DEPTH), DEPTH - 1)
    assert words == "last layer, always the end → exit 30: 0 accepted + bonus ‘·it’"


def test_that_a_proposal_without_an_answer_waits_for_its_walk() -> None:
    events = tree_trace(TreePlan()).events
    cut = next(i for i, event in enumerate(events) if isinstance(event, TreeVerified))
    made = tree_figure(Trace.of(events[:cut]), 1)
    assert made is not None
    assert plain(stage_runs(made, 23)) == "1 of 6 paths proposed → the walk is still to come"
    assert plain(stage_runs(made, 24)) == "not run yet"


def test_that_independent_mapping_counts_nodes_that_have_exited() -> None:
    assert said(TreePlan(mapping=Mapping.INDEPENDENT), 20) == "5 of 13 nodes exited"


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (Mapping.REARMOST, "10^7.8 combinations → 6 hyper-tokens · 13 predictor rows"),
        (Mapping.MEAN, "10^7.8 combinations → 6 hyper-tokens · 6 predictor rows"),
        (
            Mapping.INDEPENDENT,
            "10^7.8 combinations would merge to 6 hyper-tokens · 13 predictor rows",
        ),
    ],
)
def test_that_the_three_counts_are_told_whatever_the_mapping(mapping: Mapping, words: str) -> None:
    assert counts_text(figure(TreePlan(mapping=mapping))) == words


def test_that_plain_speculative_decoding_has_nothing_to_map() -> None:
    assert counts_text(figure(TreePlan(judged=(), exit_layer=DEPTH))) == "no predictors to map: 6 paths in one pass"


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (0, "‘·appears’, root, the newest token · exit 21 · score 0.87 > 0.50 at layer 24 · says ‘·blue’"),
        (1, "accepted, says ‘·because’"),
        (7, "accepted, says ‘·light’, the bonus"),
        (2, "‘·red’, level 1, after ‘·appears’ · drafter 31%"),
        (5, "found in the context (n-gram)"),
    ],
)
def test_that_a_node_is_told_whole(node: int, words: str) -> None:
    assert words in node_words(figure(TreePlan(ngrams=(5,))), node, 23)


def test_that_what_a_check_made_of_a_node_is_told_at_its_layer_only() -> None:
    made = figure(TreePlan(refused=(18,), refusal=WalkEnd.NOT_PROPOSED))
    assert "refused, its path had not passed" in node_words(made, 4, 18)
    assert "refused" not in node_words(made, 4, 19)


def test_that_a_screen_reader_hears_counts_layer_and_stage() -> None:
    words = summary(figure(TreePlan()), 23)
    assert words.startswith("Tree of the pass from token 2 on: 12 draft nodes, 10^7.8 combinations")
    assert words.endswith("at layer 24: 1 of 6 paths proposed → ✓ verified → exit 24: 3 accepted + bonus ‘·light’.")
