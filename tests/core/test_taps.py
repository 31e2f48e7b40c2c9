"""What the drafter sees of lower layers, in a run and in training."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
import torch
from torch import Tensor

from core.choices import Policy
from core.config import CANDIDATES, RunSettings, TreeSettings
from core.decoding import RunRequest
from core.drafting.head import DraftHead
from core.drafting.taps import tap_layers, with_taps
from core.engine import Engine
from core.exits.parts import TrainedParts
from core.model.loading import LoadedModel
from core.trace.events import DraftProposed, TokenEmitted, TreeDrafted
from core.trace.trace import Trace
from tests.core.training_setup import teacher_forced, tiny_model
from tests.engines import parts_that_always_propose
from tests.pieces import whole_sequences

DEPTH = 6


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return tiny_model(tmp_path_factory.mktemp("model"), depth=DEPTH)


def tapped_parts(model: LoadedModel, *, layers: int = 1, bias: float = -20.0) -> TrainedParts:
    """Predictors that never propose, or always do, and a drafter whose taps count."""
    random = torch.Generator().manual_seed(5)
    state = DraftHead.random(model.decoder, random, taps=True, layers=layers).state()
    state["taps.weight"] = torch.randn(state["taps.weight"].shape, generator=random) * 0.2
    return dataclasses.replace(
        parts_that_always_propose(model, bias=bias), drafter=DraftHead.from_state(model.decoder, state)
    )


def run(model: LoadedModel, parts: TrainedParts, tokens: int) -> Trace:
    settings = RunSettings(policy=Policy.SPECEE_T1, max_new_tokens=tokens)
    return Trace.of(Engine(model, parts).run(RunRequest("the sea", settings), threading.Event()))


def candidates(head: DraftHead, ids: list[int], layers: list[Tensor], exits: list[int]) -> list[list[int]]:
    """S after each position, from the states that a pass over the whole text gives, where each left at its layer."""
    decoder = head.decoder
    rows = []
    for position, layers_run in enumerate(exits):
        hidden = [states[position] for states in layers[:layers_run]]
        rows.append(with_taps(lambda normed: normed, hidden, hidden[-1], head.taps))
    predicted = whole_sequences(head, decoder.embed(torch.tensor(ids[1:]))[None], torch.stack(rows)[None])[0]
    found: list[list[int]] = decoder.logits(predicted).topk(CANDIDATES).indices.tolist()
    return found


@pytest.mark.parametrize(
    ("depth", "layers"), [(30, (9, 19)), (6, (1, 3)), (4, (0, 1)), (3, (0, 1)), (2, (0,)), (1, ())]
)
def test_that_taps_are_the_last_layers_of_the_lower_and_the_middle_third(depth: int, layers: tuple[int, ...]) -> None:
    assert tap_layers(depth) == layers


@pytest.mark.parametrize(("layers", "bias"), [(1, -20.0), (2, -20.0), (1, 20.0)])
@torch.no_grad()
def test_that_a_run_drafts_from_the_lower_layers_of_every_position(
    model: LoadedModel, layers: int, bias: float
) -> None:
    parts = tapped_parts(model, layers=layers, bias=bias)
    trace = run(model, parts, 120 if bias > 0 else 12)
    prompt = model.tokenizer.encode_chat("the sea")
    emitted = [event for event in trace.events if isinstance(event, TokenEmitted)]
    drafts = np.stack([event.candidate_ids for event in trace.events if isinstance(event, DraftProposed)])
    ids = [*prompt, *(event.token_id for event in emitted[:-1])]
    exits = [DEPTH] * (len(prompt) - 1) + [event.exit_layer for event in emitted[:-1]]
    assert (min(exits) <= max(parts.drafter.taps)) == (bias > 0)
    expected = candidates(parts.drafter, ids, teacher_forced(model, ids), exits)
    np.testing.assert_array_equal(drafts, np.array(expected)[len(prompt) - 1 :])


@torch.no_grad()
def test_that_a_tree_grows_from_the_lower_layers_of_the_nodes_that_were_accepted(model: LoadedModel) -> None:
    parts = tapped_parts(model)
    settings = RunSettings(policy=Policy.DENSE, max_new_tokens=60, tree=TreeSettings(shape="4-1", ngrams=True))
    trace = Trace.of(Engine(model, parts).run(RunRequest("the sea", settings), threading.Event()))
    prompt = model.tokenizer.encode_chat("the sea")
    ids = [*prompt, *(event.token_id for event in trace.events if isinstance(event, TokenEmitted))]
    expected = candidates(parts.drafter, ids, teacher_forced(model, ids), [DEPTH] * (len(ids) - 1))
    trees = [event for event in trace.events if isinstance(event, TreeDrafted)]
    assert 0 < len(trees) < 59
    for tree in trees:
        drafted = tree.node_ids[(tree.parents == 0) & ~tree.from_ngram]
        assert set(drafted) <= set(expected[len(prompt) + tree.token - 2])


def test_that_the_state_of_an_exit_stands_in_for_taps_above_it() -> None:
    hidden = [torch.full((2,), float(layer)) for layer in range(3)]
    left = torch.full((2,), 9.0)
    seen = with_taps(lambda state: state + 100, hidden, left, (1, 3))
    assert seen.tolist() == [101, 101, 9, 9, 9, 9]
    assert with_taps(lambda state: state, hidden, left, ()) is left
