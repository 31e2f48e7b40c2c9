"""Runs over token trees: greedy to the letter without exits, honest with them (`docs/rules.md`)."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import numpy as np
import pytest

import core.tree_pass
from core.choices import DType, KVPolicy, Mapping, Policy, Record
from core.config import CANDIDATES, TreeSettings
from core.decoding import Decoding, RunRequest
from core.engine import Engine
from core.errors import UserError
from core.model.loading import LoadedModel, load_model
from core.trace.events import (
    EndReason,
    ExitReason,
    KVUpdated,
    ScheduleChosen,
    TokenEmitted,
    TreeAccepted,
    TreeDrafted,
    TreeLayerRun,
    TreeVerified,
    WalkEnd,
)
from core.trace.trace import Trace
from tests.engines import DEPTH, PROMPT, ids, of_type, parts_that_always_propose, run
from tests.tiny import make_tiny_model
from tests.trees import Foresight

SMALL = TreeSettings("3-2-1")
DYNAMIC = TreeSettings("dynamic", nodes=9, depth=4, expand=3)
LONG = 200


@pytest.fixture(autouse=True)
def foresight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny random drafter is never right; this one is at times."""
    monkeypatch.setattr(core.tree_pass, "TreeDrafter", Foresight)


def taus(trace: Trace) -> list[int]:
    return [event.acceptance_length for event in of_type(trace, TreeAccepted)]


@pytest.mark.parametrize(
    ("family", "tree"),
    [(family, dataclasses.replace(DYNAMIC, ngrams=True)) for family in ("llama", "mistral", "qwen2", "qwen3")]
    + [("llama", SMALL)],  # the slowest of all tests, and the families differ in nothing that a shape could touch
    ids=lambda one: getattr(one, "shape", one),
)
def test_that_without_exits_a_long_run_emits_the_greedy_tokens(tmp_path: Path, family: str, tree: TreeSettings) -> None:
    window = {"sliding_window": 11} if family == "mistral" else {}
    model = load_model(
        make_tiny_model(tmp_path, family, depth=DEPTH, context=300, **window), dtype=DType.FLOAT32, threads=1
    )
    engine = Engine(model, parts_that_always_propose(model))
    plain = run(engine, policy=Policy.DENSE, max_new_tokens=LONG)
    trees = run(engine, policy=Policy.DENSE, max_new_tokens=LONG, tree=tree)
    assert len(ids(trees)) == LONG or trees.ended.reason is EndReason.END_OF_TEXT
    assert ids(trees) == ids(plain)
    assert max(taus(trees)) > 2, "the run has accepted nothing, and so proves nothing"


def test_that_a_threshold_of_one_leaves_greedy_tokens(eager: Engine) -> None:
    plain = run(eager, policy=Policy.DENSE)
    assert ids(run(eager, threshold=1.0, tree=SMALL)) == ids(plain)


def test_that_a_pass_is_told_from_its_tree_to_its_tokens(eager: Engine) -> None:
    trace = run(eager, tree=SMALL)
    told = [event for event in trace.events[1:-1] if getattr(event, "token", 0) > 0]
    for drafted in of_type(trace, TreeDrafted):
        own = told[told.index(drafted) :]
        kinds = [type(event) for event in own]
        accepted = own[kinds.index(TreeAccepted)]
        layers = [event for event in own[: kinds.index(TreeAccepted)] if isinstance(event, TreeLayerRun)]
        assert kinds[1] is ScheduleChosen
        assert [event.layer for event in layers] == list(range(accepted.exit_layer))
        after = kinds[kinds.index(TreeAccepted) + 1 :][: 2 * accepted.acceptance_length]
        assert after == [KVUpdated, TokenEmitted] * accepted.acceptance_length


def test_that_a_pass_emits_its_accepted_nodes_and_then_the_bonus(eager: Engine) -> None:
    trace = run(eager, tree=SMALL)
    text = ids(trace)
    for drafted, accepted in zip(of_type(trace, TreeDrafted), of_type(trace, TreeAccepted), strict=True):
        first, last = accepted.token, accepted.token + accepted.acceptance_length
        assert drafted.node_ids[0] == text[first - 1]
        assert text[first:last] == [*drafted.node_ids[accepted.accepted].tolist(), accepted.bonus_id]
        assert drafted.parents[accepted.accepted].tolist() == [0, *accepted.accepted[:-1]][: len(accepted.accepted)]


@pytest.mark.parametrize("mapping", Mapping)
def test_that_an_exit_is_verified_and_its_tokens_are_candidates(eager: Engine, mapping: Mapping) -> None:
    trace = run(eager, tree=dataclasses.replace(SMALL, mapping=mapping), max_new_tokens=60)
    early = [tree for tree in passes(trace) if tree.accepted.exit_layer < DEPTH]
    assert early, "nothing left early"
    for tree in early:
        assert tree.verified[tree.accepted.exit_layer - 1].end is WalkEnd.VERIFIED
        steps = tree.nodes_by_token
        emitted = [*tree.drafted.node_ids[steps[1:]], tree.accepted.bonus_id]
        for node, token_id in zip(steps, emitted, strict=True):
            assert token_id in tree.drafted.candidate_ids[node]


def test_that_a_pass_goes_on_after_a_refused_walk(eager: Engine) -> None:
    for tree in passes(run(eager, tree=SMALL)):
        refused = [layer for layer, check in tree.verified.items() if not check.accepted]
        assert all(layer + 1 in tree.layers for layer in refused)


def passes(trace: Trace) -> list:
    """The trees of a run, one a pass."""
    return [record.tree for record in trace.emitted if record.tree and record.tree.drafted.token == record.token]


def test_that_every_token_of_a_pass_enters_the_ring_with_its_exit_layer(eager: Engine) -> None:
    trace = run(eager, policy=Policy.SPECEE_T1T2, tree=SMALL, max_new_tokens=60)
    layers = trace.exit_layers - 1
    for chosen in of_type(trace, ScheduleChosen):
        before = range(max(1, chosen.token - 5), chosen.token)
        assert chosen.ring_tokens.tolist() == list(before)
        assert chosen.ring_layers.tolist() == layers[before].tolist()


def test_that_each_kept_position_is_told_with_the_token_that_follows_it(eager: Engine, tiny: LoadedModel) -> None:
    trace = run(eager, tree=SMALL, max_new_tokens=60)
    updates, prompt = of_type(trace, KVUpdated), len(trace.started.prompt_ids)
    assert [update.position for update in updates] == [prompt + n for n in range(len(updates))]
    assert [update.token for update in updates] == list(range(1, 1 + len(updates)))
    assert [update.skipped_from for update in updates] == trace.exit_layers[1:].tolist()


@pytest.mark.parametrize("most", [1, 2, 3, 7, 8])
def test_that_the_token_limit_cuts_the_last_pass(eager: Engine, most: int) -> None:
    whole, cut = (run(eager, tree=SMALL, policy=Policy.DENSE, max_new_tokens=limit) for limit in (12, most))
    assert ids(cut) == ids(whole)[:most]
    assert sum(taus(cut)) == most - 1
    assert cut.ended.reason is EndReason.MAX_NEW_TOKENS


def test_that_a_stop_string_cuts_the_pass_that_completes_it(eager: Engine) -> None:
    whole = run(eager, tree=SMALL, policy=Policy.DENSE, max_new_tokens=40)
    for record in whole.emitted[1:]:
        stop = record.emitted.token_bytes.decode("latin-1")
        if not stop.isascii() or record.emitted.special:
            continue
        cut = run(eager, tree=SMALL, policy=Policy.DENSE, max_new_tokens=40, stop=(stop,))
        end = next(n for n in range(1, 41) if stop.encode() in b"".join(text_of(whole)[:n]))
        assert ids(cut) == ids(whole)[:end]
        assert cut.ended.reason is EndReason.STOP_STRING
        return
    pytest.fail("no token of the run can serve as a stop string")


def text_of(trace: Trace) -> list[bytes]:
    return [b"" if r.emitted.special else r.emitted.token_bytes for r in trace.emitted if r.emitted]


def test_that_an_end_of_text_inside_a_pass_ends_it_there(
    eager: Engine, tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ids(run(eager, tree=SMALL, policy=Policy.DENSE, max_new_tokens=40))
    end = next(token for token in whole[3:] if token not in whole[:3])
    monkeypatch.setattr(tiny.tokenizer, "end_ids", frozenset({end}))
    cut = run(eager, tree=SMALL, policy=Policy.DENSE, max_new_tokens=40)
    assert ids(cut) == whole[: whole.index(end) + 1]
    assert cut.ended.reason is EndReason.END_OF_TEXT


@pytest.mark.parametrize("policy", [Policy.DENSE, Policy.SPECEE_T1])
def test_that_a_tree_shrinks_to_what_is_left_of_the_context(tmp_path: Path, policy: Policy) -> None:
    model = load_model(make_tiny_model(tmp_path, depth=DEPTH, context=40), dtype=DType.FLOAT32, threads=1)
    engine = Engine(model, parts_that_always_propose(model))
    trees = run(engine, "a", policy=policy, max_new_tokens=100, tree=DYNAMIC, chat_template=False)
    assert trees.ended.reason is EndReason.CONTEXT_FULL
    assert len(ids(trees)) == 41 - len(trees.started.prompt_ids)
    if policy is Policy.DENSE:
        plain = run(engine, "a", policy=policy, max_new_tokens=100, chat_template=False)
        assert ids(trees) == ids(plain)


@pytest.mark.parametrize("kind", [TreeDrafted, TreeLayerRun, TreeAccepted])
def test_that_stop_acts_before_another_layer_is_run(eager: Engine, kind: type) -> None:
    stop, told = threading.Event(), []
    settings = run(eager, tree=SMALL, max_new_tokens=2).started.settings
    for event in eager.run(RunRequest(PROMPT, dataclasses.replace(settings, max_new_tokens=40)), stop):
        told.append(event)
        if isinstance(event, kind):
            stop.set()
    at = next(place for place, event in enumerate(told) if isinstance(event, kind))
    assert told[-1].reason is EndReason.STOPPED
    assert not any(isinstance(event, TreeLayerRun) for event in told[at + 1 :])


@pytest.mark.parametrize("kv_policy", KVPolicy)
@pytest.mark.parametrize("tree", [SMALL, dataclasses.replace(DYNAMIC, mapping=Mapping.MEAN)], ids=lambda t: t.shape)
def test_that_audit_changes_no_token_no_exit_and_no_score(
    eager: Engine, kv_policy: KVPolicy, tree: TreeSettings
) -> None:
    asked = {"policy": Policy.SPECEE_T1T2, "tree": tree, "kv_policy": kv_policy, "max_new_tokens": 50}
    live, audit = run(eager, **asked), run(eager, **asked, record=Record.AUDIT)
    assert ids(live) == ids(audit)
    assert live.exit_layers.tolist() == audit.exit_layers.tolist()
    assert (live.exit_layers[1:] < DEPTH).any()
    for one, other in zip(of_type(live, TreeLayerRun), of_type(audit, TreeLayerRun), strict=True):
        np.testing.assert_array_equal(one.path_scores, other.path_scores)


def test_that_an_audited_token_says_at_its_exit_layer_what_was_emitted(eager: Engine) -> None:
    trace = run(eager, tree=SMALL, record=Record.AUDIT, max_new_tokens=40)
    for record in trace.emitted[1:]:
        assert record.audit.token_ids[record.emitted.exit_layer - 1] == record.emitted.token_id
        assert record.audit.candidate_logits.shape == (DEPTH, CANDIDATES)


def test_that_without_exits_an_audit_agrees_with_every_token(eager: Engine) -> None:
    trace = run(eager, tree=SMALL, policy=Policy.DENSE, record=Record.AUDIT, max_new_tokens=40)
    assert [r.audit.full_depth_id for r in trace.emitted[1:]] == ids(trace)[1:]


@pytest.mark.parametrize("kv_policy", [KVPolicy.RECOMPUTE, KVPolicy.PROPAGATE])
def test_that_a_run_with_exits_leaves_an_entry_for_every_position(eager: Engine, kv_policy: KVPolicy) -> None:
    context, trace = finished(eager, kv_policy)
    context.flush()
    assert (trace.exit_layers < DEPTH).any()
    assert context.cache.present[:, : context.length].all()
    assert not context.cache.present[:, context.length :].any()


def test_that_recompute_owes_a_full_depth_pass_nothing(eager: Engine, tiny: LoadedModel) -> None:
    import torch

    context, trace = finished(eager, KVPolicy.RECOMPUTE)
    with torch.inference_mode():
        context.flush()
        fed = torch.tensor([*trace.started.prompt_ids, *ids(trace)[:-1]])
        expected = tiny.decoder.new_cache(len(fed))
        tiny.decoder.forward(fed, 0, expected)
    for ours, theirs in ((context.cache.keys, expected.keys), (context.cache.values, expected.values)):
        torch.testing.assert_close(ours[:, :, : len(fed)], theirs, atol=1e-4, rtol=1e-4)


def finished(engine: Engine, kv_policy: KVPolicy) -> tuple:
    """A run's context at its end, and its trace."""
    import time

    import torch

    settings = run(engine, tree=SMALL, kv_policy=kv_policy, max_new_tokens=2).started.settings
    request = RunRequest(PROMPT, dataclasses.replace(settings, max_new_tokens=50))
    with torch.inference_mode():
        decoding = Decoding(engine.model, engine.parts, request, threading.Event(), time.perf_counter)
        return decoding.context, Trace.of(decoding.events())


def test_that_only_the_first_token_of_a_pass_carries_its_times(eager: Engine) -> None:
    trace = run(eager, tree=SMALL, policy=Policy.DENSE, max_new_tokens=40)
    firsts = {tree.drafted.token for tree in passes(trace)}
    for record in trace.emitted[1:]:
        assert (record.emitted.times.layers > 0) == (record.token in firsts)


def test_that_an_exit_is_told_as_verified_and_the_rest_as_the_last_layer(eager: Engine) -> None:
    for record in run(eager, tree=SMALL, max_new_tokens=40).emitted[1:]:
        early = record.emitted.exit_layer < DEPTH
        assert record.emitted.reason is (ExitReason.VERIFIED if early else ExitReason.LAST_LAYER)


def test_that_a_check_is_told_with_every_node_it_stepped_on(eager: Engine) -> None:
    for check in of_type(run(eager, tree=SMALL), TreeVerified):
        assert len(check.walk) == len(check.argmax_ids) == len(check.argmax_bytes) == len(check.margins)
        assert check.walk[0] == 0


def test_that_trees_without_a_drafter_say_how_to_make_one(tiny: LoadedModel) -> None:
    with pytest.raises(UserError, match="needs a drafter trained for"):
        run(Engine(tiny), policy=Policy.DENSE, tree=SMALL)


def test_that_a_drafter_for_another_model_is_refused(eager: Engine) -> None:
    others = dataclasses.replace(eager.parts, fingerprint="other")
    with pytest.raises(UserError, match="belong to another model"):
        run(Engine(eager.model, others), tree=SMALL)


@pytest.mark.parametrize("values", [{"policy": Policy.CALM}, {"policy": Policy.ORACLE}])
def test_that_a_policy_without_trees_is_refused(eager: Engine, values: dict) -> None:
    with pytest.raises(UserError, match="cannot decode token trees"):
        run(eager, tree=SMALL, **values)
