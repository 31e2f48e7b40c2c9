"""The tree view's figure: what one pass over a token tree looks like in arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.tree_counts import MOST_WRITTEN_OUT, tree_counts
from core.analysis.tree_figure import Stage, TreeFigure
from core.analysis.tree_view import first_crossings, leaves_of, tree_figure
from core.choices import Mapping
from core.trace.events import TreeVerified, WalkEnd
from core.trace.overview import CellState, refusals
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, emitted, prefilled, started, trace_of
from tests.tree_passes import CJK, JUDGED, TreePlan, bushy, tree_trace, widths_to_parents


def figure(plan: TreePlan, *, whole: bool = True, token: int = 1) -> TreeFigure:
    made = tree_figure(tree_trace(plan, whole=whole), token)
    assert made is not None
    return made


def test_that_the_papers_worked_example_counts_81_combinations_and_3_hyper_tokens() -> None:
    inner = tree_counts([3, 3, 3, 3], paths=3, mapping=Mapping.REARMOST)
    assert (inner.combinations, inner.paths) == (81, 3)


def test_that_with_its_leaves_mapped_too_the_worked_example_has_13_rows_and_9_paths() -> None:
    counts = figure(TreePlan(widths_to_parents(3, 3), accepted=(), bonus=" it")).counts
    assert (counts.rows, counts.paths) == (13, 9)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_that_the_product_of_search_spaces_is_told_as_a_number_exactly_while_it_is_small(sizes: list[int]) -> None:
    counts = tree_counts(sizes, 1, Mapping.REARMOST)
    product = math.prod(sizes)
    assert counts.combinations == (product if product <= MOST_WRITTEN_OUT else None)
    assert counts.log10_combinations == pytest.approx(math.log10(product))


def test_that_a_large_product_is_written_as_a_power_of_ten() -> None:
    assert tree_counts([4] * 13, 9, Mapping.REARMOST).combinations_text == "10^7.8"
    assert tree_counts([4] * 7, 9, Mapping.REARMOST).combinations_text == "16\N{NO-BREAK SPACE}384"


def test_that_averaging_features_takes_a_row_a_path_and_every_other_mapping_a_row_a_node() -> None:
    rows = {mapping: tree_counts([4] * 13, 9, mapping).rows for mapping in Mapping}
    assert rows == {Mapping.REARMOST: 13, Mapping.MEAN: 9, Mapping.INDEPENDENT: 13}


def test_that_a_path_exits_with_the_rearmost_of_its_nodes_and_has_none_while_a_node_has_none() -> None:
    made = figure(TreePlan())
    for nodes, exit_layer in zip(made.paths.nodes, made.paths.exits.tolist(), strict=True):
        own = made.nodes.exits[nodes]
        assert exit_layer == (own.max() if own.all() else 0)
    assert made.paths.exits.any()


@pytest.mark.parametrize("count", [4, 5, 13, 24, 64])
def test_that_each_path_leads_from_the_root_to_its_own_leaf(count: int) -> None:
    parents = bushy(count)
    made = figure(TreePlan(parents, accepted=(1,)))
    assert made.paths.leaves.tolist() == leaves_of(parents).tolist()
    for leaf, nodes in zip(made.paths.leaves.tolist(), made.paths.nodes, strict=True):
        assert nodes.tolist() == made.nodes.chain(leaf)
        assert nodes[0] == 0
        assert parents[nodes[1:]].tolist() == nodes[:-1].tolist()


def test_that_a_nodes_path_probability_is_the_product_of_the_drafters_along_its_path() -> None:
    made = figure(TreePlan()).nodes
    for node in range(len(made.texts)):
        assert made.path_probabilities[node] == pytest.approx(np.prod(made.probabilities[made.chain(node)]), rel=1e-5)


def test_that_a_nodes_exit_is_its_first_crossing_and_stays_when_the_score_falls_again() -> None:
    scores = np.array([[0.1, 0.7, 0.2], [0.6, 0.1, 0.9], [0.5, 0.5, 0.5]], np.float32)
    exits = first_crossings(scores, np.full(3, 0.5, np.float32), np.array([14, 19, 22]))
    assert exits.tolist() == [20, 15, 0]


def test_that_a_layers_own_threshold_decides_its_crossing() -> None:
    scores = np.array([[0.6, 0.6]], np.float32)
    assert first_crossings(scores, np.array([0.8, 0.5], np.float32), np.array([14, 19])).tolist() == [20]


def test_that_without_node_scores_a_nodes_exit_is_where_a_path_through_it_was_first_proposed() -> None:
    made = figure(TreePlan(mapping=Mapping.MEAN))
    assert np.isnan(made.nodes.scores).all()
    for node, exit_layer in enumerate(made.nodes.exits.tolist()):
        through = [
            int(f) for nodes, f in zip(made.paths.nodes, made.paths.first_proposed, strict=True) if node in nodes
        ]
        proposed = [first for first in through if first]
        assert exit_layer == min(proposed, default=0)


def test_that_independent_mapping_has_no_merged_scores_and_proposes_no_path() -> None:
    made = figure(TreePlan(mapping=Mapping.INDEPENDENT))
    assert np.isnan(made.paths.scores).all()
    assert not made.paths.proposed.any()
    assert made.nodes.exits.any()


def test_that_the_slider_sees_each_layer_as_far_as_it_took_the_pass() -> None:
    made = figure(TreePlan(refused=(18,)))
    stages = {layer: made.stage(layer) for layer in (10, 11, 18, 23, 24)}
    assert stages == {
        10: Stage.SILENT,
        11: Stage.NONE_PROPOSED,
        18: Stage.REFUSED,
        23: Stage.EXIT,
        24: Stage.NOT_RUN,
    }
    assert made.proposed_at(18).any()
    assert not made.proposed_at(17).any()


def test_that_a_proposal_whose_walk_is_still_to_come_is_told_apart() -> None:
    trace = tree_trace(TreePlan())
    cut = next(i for i, event in enumerate(trace.events) if isinstance(event, TreeVerified))
    made = tree_figure(Trace.of(trace.events[:cut]), 1)
    assert made is not None
    assert made.stage(23) is Stage.PROPOSED
    assert made.exit_layer == 0
    assert made.acceptance_length == 0
    assert made.bonus == ""


def test_that_a_refused_walk_tells_what_the_node_says_and_that_this_is_no_candidate() -> None:
    walk = figure(TreePlan(refused=(18,))).walk_at(18)
    assert walk is not None
    assert (walk.nodes.tolist(), walk.texts, walk.broke_at) == ([0, 1], ("·blue", "·it"), -1)
    assert not walk.accepted


def test_that_a_step_onto_a_node_whose_path_did_not_pass_names_that_node() -> None:
    walk = figure(TreePlan(refused=(18,), refusal=WalkEnd.NOT_PROPOSED)).walk_at(18)
    assert walk is not None
    assert walk.broke_at == 4


def test_that_accepted_nodes_and_tokens_find_each_other_and_the_bonus_is_no_node() -> None:
    made = figure(TreePlan())
    assert [made.node_of(token) for token in range(6)] == [None, 1, 4, 7, None, None]
    assert [made.token_of(node) for node in (0, 1, 4, 7, 2)] == [None, 1, 2, 3, None]
    assert made.bonus == "·light"
    assert made.acceptance_length == 4


def test_that_a_bonus_at_the_root_accepts_no_node() -> None:
    made = figure(TreePlan(accepted=(), bonus=" it", exit_layer=DEPTH))
    assert made.accepted.tolist() == []
    assert made.nodes.accepted.tolist() == [True] + [False] * 12
    assert [walk.texts for walk in made.walks] == [("·it",)]


def test_that_a_pass_of_the_last_layer_ends_with_a_walk_although_no_predictor_was_asked() -> None:
    made = figure(TreePlan(exit_layer=DEPTH, refused=(20,)))
    assert [(walk.layer, walk.accepted) for walk in made.walks] == [(20, False), (DEPTH - 1, True)]
    assert made.walks[-1].texts == ("·blue", "·because", "·of", "·light")
    assert made.stage(DEPTH - 1) is Stage.EXIT


def test_that_a_bonus_which_the_run_had_no_room_for_is_still_named() -> None:
    trace = tree_trace(TreePlan())
    without = Trace.of([e for e in trace.events if getattr(e, "token_bytes", b"") != b" light"])
    made = tree_figure(without, 1)
    assert made is not None
    assert made.bonus == "·light"
    unchecked = Trace.of([e for e in without.events if not isinstance(e, TreeVerified)])
    named = tree_figure(unchecked, 1)
    assert named is not None
    assert named.bonus.startswith("#")


def test_that_every_token_of_a_pass_shows_the_same_tree_and_the_next_pass_another() -> None:
    trace = tree_trace(TreePlan(), TreePlan(accepted=(2,), bonus=" sea"))
    firsts = []
    for token in range(1, 7):
        made = tree_figure(trace, token)
        assert made is not None
        firsts.append(made.token)
    assert firsts == [1, 1, 1, 1, 5, 5]


def test_that_a_token_without_a_tree_has_no_figure() -> None:
    trace = trace_of(started(), prefilled(), emitted(0, "The"), emitted(1, " sky", 21))
    assert [tree_figure(trace, token) for token in (-1, 0, 1, 2)] == [None] * 4


def test_that_the_path_that_stands_for_an_inner_node_is_the_accepted_one_where_there_is_one() -> None:
    made = figure(TreePlan())
    accepted = made.path_of(0)
    assert set(made.accepted.tolist()) < set(made.paths.nodes[accepted].tolist())
    for node in range(len(made.nodes.texts)):
        assert node in made.paths.nodes[made.path_of(node)]


def test_that_texts_of_any_script_are_shown_in_their_visible_form() -> None:
    made = figure(TreePlan(texts=CJK))
    assert made.nodes.texts[:4] == ("하늘", "은", "이", "·🌈")


def test_that_a_layer_between_two_judged_ones_stands_at_the_scores_of_the_lower() -> None:
    made = figure(TreePlan())
    assert made.column(JUDGED[0] - 1) is None
    assert made.column(JUDGED[1]) == 1
    assert made.column(JUDGED[1] + 1) == 1


def test_that_tokens_of_one_pass_share_its_schedule_its_judged_layers_and_its_refusals() -> None:
    trace = tree_trace(TreePlan(refused=(18,)))
    first, last = trace.records[1], trace.records[4]
    assert last.schedule is first.schedule
    assert np.flatnonzero(last.evaluated).tolist() == [layer for layer in JUDGED if layer < 24]
    assert np.flatnonzero(last.proposed).tolist() == [18, 23]
    assert [refusals(record) for record in trace.records] == [0, 1, 1, 1, 1]
    states = trace.overview.states
    assert (states[4] == states[1]).all()
    assert states[1, 18] & CellState.REFUSED


def test_that_a_pass_whose_tokens_are_still_to_come_takes_none_of_the_next_ones() -> None:
    trace = tree_trace(TreePlan(), TreePlan(), whole=False)
    assert trace.records[5].tree is not trace.records[4].tree
