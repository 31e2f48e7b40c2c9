"""Shapes of trees judged on one recording: what smaller trees would have kept and accepted, and what that costs."""

from __future__ import annotations

import dataclasses
import threading
import time

import numpy as np
import pytest
import torch

from core.analysis import tree_shapes
from core.analysis.tree_shapes import Costs, Recorded, dynamic_acceptance, recorded, static_acceptance
from core.choices import Head, Policy
from core.config import TreeSettings
from core.drafting.growth import growth_of
from core.drafting.guesses import Guesser
from core.drafting.head import DraftHead
from core.drafting.tree import DraftTree, TreeDrafter
from core.engine import Engine
from core.errors import UserError
from core.progress import Progress, quiet
from core.trace.events import TreeAccepted, TreeDrafted
from core.training import tree_search
from tests.decoders import pair
from tests.engines import ids, of_type, parts_that_always_propose, run

CONTEXT = torch.tensor([3, 14, 15, 92])
LARGE = TreeSettings("dynamic", nodes=60, depth=3, expand=4)


@pytest.fixture(scope="module")
def drafted() -> dict[str, DraftTree]:
    """Trees of one drafter at one place, by what they are."""
    settings = {
        "large": LARGE,
        "3-2-1": TreeSettings("3-2-1"),
        "small": TreeSettings("dynamic", nodes=7, depth=3, expand=2),
        "flat": TreeSettings("dynamic", nodes=3, depth=1, expand=4),
    }
    with torch.inference_mode():
        return {name: grow(tree) for name, tree in settings.items()}


def grow(settings: TreeSettings) -> DraftTree:
    decoder = pair("llama")[1]
    head = DraftHead.random(decoder, torch.Generator().manual_seed(3))

    def logits(features: torch.Tensor) -> torch.Tensor:
        return 150 * decoder.logits(features)

    drafter = TreeDrafter(head, growth_of(settings, decoder.config), Guesser(logits), 32)
    drafter.feed(CONTEXT, torch.randn(4, decoder.config.hidden, generator=torch.Generator().manual_seed(4)))
    return drafter.grow(92, 9, (), candidates=False)


def recording(tree: DraftTree, accepted: list[int]) -> Recorded:
    told = TreeDrafted(
        0, 1, tree.ids, (), tree.parents, tree.probabilities, tree.from_ngram, tree.candidate_ids, (), np.zeros((0, 0))
    )
    (one,) = recorded([told, TreeAccepted(0, 1, np.array(accepted, np.int64), 0, 4, 1)])
    return one


def paths(tree: DraftTree) -> set[tuple[int, ...]]:
    """Each node by the tokens that lead to it."""
    return {tuple(tree.ids[tree.seen[node]].tolist()) for node in range(1, len(tree.ids))}


@pytest.mark.parametrize(("name", "depth", "expand", "nodes"), [("small", 3, 2, 7), ("flat", 1, 4, 3)])
def test_that_a_smaller_dynamic_tree_is_read_off_a_larger_one(
    drafted: dict[str, DraftTree], name: str, depth: int, expand: int, nodes: int
) -> None:
    large = drafted["large"]
    for node in range(1, len(large.ids)):
        kept = dynamic_acceptance([recording(large, [node])], depth, expand, nodes)[-1] == 1
        assert kept == (tuple(large.ids[large.seen[node]].tolist()) in paths(drafted[name]))


def test_that_a_static_tree_is_read_off_a_dynamic_one(drafted: dict[str, DraftTree]) -> None:
    large = drafted["large"]
    for node in range(1, len(large.ids)):
        kept = static_acceptance([recording(large, [node])], (3, 2, 1)) == 1
        assert kept == (tuple(large.ids[large.seen[node]].tolist()) in paths(drafted["3-2-1"]))


def test_that_acceptance_is_the_mean_over_passes(drafted: dict[str, DraftTree]) -> None:
    large = drafted["large"]
    child = int(np.flatnonzero(large.parents == 0)[0])
    both = [recording(large, [child]), recording(large, [])]
    assert dynamic_acceptance(both, 2, 2, 3).tolist()[-1] == 0.5
    assert static_acceptance(both, (4,)) == 0.5


COSTS = Costs({1: 1.0, 9: 1.8}, {1: 0.1, 4: 0.4}, 0.2)


def test_that_costs_between_those_measured_are_read_off_a_line() -> None:
    assert COSTS.of_target(5) == pytest.approx(1.4)
    assert COSTS.of_draft(2) == pytest.approx(0.2)
    assert COSTS.of_target(99) == 1.8


def test_that_a_shape_costs_its_drafting_its_rows_and_a_head_a_token(drafted: dict[str, DraftTree]) -> None:
    child = int(np.flatnonzero(drafted["large"].parents == 0)[0])
    found = tree_shapes.fastest_first([recording(drafted["large"], [child])], COSTS, ["1", "2-2"], 4)
    chain, wide = (next(one for one in found if one.tree.shape == shape) for shape in ("1", "2-2"))
    assert (chain.acceptance_length, chain.seconds) == (2.0, pytest.approx(0.1 + 1.1 + 2 * 0.2))
    assert (wide.nodes, wide.seconds) == (6, pytest.approx(0.1 + 0.2 + 1.6 + 2 * 0.2))
    speeds = [one.tokens_per_second for one in found]
    assert speeds == sorted(speeds, reverse=True)


def test_that_no_tree_is_chosen_where_drafting_costs_more_than_it_gives(drafted: dict[str, DraftTree]) -> None:
    child = int(np.flatnonzero(drafted["large"].parents == 0)[0])
    dear = dataclasses.replace(COSTS, draft={1: 5.0, 4: 9.0})
    assert not tree_shapes.fastest_first([recording(drafted["large"], [child])], dear, ["1"], 4)[0].tree.on


def test_that_a_recorded_shape_itself_accepts_what_it_did(eager: Engine) -> None:
    tree = TreeSettings("dynamic", nodes=9, depth=3, expand=3, ngrams=False)
    trace = run(eager, policy=Policy.DENSE, tree=tree, max_new_tokens=40)
    accepted = [len(event.accepted) for event in of_type(trace, TreeAccepted)]
    assert dynamic_acceptance(recorded(trace.events), 3, 3, 9)[-1] == pytest.approx(np.mean(accepted))


def test_that_a_search_compares_shapes_on_this_machine(eager: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_search, "LARGE", TreeSettings("dynamic", nodes=8, depth=2, expand=3))
    monkeypatch.setattr(tree_search, "REPEATS", 1)
    told: list[Progress] = []
    found, costs = tree_search.search(eager, ["the sky"], Head.FULL, 6, told.append, threading.Event())
    assert {"off", "dynamic", *tree_search.STATIC} == {one.tree.shape for one in found}
    assert set(costs.target) == set(tree_search.TARGET_ROWS)
    assert all(seconds > 0 for seconds in costs.target.values())
    assert told


def test_that_a_search_without_a_drafter_says_how_to_make_one(eager: Engine) -> None:
    with pytest.raises(UserError, match="needs a drafter"):
        tree_search.search(Engine(eager.model), ["x"], Head.FULL, 4, quiet, threading.Event(), time.perf_counter)


def test_that_timing_passes_leaves_no_mark_on_a_run(eager: Engine) -> None:
    before = ids(run(eager, policy=Policy.DENSE))
    tree_search.measure(eager, Head.FULL, quiet, threading.Event(), time.perf_counter)
    assert ids(run(Engine(eager.model, parts_that_always_propose(eager.model)), policy=Policy.DENSE)) == before
