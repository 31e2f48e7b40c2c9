"""The exit lens changes what is read from a layer, and nothing of what later layers are made from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.choices import KVPolicy, Lens, Policy, Record
from core.engine import Engine
from core.errors import UserError
from core.exits.lens import ExitLens, Readout
from core.model.loading import LoadedModel
from tests.engines import DEPTH, ids, run
from tests.pieces import noise, random_lens, with_pieces, zero_lens

RANKS = (None, 3)
TUNED = {"lens": Lens.TUNED, "record": Record.AUDIT, "max_new_tokens": 24}


@pytest.mark.parametrize("rank", RANKS)
def test_that_a_lens_adds_its_correction_to_a_state(tiny: LoadedModel, rank: int | None) -> None:
    lens, h = random_lens(tiny, rank), noise(2, tiny.config.hidden, scale=1.0)
    a = lens.full[3] if rank is None else lens.up[3] @ lens.down[3]
    torch.testing.assert_close(lens(3, h), h + h @ a.T + lens.bias[3])
    assert (lens.layers, lens.rank) == (DEPTH - 1, rank)


@pytest.mark.parametrize("rank", RANKS)
def test_that_all_layers_at_once_are_read_as_each_of_them(tiny: LoadedModel, rank: int | None) -> None:
    readout = Readout(tiny.decoder, random_lens(tiny, rank))
    states = list(noise(DEPTH, tiny.config.hidden, scale=1.0))
    each = [readout.normed(layer, state) for layer, state in enumerate(states)]
    torch.testing.assert_close(readout.every(states), torch.stack(each), atol=1e-5, rtol=1e-5)


def test_that_the_last_layer_has_no_lens(tiny: LoadedModel) -> None:
    h = noise(tiny.config.hidden)
    assert torch.equal(Readout(tiny.decoder, random_lens(tiny)).normed(DEPTH - 1, h), tiny.decoder.norm(h))


@pytest.mark.parametrize(
    ("policy", "rank"),
    [
        (Policy.SPECEE_T1, 3),
        (Policy.SPECEE_T1T2, None),
        (Policy.CALM, None),
        (Policy.FIXED, None),
        (Policy.ORACLE, None),
    ],
)
def test_that_a_lens_of_zeros_is_no_lens(eager: Engine, policy: Policy, rank: int | None) -> None:
    asked = {"policy": policy, "max_new_tokens": 16, "fixed_layer": 2, "threshold": 0.02, "record": Record.AUDIT}
    zeros = with_pieces(eager, lens=zero_lens(eager.model, rank))
    plain, lensed = run(eager, **asked), run(zeros, **asked, lens=Lens.TUNED)
    assert ids(lensed) == ids(plain)
    np.testing.assert_array_equal(lensed.exit_layers, plain.exit_layers)
    for one, other in zip(lensed.records[1:], plain.records[1:], strict=True):
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_array_equal(one.audit.token_ids, other.audit.token_ids)


@pytest.mark.parametrize("kv_policy", KVPolicy)
@pytest.mark.parametrize("policy", [Policy.SPECEE_T1, Policy.CALM])
def test_that_audit_is_neutral_and_sees_what_the_policy_saw_through_the_lens(
    eager: Engine, policy: Policy, kv_policy: KVPolicy
) -> None:
    lensed = with_pieces(eager, lens=random_lens(eager.model))
    asked = {**TUNED, "policy": policy, "kv_policy": kv_policy, "threshold": 0.03}
    live, audit = run(lensed, **{**asked, "record": Record.LIVE}), run(lensed, **asked)
    assert ids(audit) == ids(live)
    np.testing.assert_array_equal(audit.exit_layers, live.exit_layers)
    assert (audit.exit_layers < DEPTH).any()
    for record in audit.emitted[1:]:
        at = record.emitted.exit_layer - 1
        assert record.audit.token_ids[at] == record.emitted.token_id
        judged = np.flatnonzero(record.evaluated)
        if policy.needs_parts:
            np.testing.assert_allclose(record.audit.candidate_logits[judged], record.features[judged, :4], atol=1e-4)
        for layer, check in record.verified.items():
            assert record.audit.margins[layer] == pytest.approx(check.margin, abs=1e-5)


def test_that_a_lens_leaves_keys_and_values_and_full_depth_tokens_as_they_are(eager: Engine) -> None:
    """Nothing may exit, so that all a lens could change is what the layers are made from."""
    lensed = with_pieces(eager, lens=random_lens(eager.model))
    plain, seen = (
        run(eager, threshold=1.0, record=Record.AUDIT),
        run(lensed, **TUNED | {"max_new_tokens": 24}, threshold=1.0),
    )
    assert ids(seen) == ids(plain)
    differs = False
    for one, other in zip(seen.records[1:], plain.records[1:], strict=True):
        assert one.audit.full_depth_id == other.audit.full_depth_id
        differs |= bool((one.audit.token_ids != other.audit.token_ids).any())
    assert differs


def test_that_the_drafter_goes_on_from_what_the_head_saw(eager: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an exit its input is norm(lens(h)), the state that gave the emitted token (`docs/rules.md`)."""
    from core.drafting.chain import ChainDrafter

    model, seen, propose = eager.model, [], ChainDrafter.propose

    def spy(self: ChainDrafter, newest: torch.Tensor, feature: torch.Tensor, k: int) -> object:
        seen.append((int(newest), feature))
        return propose(self, newest, feature, k)

    monkeypatch.setattr(ChainDrafter, "propose", spy)
    trace = run(with_pieces(eager, lens=random_lens(model)), lens=Lens.TUNED)
    early = {r.emitted.token_id for r in trace.emitted[1:] if r.emitted.exit_layer < DEPTH}
    assert early
    for newest, feature in seen:
        assert model.decoder.logits(feature[None])[0].argmax() == newest


def test_that_predictors_made_for_the_lens_judge_what_it_shows(eager: Engine) -> None:
    """The plain ones always propose; these never do."""
    lensed = with_pieces(eager, lens=random_lens(eager.model))
    quiet = type(eager.parts.predictors)({**eager.parts.predictors.arrays(), "b2": np.full(DEPTH - 1, -20, np.float32)})
    lensed = Engine(eager.model, replace(lensed.parts, lens_predictors=quiet))
    assert run(lensed).records[1].proposed.any()
    assert not run(lensed, lens=Lens.TUNED).records[1].proposed.any()


def test_that_a_run_without_the_lens_it_asks_for_is_refused(eager: Engine, tiny: LoadedModel) -> None:
    with pytest.raises(
        UserError, match=r"tuned lens needs an exit lens trained for tiny\d*; make it with .*--stage lens"
    ):
        run(eager, lens=Lens.TUNED)
    with pytest.raises(UserError, match="choose the lens identity"):
        run(Engine(tiny), policy=Policy.CALM, lens=Lens.TUNED)


@pytest.mark.parametrize("rank", RANKS)
def test_that_a_lens_comes_back_from_its_state(tiny: LoadedModel, rank: int | None) -> None:
    lens, h = random_lens(tiny, rank), noise(tiny.config.hidden)
    back = ExitLens.from_state(tiny.decoder, {name: one.half().float() for name, one in lens.state().items()})
    torch.testing.assert_close(back(1, h), lens(1, h), atol=1e-2, rtol=0)


@pytest.mark.parametrize("rank", RANKS)
def test_that_a_lens_of_another_model_is_refused(tiny: LoadedModel, rank: int | None) -> None:
    state = random_lens(tiny, rank).state()
    for name, weight in state.items():
        with pytest.raises(UserError, match="exit lens"):
            ExitLens.from_state(tiny.decoder, {**state, name: weight[:-1]})
        with pytest.raises(UserError, match=r"exit lens lacks its weight|does not fit"):
            ExitLens.from_state(tiny.decoder, {key: one for key, one in state.items() if key != name})
