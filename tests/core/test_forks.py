"""Branches: a fork with nothing changed goes on as its origin did, and one that changes something says what."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import numpy as np
import pytest

import core.tree_pass
from app.figures import Figures
from core.analysis import summaries
from core.analysis.compare import compare, figures_of
from core.analysis.conditions import ExitAtMost
from core.analysis.costs import costs
from core.analysis.forks import Alternative, alternatives, descent, family_order, fork_at
from core.analysis.summaries import first_decided, mean_exit_layer
from core.analysis.why import why_plain
from core.choices import KVPolicy, Policy, Record
from core.config import RunSettings, SamplingSettings, SchedulerSettings, TreeSettings
from core.drafting.tree import DraftTree
from core.engine import Engine, RunRequest
from core.errors import UserError
from core.trace.checking import EventCheck
from core.trace.events import ExitReason, KVUpdated, TokenEmitted
from core.trace.jsonl import dumps, loads
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from core.trace.trace import Trace
from tests.core.any_events import same_events
from tests.core.recordings import Recorder, audit_settings
from tests.engines import DEPTH, PROMPT, ids, of_type, run
from tests.trees import Foresight

TREE = TreeSettings("3-2-1")
T1T2 = {"policy": Policy.SPECEE_T1T2, "scheduler": SchedulerSettings(window=3, radius=1, offline_layers=2)}


def branch(engine: Engine, origin: Trace, token: int, *, text: str = "", **changes: object) -> Trace:
    """What comes of leaving a run at a token, with these settings changed."""
    assert origin.started is not None
    choice = changes.pop("choice", None)
    settings = dataclasses.replace(origin.started.settings, **changes)  # type: ignore[arg-type]
    fork = fork_at(origin, token, settings, choice=choice, text=text)  # type: ignore[arg-type]
    request = RunRequest("another prompt, which is not read", settings, 7, fork)
    trace = Trace.of(engine.run(request, threading.Event()))
    check = EventCheck()
    for event in trace.events:
        check.check(event)
    return trace


def reasons(trace: Trace) -> list[ExitReason]:
    return [event.reason for event in of_type(trace, TokenEmitted)]


def same_decisions(one: Trace, other: Trace, first: int) -> bool:
    """Whether drafts, active sets, scores, checks and K/V of the tokens from `first` on are the same."""
    for a, b in zip(one.records[first:], other.records[first:], strict=True):
        drafts = a.draft is None or np.array_equal(a.draft.candidate_ids, b.draft.candidate_ids)
        rings = a.schedule is None or np.array_equal(a.schedule.ring_layers, b.schedule.ring_layers)
        sets = a.schedule is None or np.array_equal(a.schedule.active, b.schedule.active)
        scores = np.allclose(a.scores, b.scores, atol=1e-5, equal_nan=True)
        caught_up = np.array_equal(a.kv.recomputed, b.kv.recomputed) and a.kv.skipped_from == b.kv.skipped_from
        if not (drafts and rings and sets and scores and caught_up and a.verified.keys() == b.verified.keys()):
            return False
    return True


@pytest.mark.parametrize("kv_policy", KVPolicy)
@pytest.mark.parametrize("token", [0, 1, 11, 30])
def test_that_a_fork_with_nothing_changed_decides_the_rest_as_its_origin_did(
    recorder: Recorder, kv_policy: KVPolicy, token: int
) -> None:
    origin = recorder.run(audit_settings(record=Record.LIVE, kv_policy=kv_policy))
    assert (origin.exit_layers[1:] < DEPTH).any(), "nothing left early, so that nothing was to be restored"
    again = branch(recorder.engine, origin, token)
    assert ids(again) == ids(origin)
    assert again.exit_layers.tolist() == origin.exit_layers.tolist()
    assert reasons(again)[token + 1 :] == reasons(origin)[token + 1 :]
    assert same_decisions(origin, again, token + 1)
    assert again.started.branch.changed == ()


def test_that_predictors_that_tell_layers_apart_see_the_same_after_a_fork(recorder: Recorder) -> None:
    origin = recorder.run(audit_settings())
    again = branch(recorder.engine, origin, 9)
    assert same_decisions(origin, again, 10)
    for one, other in zip(origin.records[10:], again.records[10:], strict=True):
        assert one.audit.token_ids.tolist() == other.audit.token_ids.tolist()


def test_that_given_tokens_are_told_with_their_layers_and_nothing_else(eager: Engine) -> None:
    origin = run(eager, **T1T2, record=Record.AUDIT)
    again = branch(eager, origin, 8)
    assert reasons(again)[:9] == [ExitReason.GIVEN] * 9
    told = [event for event in again.events if getattr(event, "token", 99) < 9]
    assert {type(event) for event in told} == {KVUpdated, TokenEmitted}
    assert [e.skipped_from for e in told if isinstance(e, KVUpdated)] == origin.exit_layers[1:9].tolist()


def test_that_draws_of_the_rest_are_the_origins(eager: Engine) -> None:
    origin = run(eager, sampling=SamplingSettings(temperature=1.0, seed=3))
    assert ids(branch(eager, origin, 6)) == ids(origin)


def test_that_an_exchanged_token_stands_where_it_was_put_and_the_rest_follows_from_it(eager: Engine) -> None:
    origin = run(eager, **T1T2)
    other = next(one for one in alternatives(origin, 5)[1:] if one.token_id != ids(origin)[5])
    other = dataclasses.replace(other, text=eager.model.tokenizer.token_bytes(other.token_id))
    changed = branch(eager, origin, 5, choice=other)
    assert ids(changed)[:6] == [*ids(origin)[:5], other.token_id]
    assert changed.exit_layers[:6].tolist() == origin.exit_layers[:6].tolist()
    assert compare(origin, changed).first_divergence == 5
    assert len(changed.started.branch.changed) == 1
    assert changed.started.branch.changed[0].startswith("token 6 ")
    # What follows is what a run would say whose own past is that: fork the branch once more, after its first own token.
    assert ids(branch(eager, changed, 9)) == ids(changed)


def test_that_typed_text_becomes_the_tokens_that_it_is_made_of(eager: Engine) -> None:
    origin = run(eager)
    typed = branch(eager, origin, 4, text="xyz")
    tokens = eager.model.tokenizer.encode_more("xyz")
    assert len(tokens) > 1, "one token proves little"
    given = 4 + len(tokens)
    assert ids(typed)[4:given] == tokens
    assert typed.exit_layers[5:given].tolist() == [DEPTH] * (len(tokens) - 1)
    assert (typed.started.branch.token, typed.started.branch.given) == (4, given)
    assert first_decided(typed) == given
    assert mean_exit_layer(typed) == pytest.approx(typed.exit_layers[given:].mean())


def test_that_a_changed_setting_holds_from_the_fork_on_and_is_told(eager: Engine) -> None:
    origin = run(eager, **T1T2, threshold=0.5)
    shy = branch(eager, origin, 10, threshold=1.0)
    assert shy.exit_layers[:11].tolist() == origin.exit_layers[:11].tolist()
    assert set(shy.exit_layers[11:].tolist()) == {DEPTH}
    assert shy.started.branch.changed == ("threshold 0.5 → 1",)


def test_that_a_dense_run_can_be_left_with_predictors(eager: Engine) -> None:
    origin = run(eager, policy=Policy.DENSE)
    early = branch(eager, origin, 5, policy=Policy.SPECEE_T1)
    assert early.records[6].draft is not None
    # The same as a run that had its past from the first token on.
    fresh = branch(eager, origin, 0, policy=Policy.SPECEE_T1, threshold=1.0)
    assert fresh.records[6].draft.candidate_ids.tolist() == early.records[6].draft.candidate_ids.tolist()


class Settled(Foresight):
    """Foresees the same at the same place of a text, whatever was foreseen before."""

    def grow(self, *arguments: object, **named: object) -> DraftTree:
        self._luck = np.random.default_rng(len(self._text))
        return super().grow(*arguments, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("kv_policy", KVPolicy)
def test_that_a_tree_forked_between_two_passes_goes_on_as_its_origin_did(
    eager: Engine, kv_policy: KVPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.tree_pass, "TreeDrafter", Settled)
    origin = run(eager, **T1T2, tree=TREE, kv_policy=kv_policy, max_new_tokens=40)
    passes = origin.overview.passes
    assert (origin.exit_layers[1:20] < DEPTH).any(), "nothing left early, so that nothing was to be restored"
    ends = [int(first) - 1 for first in np.unique(passes) if 3 < first < 30 and passes[first - 1] < first - 1]
    assert ends, "no pass emitted several tokens"
    again = branch(eager, origin, ends[0])
    assert ids(again) == ids(origin)
    assert again.exit_layers.tolist() == origin.exit_layers.tolist()
    assert again.overview.passes[ends[0] + 1 :].tolist() == passes[ends[0] + 1 :].tolist()


def test_that_a_tree_left_amid_a_pass_keeps_greedy_tokens_without_exits(
    eager: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.tree_pass, "TreeDrafter", Settled)
    origin = run(eager, policy=Policy.DENSE, tree=TREE)
    amid = int(np.flatnonzero(origin.overview.passes[1:] != np.arange(1, origin.emitted_count))[0])
    assert ids(branch(eager, origin, amid)) == ids(origin)


def test_that_what_cannot_be_branched_off_is_refused_with_a_sentence(eager: Engine) -> None:
    origin = run(eager)
    settings = origin.started.settings
    with pytest.raises(UserError, match=r"no token 25"):
        fork_at(origin, 24, settings)
    with pytest.raises(UserError, match=r"24 tokens and the run may have 24; raise"):
        branch(eager, origin, 23)
    foreign = dataclasses.replace(origin.started, model=dataclasses.replace(origin.started.model, fingerprint="f"))
    with pytest.raises(UserError, match=r"another model than"):
        branch(eager, Trace.of([foreign, *origin.events[1:]]), 3)


def test_that_a_files_tokens_beyond_the_vocabulary_are_refused(eager: Engine) -> None:
    origin = run(eager)
    fork = dataclasses.replace(fork_at(origin, 3, RunSettings()), token_ids=np.array([1, 2, 3, 10**6]))
    with pytest.raises(UserError, match=r"does not fit"):
        next(eager.run(RunRequest(PROMPT, origin.started.settings, 1, fork), threading.Event()))


def test_that_alternatives_are_the_token_first_and_each_once(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    found = alternatives(trace, 5)
    assert found[0] == Alternative(ids(trace)[5], trace.overview.texts[5], False, "as it was")
    drafted, said = trace.records[5].draft.candidate_ids.tolist(), trace.records[5].audit.token_ids.tolist()
    assert {one.token_id for one in found} == {ids(trace)[5], *drafted, *said}
    assert len(found) == len({one.token_id for one in found})


def test_that_a_branch_is_read_back_from_a_line_and_an_older_line_has_none(eager: Engine) -> None:
    started = branch(eager, run(eager), 4, text="xyz", threshold=0.25).started
    assert loads(dumps(started)).branch == started.branch
    values = json.loads(dumps(started))
    del values["branch"]
    assert loads(json.dumps(values)).branch is None


def test_that_branches_come_right_after_their_origin_whatever_a_file_says_of_it() -> None:
    assert family_order({0: None, 1: None, 2: 0, 3: 2, 4: 0}) == [(0, 0), (2, 1), (3, 2), (4, 1), (1, 0)]
    assert family_order({5: 5, 6: 9, 7: 8, 8: 7}) == [(5, 0), (6, 0), (7, 0), (8, 1)]


def test_that_a_descent_ends_where_a_file_names_no_earlier_origin() -> None:
    assert descent({0: None, 1: None, 2: 0, 3: 2}, 3) == [0, 2, 3]
    assert descent({5: 5, 6: 9, 7: 8, 8: 7}, 8) == [7, 8]


def test_that_the_why_of_a_given_token_names_the_run_that_tells_it(eager: Engine) -> None:
    origin = run(eager)
    changed = branch(eager, origin, 4, text="xyz")
    assert "belongs to run 1, which this run leaves at token 5" in why_plain(changed, 2, None)
    assert "Here this run leaves run 1; changed: token 5" in why_plain(changed, 4, None)
    assert "was typed where this run leaves run 1" in why_plain(changed, 5, 1)


def test_that_given_tokens_are_no_decisions_to_count_or_to_stop_at(recorder: Recorder) -> None:
    origin = recorder.run(audit_settings())
    at = int(np.flatnonzero(origin.overview.refusals)[0])
    again = branch(recorder.engine, origin, at)
    assert [kind == summaries.Outcome.GIVEN for kind in summaries.outcomes(again)] == [
        n <= at for n in range(again.emitted_count)
    ]
    assert [summaries.outcome(record) for record in again.emitted] == summaries.outcomes(again).tolist()
    low = ExitAtMost(DEPTH)
    assert low.found(again, 0, again.emitted_count).tolist() == [n > at for n in range(again.emitted_count)]
    assert not costs(again).spent[: at + 1].any()
    figures = Figures()
    figures.update(again, 0)
    for name in ("mean_exit_layer", "agreement", "active_layers_mean"):
        assert getattr(figures, name) == pytest.approx(getattr(summaries, name)(again))
    assert figures_of(again).refusals == pytest.approx(again.overview.refusals.sum() / (again.emitted_count - at - 1))


def test_that_a_session_file_keeps_a_branch_with_its_origin(eager: Engine, tmp_path: Path) -> None:
    origin = run(eager)
    changed = branch(eager, origin, 4, text="xyz")
    writer = SessionWriter(tmp_path / "two.specee")
    for event in (*origin.events, *changed.events):
        writer.take(event)
    writer.close()
    file = SessionFile(tmp_path / "two.specee")
    assert [info.started.branch for info in file.runs] == [None, changed.started.branch]
    assert same_events(list(file.trace(7).events), changed.events)
    again = fork_at(file.trace(7), 9, changed.started.settings)
    assert again.token_ids.tolist() == ids(changed)[:10]
    file.close()
