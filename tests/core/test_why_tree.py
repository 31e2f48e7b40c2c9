"""The why paragraph of tokens that came out of a pass over a token tree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.why import why, why_plain
from core.choices import Mapping
from core.trace.events import StageTimes, TreeVerified, WalkEnd
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, ended
from tests.tree_passes import TreePlan, tree_trace

FULL = TreePlan(accepted=(), bonus=" it", exit_layer=DEPTH)


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (1, "Token 2 ‘ blue’ is token 1 of 4 of a pass over a tree of 12 draft nodes: a node drafted at level 1"),
        (3, "a node found in the context at level 3 and accepted."),
        (
            4,
            "Token 5 ‘ light’ is token 4 of 4 of a pass over a tree of 12 draft nodes: its bonus, what the target says",
        ),
        (4, "says after ‘ of’."),
        (1, "The pass left after layer 24 of 30: 6 layers saved."),
        (1, "There 1 of 6 hyper-tokens passes the threshold: the best, ‘ blue’ → ‘ because’ → ‘ of’ → ‘ a’, scores"),
        (1, "0.56 > 0.50, as its lowest node ‘ a’."),
        (1, "The walk ‘ appears’ → ‘ blue’ → ‘ because’ → ‘ of’ is verified: 3 nodes accepted, and ‘ light’ as the"),
        (1, "→ exit 24."),
        (1, "Mapped independently its 13 nodes make 10^7.8 combinations; merged they are 6 hyper-tokens."),
        (4, "of 29 predictors are active"),
        (2, "It took 41.0 ms: drafter 3.0"),
    ],
)
def test_that_each_token_of_a_pass_is_told_its_place_the_path_the_walk_and_the_bonus(token: int, said: str) -> None:
    assert said in why_plain(tree_trace(TreePlan(ngrams=(7,))), token, None)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (FULL, "Token 2 ‘ it’ is the only token of a pass over a tree of 12 draft nodes: its bonus"),
        (FULL, "The pass ran all 30 layers. No hyper-token passed the threshold before (the best scored 0."),
        (FULL, "The target’s own walk is ‘ appears’: 0 nodes accepted, and ‘ it’ as the bonus → exit 30."),
        (TreePlan(exit_layer=DEPTH, refused=(20,)), "1 walk was tried before and refused."),
        (TreePlan(exit_layer=DEPTH, judged=()), "No predictor was asked: this is plain speculative decoding."),
        (
            TreePlan(exit_layer=DEPTH, mapping=Mapping.INDEPENDENT),
            "Not every node had exited before: 5 of 13 nodes have exited.",
        ),
        (TreePlan(mapping=Mapping.INDEPENDENT), "There every one of the 13 nodes has exited on its own."),
        (TreePlan(mapping=Mapping.MEAN), "by its mean feature."),
    ],
)
def test_that_the_end_of_every_kind_of_pass_is_explained(plan: TreePlan, said: str) -> None:
    assert said in why_plain(tree_trace(plan), 1, None)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (5, "Layer 6 ran for the whole tree without its predictor: it is none of the 11 offline layers"),
        (14, "Layer 15: none of the 6 hyper-tokens passes the threshold: the best, "),
        (14, "the full vocabulary is not asked and the pass goes on. Its predictor is active because it is one of"),
        (18, "Layer 19: 1 of 6 hyper-tokens passes the threshold: the best"),
        (18, "The walk ‘ appears’ → ‘ blue’ breaks off: after ‘ blue’ the layer says ‘ it’, none of its candidates"),
        (18, "(‘ because’, ‘ due’, ‘ other 1 0’, ‘ other 1 1’) → refused; the pass goes on."),
        (23, "is verified: 3 nodes accepted, and ‘ light’ as the bonus → exit 24."),
        (27, "Layer 28 never ran: the pass left after layer 24, 6 layers before the end."),
    ],
)
def test_that_each_layer_of_a_pass_is_explained(layer: int, said: str) -> None:
    assert said in why_plain(tree_trace(TreePlan(refused=(18,))), 1, layer)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (WalkEnd.NOT_PROPOSED, "after ‘ blue’ the layer says ‘ because’, whose path did not pass → refused"),
        (WalkEnd.GATED, "after ‘ blue’ the layer says ‘ because’, by a margin of 0.10, below the gate → refused"),
    ],
)
def test_that_every_reason_to_refuse_a_walk_has_its_words(end: WalkEnd, said: str) -> None:
    assert said in why_plain(tree_trace(TreePlan(refused=(18,), refusal=end)), 1, 18)


def test_that_the_last_layer_of_a_full_pass_is_said_to_be_the_end_whatever_was_proposed() -> None:
    said = why_plain(tree_trace(FULL), 1, DEPTH - 1)
    assert said.startswith("Layer 30 is the last and always ends the pass. The target’s own walk is")


def test_that_independent_mapping_waits_for_all_nodes() -> None:
    said = why_plain(tree_trace(TreePlan(mapping=Mapping.INDEPENDENT)), 1, 20)
    assert "Layer 21: 5 of 13 nodes have exited, and all must before the pass may end" in said


def test_that_a_tree_without_predictors_says_so_of_each_layer() -> None:
    trace = tree_trace(TreePlan(exit_layer=DEPTH, judged=()))
    assert "Layer 6 ran for the whole tree without its predictor" in why_plain(trace, 1, 5)


def cut(plan: TreePlan) -> list[object]:
    """The events of a run up to just before its first walk."""
    events = tree_trace(plan).events
    return list(events[: next(i for i, event in enumerate(events) if isinstance(event, TreeVerified))])


def test_that_a_pass_in_flight_says_how_far_it_is_and_a_proposal_waits_for_its_walk() -> None:
    trace = Trace.of(cut(TreePlan()))  # type: ignore[arg-type]
    assert "Token 2 is in flight, in a pass over a tree of 12 draft nodes: 24 of 30" in why_plain(trace, 1, None)
    assert "The walk has not been tried yet." in why_plain(trace, 1, 23)
    assert "Layer 25 has not run yet: 24 of 30 layers are done for its pass." in why_plain(trace, 1, 24)


def test_that_a_pass_that_the_run_cut_short_is_said_not_to_be_finished() -> None:
    trace = Trace.of([*cut(TreePlan()), ended()])  # type: ignore[list-item]
    assert "was not finished: the run ended after 24 of 30 layers" in why_plain(trace, 1, None)
    assert "The walk has not been tried." in why_plain(trace, 1, 23)
    assert "Layer 25 never ran: the run ended when 24 of 30 layers" in why_plain(trace, 1, 24)


def test_that_a_bonus_which_the_run_had_no_room_for_is_told_as_far_as_it_is_known() -> None:
    events = [event for event in tree_trace(TreePlan()).events if getattr(event, "token_bytes", b"") != b" light"]
    assert "and ‘ light’ as the bonus" in why_plain(Trace.of(events), 1, None)
    unchecked = [event for event in events if not isinstance(event, TreeVerified)]
    assert "3 nodes accepted, and the bonus → exit 24." in why_plain(Trace.of(unchecked), 1, None)


def test_that_every_token_of_a_pass_tells_the_time_of_the_whole_pass_which_its_first_token_carries() -> None:
    trace = tree_trace(TreePlan())
    later = trace.records[3]
    assert later.emitted is not None
    later.emitted = replace(later.emitted, times=StageTimes())
    assert "It took 41.0 ms" in why_plain(trace, 3, None)


def test_that_a_token_that_looks_like_markup_stays_text() -> None:
    said = why(tree_trace(TreePlan(texts=("<i>", "<u>", "&"))), 1, None)
    assert "<i>" not in said
    assert "‘&lt;u&gt;’" in said
