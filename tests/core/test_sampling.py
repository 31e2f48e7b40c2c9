"""Greedy and sampled tokens; one uniform number a (seed, position)."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from core.choices import Policy
from core.config import SamplingSettings
from core.engine import Engine
from core.errors import UserError
from core.sampling import BLOCK, BadNumbers, Chooser, largest, normaliser
from core.trace.events import EndReason
from tests.engines import DEPTH, ids, run

LOGITS = torch.tensor([0.5, 2.0, 1.0, -1.0])


def draws(count: int, **settings: float) -> np.ndarray:
    """How often each of `LOGITS` is drawn over `count` positions, as shares."""
    chooser = Chooser(SamplingSettings(**settings))  # type: ignore[arg-type]
    tokens = [chooser.choose(LOGITS, position).token_id for position in range(count)]
    return np.bincount(tokens, minlength=4) / count


def test_that_greedy_takes_the_argmax_and_tells_its_margin() -> None:
    choice = Chooser(SamplingSettings()).choose(LOGITS, 0)
    p = LOGITS.softmax(-1)
    assert choice.token_id == 1
    assert choice.top == pytest.approx(float(p[1]))
    assert choice.margin == pytest.approx(float(p[1] - p[2]))


def test_that_draws_follow_the_distribution_at_the_temperature() -> None:
    expected = (LOGITS / 0.7).softmax(-1).numpy()
    np.testing.assert_allclose(draws(4000, temperature=0.7), expected, atol=0.03)


def test_that_top_p_draws_only_from_the_tokens_that_reach_it() -> None:
    shares = draws(2000, temperature=1.0, top_p=0.7)
    kept = LOGITS.softmax(-1).numpy()
    assert shares[0] == shares[3] == 0
    assert shares[1] == pytest.approx(kept[1] / (kept[1] + kept[2]), abs=0.04)


@pytest.mark.parametrize("temperature", [1e-6, 1e-38, 5e-324])
def test_that_however_cold_a_draw_is_the_most_likely_token(temperature: float) -> None:
    assert draws(20, temperature=temperature).tolist() == [0, 1, 0, 0]


def test_that_the_same_seed_and_position_give_the_same_draw_and_others_do_not() -> None:
    first, again, other = (Chooser(SamplingSettings(1.0, seed=seed)) for seed in (3, 3, 4))
    drawn = [[chooser.choose(LOGITS, p).token_id for p in range(50)] for chooser in (first, again, other)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_that_close_distributions_share_their_draw() -> None:
    """The uniform number is the same at every layer, so a small change of logits seldom changes the token."""
    chooser = Chooser(SamplingSettings(1.0))
    same = [chooser.choose(LOGITS, p).token_id == chooser.choose(LOGITS + 0.01 * p % 2, p).token_id for p in range(300)]
    assert np.mean(same) > 0.95


@pytest.mark.parametrize("vocabulary", [7, 300, 5 * BLOCK])
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_that_the_largest_by_blocks_are_the_largest(vocabulary: int, k: int) -> None:
    logits = torch.randn(9, vocabulary, generator=torch.Generator().manual_seed(k))
    values, indices = largest(logits, k)
    expected = logits.topk(k)
    assert torch.equal(values, expected.values)
    assert torch.equal(indices, expected.indices)
    torch.testing.assert_close(normaliser(logits, values[:, :1]), logits.logsumexp(-1, keepdim=True))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_that_logits_that_are_not_numbers_are_told(bad: float) -> None:
    with pytest.raises(BadNumbers):
        Chooser(SamplingSettings()).choose(torch.tensor([bad, 1.0, 2.0]), 0)


@pytest.mark.parametrize("values", [{"temperature": -1}, {"top_p": 0}, {"top_p": 1.5}, {"seed": -1}])
def test_that_sampling_settings_out_of_range_are_refused(values: dict) -> None:
    with pytest.raises(UserError):
        SamplingSettings(**values)


def test_that_a_seed_repeats_its_run_and_exits_leave_the_draw_alone(eager: Engine) -> None:
    sampled = {"sampling": SamplingSettings(1.0, 0.95, seed=11), "max_new_tokens": 40}
    assert ids(run(eager, **sampled)) == ids(run(eager, **sampled))
    without_exits = run(eager, **sampled, threshold=1.0)
    assert ids(without_exits) == ids(run(eager, **sampled, policy=Policy.DENSE))


def test_that_a_sampled_exit_emits_only_candidates(eager: Engine) -> None:
    trace = run(eager, sampling=SamplingSettings(1.0, seed=5), max_new_tokens=60)
    early = [r for r in trace.emitted[1:] if r.emitted.exit_layer < DEPTH]
    assert early
    assert all(r.emitted.token_id in r.draft.candidate_ids for r in early)


def test_that_a_stop_string_ends_the_run_even_across_tokens(eager: Engine) -> None:
    whole = run(eager, policy=Policy.DENSE, max_new_tokens=30)
    printable = re.search(rb"[ -~]{3}", whole.text_bytes[2:])
    assert printable
    stop = printable[0].decode()
    trace = run(eager, policy=Policy.DENSE, max_new_tokens=30, stop=(stop,))
    assert trace.ended.reason is EndReason.STOP_STRING
    assert stop.encode() in trace.text_bytes
    assert trace.emitted_count < whole.emitted_count
    assert ids(trace) == ids(whole)[: trace.emitted_count]
