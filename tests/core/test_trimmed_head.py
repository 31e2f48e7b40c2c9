"""Drafting through some of the vocabulary: the same guesses among those tokens, and never another emitted token."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.choices import Head, Policy
from core.config import RunSettings, TreeSettings
from core.drafting.guesses import Guesser
from core.engine import Engine
from core.errors import UserError
from core.model.loading import LoadedModel
from core.model.trimmed_head import TrimmedHead
from tests.engines import ids, run
from tests.pieces import noise, trimmed, with_pieces


def test_that_a_head_over_all_tokens_drafts_as_the_full_head(eager: Engine) -> None:
    plain = run(eager)
    same = run(with_pieces(eager, trimmed=trimmed(eager.model)), draft_head=Head.TRIMMED)
    assert ids(same) == ids(plain)
    for one, other in zip(same.records[1:], plain.records[1:], strict=True):
        np.testing.assert_array_equal(one.draft.candidate_ids, other.draft.candidate_ids)


def test_that_candidates_are_the_likeliest_of_the_kept_tokens(eager: Engine) -> None:
    head = trimmed(eager.model, 20)
    trace = run(with_pieces(eager, trimmed=head), draft_head=Head.TRIMMED)
    kept = set(head.tokens.tolist())
    assert all(set(record.draft.candidate_ids.tolist()) <= kept for record in trace.records[1:])


@pytest.mark.parametrize(
    "tree", [TreeSettings("2-2-1"), TreeSettings("dynamic", nodes=9, depth=3, expand=3, ngrams=True)]
)
def test_that_trees_of_kept_tokens_emit_what_dense_decoding_does(eager: Engine, tree: TreeSettings) -> None:
    few = with_pieces(eager, trimmed=trimmed(eager.model, 20))
    dense = run(few, policy=Policy.DENSE)
    assert ids(run(few, policy=Policy.DENSE, tree=tree, draft_head=Head.TRIMMED)) == ids(dense)


def test_that_a_token_that_is_not_kept_has_no_probability(tiny: LoadedModel) -> None:
    head, state = trimmed(tiny, 20), noise(1, tiny.config.hidden)
    guesser = Guesser(head.logits, head.tokens)
    logits = guesser.logits(state)
    found, shares = guesser.likeliest(logits, 20)
    for token, share in zip(found[0].tolist(), shares[0].tolist(), strict=True):
        assert guesser.probability(logits[0], token) == pytest.approx(share, rel=1e-5)
    left_out = next(token for token in range(tiny.config.vocabulary) if token not in head.tokens)
    assert guesser.probability(logits[0], left_out) == 0.0


@pytest.mark.parametrize(
    "tokens", [[0, 1, 2], [-1, *range(9)], [*range(9), 10**6], [0, *range(9)], [0.5] * 9], ids=lambda one: str(one[:3])
)
def test_that_other_tokens_than_the_model_s_are_refused(tiny: LoadedModel, tokens: list[int]) -> None:
    kind = torch.float32 if 0.5 in tokens else torch.int32
    with pytest.raises(UserError, match="train it again"):
        TrimmedHead.from_state(tiny.decoder, {"tokens": torch.tensor(tokens, dtype=kind)})


def test_that_a_check_through_it_is_refused() -> None:
    with pytest.raises(UserError, match="lacks tokens"):
        RunSettings(check=Head.TRIMMED)
