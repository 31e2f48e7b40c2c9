"""A proposed exit is checked by the full head, or by exact logits on the low-rank head's shortlist, and by the gate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.choices import DType, Head, KVPolicy, Policy, Record
from core.config import SamplingSettings
from core.engine import Engine
from core.errors import UserError
from core.exits import verification
from core.exits.lens import Readout
from core.exits.verification import Verifier
from core.model.loading import LoadedModel, load_model
from core.model.slim_head import SlimHead
from core.sampling import BadNumbers, Chooser
from core.trace.events import Verified
from tests.engines import DEPTH, ids, of_type, run
from tests.grids import make_tiny_grid_model
from tests.pieces import noise, random_slim, whole_slim, with_pieces

GREEDY = Chooser(SamplingSettings())
SLIM = {"check": Head.SLIM, "max_new_tokens": 40}


def rows(model: LoadedModel, count: int = 5) -> torch.Tensor:
    return noise(count, model.config.hidden, seed=3, scale=1.0)


def verifier(model: LoadedModel, slim: SlimHead | None = None, **given: object) -> Verifier:
    return Verifier(Readout(model.decoder), GREEDY, slim=slim, **given)  # type: ignore[arg-type]


def test_that_many_rows_are_checked_as_each_of_them(tiny: LoadedModel) -> None:
    for slim in (None, random_slim(tiny)):
        checks = verifier(tiny, slim, count=8)
        for check, row in zip(checks.check_rows(2, rows(tiny), 7), rows(tiny), strict=True):
            alone = checks.check(2, row, 7)
            assert check.choice.token_id == alone.choice.token_id
            assert check.choice.margin == pytest.approx(alone.choice.margin, abs=1e-6)
            torch.testing.assert_close(check.normed, tiny.decoder.norm(row))


def test_that_a_shortlist_of_the_whole_vocabulary_is_the_full_check(tiny: LoadedModel) -> None:
    whole = verifier(tiny, random_slim(tiny), count=tiny.config.vocabulary)
    for short, full in zip(
        whole.check_rows(1, rows(tiny), 0), verifier(tiny).check_rows(1, rows(tiny), 0), strict=True
    ):
        assert short.choice.token_id == full.choice.token_id
        assert (short.choice.top, short.choice.margin) == pytest.approx((full.choice.top, full.choice.margin), abs=1e-6)


def test_that_exact_logits_decide_among_the_shortlist(tiny: LoadedModel) -> None:
    """The low-rank head's own favourite is not what comes out where another of its tokens has the larger logit."""
    slim, normed = random_slim(tiny, rank=2), tiny.decoder.norm(rows(tiny, 40))
    short, exact = slim.shortlist(normed, 16), tiny.decoder.logits(normed)
    checks = verifier(tiny, slim, count=16).check_rows(0, rows(tiny, 40), 0)
    best = [int(listed[exact[row, listed].argmax()]) for row, listed in enumerate(short)]
    assert [check.choice.token_id for check in checks] == best
    assert best != short[:, 0].tolist()


def test_that_margins_over_a_shortlist_are_no_smaller_than_over_the_vocabulary(tiny: LoadedModel) -> None:
    slim = whole_slim(tiny)
    full = verifier(tiny).check_rows(0, rows(tiny), 0)
    for short, check in zip(verifier(tiny, slim, count=8).check_rows(0, rows(tiny), 0), full, strict=True):
        assert short.choice.margin > check.choice.margin
        assert short.choice.top > check.choice.top


def test_that_the_last_layer_is_never_checked_by_a_shortlist(tiny: LoadedModel) -> None:
    misleading = SlimHead(noise(1, tiny.config.hidden), noise(tiny.config.vocabulary, 1))
    last, state = DEPTH - 1, rows(tiny, 1)[0]
    assert (
        verifier(tiny, misleading, count=2).check(last, state, 0).choice == verifier(tiny).check(last, state, 0).choice
    )


@pytest.mark.parametrize("slim", [False, True])
def test_that_numbers_that_are_not_finite_stop_the_run(tiny: LoadedModel, slim: bool) -> None:
    broken = torch.full((tiny.config.hidden,), torch.nan)
    with pytest.raises(BadNumbers):
        verifier(tiny, random_slim(tiny) if slim else None).check(0, broken, 0)


@pytest.mark.parametrize("kv_policy", KVPolicy)
def test_that_a_run_with_a_shortlist_of_everything_equals_one_with_the_full_head(
    eager: Engine, kv_policy: KVPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "SHORTLIST", eager.model.config.vocabulary)
    full = run(eager, kv_policy=kv_policy, max_new_tokens=40)
    short = run(with_pieces(eager, slim=random_slim(eager.model)), **SLIM, kv_policy=kv_policy)
    assert (full.exit_layers < DEPTH).any()
    assert ids(short) == ids(full)
    np.testing.assert_array_equal(short.exit_layers, full.exit_layers)


def test_that_a_low_rank_head_of_full_rank_drafts_as_the_full_head(eager: Engine) -> None:
    plain = run(eager, record=Record.AUDIT)
    slim = run(with_pieces(eager, slim=whole_slim(eager.model)), draft_head=Head.SLIM, record=Record.AUDIT)
    assert ids(slim) == ids(plain)
    for one, other in zip(slim.records[1:], plain.records[1:], strict=True):
        np.testing.assert_array_equal(one.draft.candidate_ids, other.draft.candidate_ids)
        np.testing.assert_allclose(
            one.draft.candidate_probabilities, other.draft.candidate_probabilities, rtol=1e-4, atol=1e-7
        )


def test_that_another_draft_head_proposes_other_candidates(eager: Engine) -> None:
    slim = run(with_pieces(eager, slim=random_slim(eager.model, rank=2)), draft_head=Head.SLIM)
    plain = run(eager)
    assert not np.array_equal(slim.records[1].draft.candidate_ids, plain.records[1].draft.candidate_ids)


@pytest.mark.parametrize("setting", [{"check": Head.SLIM}, {"draft_head": Head.SLIM}])
@pytest.mark.parametrize("kv_policy", KVPolicy)
def test_that_audit_is_neutral_with_the_low_rank_head(
    eager: Engine, setting: dict[str, Head], kv_policy: KVPolicy
) -> None:
    slim = with_pieces(eager, slim=random_slim(eager.model))
    asked = {**setting, "kv_policy": kv_policy, "policy": Policy.SPECEE_T1T2, "max_new_tokens": 20}
    live, audit = run(slim, **asked), run(slim, **asked, record=Record.AUDIT)
    assert ids(audit) == ids(live)
    np.testing.assert_array_equal(audit.exit_layers, live.exit_layers)


def test_that_a_gate_of_zero_is_off(eager: Engine) -> None:
    plain, gated = run(eager, max_new_tokens=40), run(eager, max_new_tokens=40, gate=0.0)
    assert ids(gated) == ids(plain)
    assert not any(event.gated for event in of_type(plain, Verified))


def test_that_the_gate_refuses_exactly_the_exits_with_a_smaller_margin(eager: Engine) -> None:
    margins = [e.margin for e in of_type(run(eager, max_new_tokens=60), Verified) if e.candidate_rank >= 0]
    gate = float(np.median(margins))
    checks = of_type(run(eager, max_new_tokens=60, gate=gate, record=Record.AUDIT), Verified)
    among = [event for event in checks if event.candidate_rank >= 0]
    assert {event.gated for event in among} == {True, False}
    for event in among:
        assert event.gated == (event.margin < gate)
        assert event.accepted != event.gated
    assert not any(event.gated for event in checks if event.candidate_rank < 0)


def test_that_a_gate_of_one_lets_nothing_exit(eager: Engine) -> None:
    assert ids(run(eager, gate=1.0)) == ids(run(eager, policy=Policy.DENSE))


def test_that_audit_is_neutral_with_a_gate(eager: Engine) -> None:
    asked = {"gate": 0.01, "max_new_tokens": 40}
    live, audit = run(eager, **asked), run(eager, **asked, record=Record.AUDIT)
    assert ids(audit) == ids(live)
    np.testing.assert_array_equal(audit.exit_layers, live.exit_layers)


@pytest.mark.parametrize("setting", ["check", "draft_head"])
def test_that_a_run_without_the_low_rank_head_it_asks_for_is_refused(eager: Engine, setting: str) -> None:
    with pytest.raises(
        UserError, match=r"needs a low-rank head trained for tiny.*--stage head.*or choose the full head"
    ):
        run(eager, **{setting: Head.SLIM})


def test_that_a_low_rank_head_comes_back_from_its_state(tiny: LoadedModel) -> None:
    slim, normed = random_slim(tiny), rows(tiny)
    assert torch.equal(SlimHead.from_state(tiny.decoder, slim.state()).logits(normed), slim.logits(normed))
    assert slim.rank == 4


def test_that_a_low_rank_head_of_another_model_is_refused(tiny: LoadedModel) -> None:
    state = random_slim(tiny).state()
    for name, weight in state.items():
        for spoilt in (weight[:-1], weight[..., :-1], weight[0]):
            with pytest.raises(UserError, match=r"low-rank head's weight (down|up) does not fit"):
                SlimHead.from_state(tiny.decoder, {**state, name: spoilt})
        with pytest.raises(UserError, match=f"lacks its weight {name}"):
            SlimHead.from_state(tiny.decoder, {key: one for key, one in state.items() if key != name})


def test_that_beside_a_packed_head_the_low_rank_head_is_packed_too(tmp_path: Path) -> None:
    """Rounded to eight bits its logits are near; which tokens it lists is the same but for near-ties."""
    pytest.importorskip("numba")
    model = load_model(make_tiny_grid_model(tmp_path / "grid"), dtype=DType.NATIVE, threads=1)
    plain, normed = random_slim(model, rank=40), noise(7, model.config.hidden, scale=1.0)
    packed = SlimHead.from_state(model.decoder, plain.state())
    exact = plain.logits(normed)
    for rows in (1, 3, 7):
        close = packed.logits(normed[:rows])
        torch.testing.assert_close(close, exact[:rows], atol=0.02 * float(exact.abs().max()), rtol=0)
        assert not torch.equal(close, exact[:rows])
    assert all(torch.equal(packed.state()[name], weight) for name, weight in plain.state().items())
