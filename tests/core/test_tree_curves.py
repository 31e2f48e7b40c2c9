from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.tree_curves import node_curves
from core.choices import Mapping
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, audited, emitted, prefilled, started, trace_of
from tests.tree_passes import JUDGED, TreePlan, tree_trace


def test_that_a_token_shows_the_candidates_of_the_node_after_which_it_comes() -> None:
    trace = tree_trace(TreePlan())
    for token, texts in ((1, ("·blue", "·red", "·so")), (2, ("·because", "·due")), (4, ("·light", "·a", "·Ray"))):
        curves = node_curves(trace, token)
        assert curves is not None
        assert curves.candidate_texts[: len(texts)] == texts
        assert curves.emitted_candidate == 0
        assert (curves.token, curves.exit_layer, curves.early) == (token, 24, True)


def test_that_a_chosen_node_shows_its_own_candidates_and_no_emitted_one_off_the_accepted_path() -> None:
    curves = node_curves(tree_trace(TreePlan()), 1, 2)
    assert curves is not None
    assert curves.candidate_texts[0] == "."
    assert curves.emitted_candidate == -1


def test_that_curves_stand_at_the_judged_layers_with_the_nodes_own_scores() -> None:
    trace = tree_trace(TreePlan())
    tree = trace.records[1].tree
    assert tree is not None
    curves = node_curves(trace, 3)
    assert curves is not None
    judged = [layer for layer in JUDGED if layer < 24]
    assert curves.layers.tolist() == judged
    assert curves.scores.tolist() == [float(tree.layers[layer].scores[4]) for layer in judged]
    features = tree.layers[23].features
    assert features is not None
    assert curves.probabilities[-1].tolist() == features[4, 4:8].tolist()


def test_that_where_nodes_have_no_scores_the_best_path_through_them_is_shown() -> None:
    trace = tree_trace(TreePlan(mapping=Mapping.MEAN))
    tree = trace.records[1].tree
    assert tree is not None
    of_root, of_leaf = node_curves(trace, 1, 0), node_curves(trace, 1, 12)
    assert of_root is not None
    assert of_leaf is not None
    last = tree.layers[23].path_scores
    assert of_root.scores[-1] == last.max()
    assert of_leaf.scores[-1] == last[-1]


def test_that_a_pass_in_flight_shows_the_root() -> None:
    curves = node_curves(tree_trace(TreePlan(), whole=False), 1)
    assert curves is not None
    assert curves.candidate_texts[0] == "·blue"
    assert curves.exit_layer == 0
    assert curves.emitted_candidate == -1


@pytest.mark.parametrize("plan", [TreePlan(judged=(), exit_layer=DEPTH)])
def test_that_a_tree_without_candidates_has_no_curves(plan: TreePlan) -> None:
    assert node_curves(tree_trace(plan), 1) is None


def test_that_a_token_without_a_tree_has_none() -> None:
    assert node_curves(trace_of(started(), prefilled(), emitted(0, "The")), 0) is None


def test_that_an_audit_belongs_to_the_token_after_the_node() -> None:
    events = tree_trace(TreePlan()).events
    audit = audited(2, (DEPTH, " because"))
    trace = Trace.of([*events, replace(audit, candidate_probabilities=np.full((DEPTH, 4), 0.2, np.float32))])
    after_blue, after_root = node_curves(trace, 1, 1), node_curves(trace, 1, 0)
    assert after_blue is not None
    assert after_blue.audit is not None
    assert after_root is not None
    assert after_root.audit is None
