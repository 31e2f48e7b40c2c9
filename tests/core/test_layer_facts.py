"""What many tokens at once say of layers and costs is what each one's record says, and so is what is made of it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.analysis.calibration import judgements
from core.analysis.closeness import closest
from core.analysis.cost_reading import timings_of
from core.analysis.costs import costs
from core.analysis.layer_facts import facts_of
from core.analysis.ledger import ledger
from core.choices import Mapping, Policy
from core.config import TreeSettings
from core.errors import UserError
from core.trace import packing
from core.trace.events import (
    Audited,
    Event,
    ExitReason,
    KVUpdated,
    RunStarted,
    ScheduleChosen,
    TokenEmitted,
    TreeAccepted,
    TreeDrafted,
    TreeVerified,
    Verified,
    WalkEnd,
)
from core.trace.reading import ReadableTrace
from core.trace.session_file import SessionFile
from core.trace.stored_trace import StoredTrace
from core.trace.veiled import VeiledTrace
from tests.core.handmade import DEPTH, emitted, ended, verified
from tests.core.handmade import audited as said
from tests.core.sessions import written
from tests.core.test_sweep import TOKENS, UNUSUAL, audited, change, replace_stretch
from tests.tree_passes import TreePlan, tree_trace

OF_LAYERS = (lambda trace: facts_of(trace, 0, trace.emitted_count), ledger, judgements)
ANALYSES = (*OF_LAYERS, timings_of, costs)


def near(trace: ReadableTrace) -> list[float]:
    """How close each pass's scores came."""
    tokens = np.arange(trace.emitted_count)
    return closest(trace, 0, len(tokens), trace.overview.passes == tokens).tolist()


class ByRecord(StoredTrace):
    """A stored run that is never read many tokens at once."""

    def sweep(self, _: object) -> None:
        pass


@contextlib.contextmanager
def both(path: Path) -> Iterator[tuple[StoredTrace, StoredTrace, list[UserError]]]:
    """The run of a file as it is read, the same by records alone, and what is told of damage."""
    told: list[UserError] = []
    with contextlib.closing(SessionFile(path)) as file:
        yield file.trace(0, told.append), ByRecord(file, file.runs[0], told.append), told


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    for field in dataclasses.fields(one):
        values = getattr(one, field.name), getattr(other, field.name)
        if isinstance(values[0], np.ndarray):
            assert values[0].dtype == values[1].dtype, field.name
        np.testing.assert_array_equal(*values, field.name)


@pytest.mark.parametrize("policy", [Policy.SPECEE_T1, Policy.SPECEE_T1T2, Policy.CALM])
def test_that_facts_of_many_tokens_at_once_are_those_of_their_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy
) -> None:
    monkeypatch.setattr("core.analysis.layer_facts.PORTION", 5)
    with both(written(tmp_path / "s.specee", audited(policy))) as (trace, slow, _):
        for analysis in ANALYSES:
            assert_same(analysis(trace), analysis(slow))
        assert near(trace) == near(slow)
        assert np.isfinite(near(trace)).any() == (policy is not Policy.CALM)
        facts = facts_of(trace, 0, TOKENS)
        assert facts.audited[1:].all()
        assert facts.refused.any() == (policy is not Policy.CALM)


def test_that_no_record_of_a_sound_run_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with both(written(tmp_path / "s.specee", audited())) as (trace, *_):
        monkeypatch.setattr(trace, "_records", ())
        assert ledger(trace).told == len(judgements(trace).tokens) == TOKENS - 1


UNREAD = "an id beyond the vocabulary"
"""Of what a check found, which no analysis here asks."""


@pytest.mark.parametrize("name", [name for name in UNUSUAL if name != UNREAD])
def test_that_what_is_unusual_about_a_token_is_what_its_record_says(tmp_path: Path, name: str) -> None:
    with both(spoiled(tmp_path / "s.specee", name)) as (trace, slow, _):
        for analysis in OF_LAYERS:
            assert_same(analysis(trace), analysis(slow))


def spoiled(path: Path, name: str) -> Path:
    """A run whose seventh token is unlike the others."""
    own = [event for event in audited() if getattr(event, "token", 0) == 6]
    changed = (UNUSUAL | UNUSUAL_COSTS)[name]
    replace_stretch(written(path, audited()), 6, packing.pack([one for event in own for one in changed(event)]))
    return path


UNUSUAL_COSTS: dict[str, Callable[[Event], list[Event]]] = {
    "no word of keys and values": lambda e: [] if isinstance(e, KVUpdated) else [e],
    "rows that were caught up": lambda e: [
        change(e, recomputed=np.ones((3, 3), np.int64)) if isinstance(e, KVUpdated) else e
    ],
    "a time without end": lambda e: [
        change(e, times=change(e.times, draft=float("inf"))) if isinstance(e, TokenEmitted) else e
    ],
    "a layer checked twice": lambda e: [e, e] if isinstance(e, Verified) else [e],
}


@pytest.mark.parametrize("name", UNUSUAL_COSTS)
def test_that_what_is_unusual_about_a_tokens_costs_is_what_its_record_says(tmp_path: Path, name: str) -> None:
    with both(spoiled(tmp_path / "s.specee", name)) as (trace, slow, _):
        for analysis in (timings_of, costs):
            assert_same(analysis(trace), analysis(slow))


def test_that_damage_in_what_is_not_read_costs_nothing(tmp_path: Path) -> None:
    with both(spoiled(tmp_path / "s.specee", UNREAD)) as (trace, slow, told):
        assert (ledger(trace).told, told) == (TOKENS - 1, [])
        assert (ledger(slow).told, len(told)) == (TOKENS - 2, 1)


def test_that_a_token_that_cannot_be_read_any_more_has_no_class_and_no_scores(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", audited())
    replace_stretch(path, 6, bytes(40))
    with both(path) as (trace, slow, told):
        for analysis in ANALYSES:
            assert_same(analysis(trace), analysis(slow))
        assert np.isnan(judgements(trace).scores[5]).all()
        assert ledger(trace).told == TOKENS - 2
        assert len(told) == 2, "once for each trace"


PLANS = (TreePlan(), TreePlan(refused=(18,), refusal=WalkEnd.GATED), TreePlan(exit_layer=DEPTH, accepted=()))


def trees(merging: Mapping = Mapping.REARMOST) -> list[Event]:
    """Passes over trees, one with a walk that the gate ended, one of which nothing was accepted."""
    found: list[Event] = []
    last = TreePlan(parents=(-1, 0, 0, 1, 1), accepted=(1, 3), refused=(14,))
    plans = [replace(plan, mapping=merging) for plan in (*PLANS, last)]
    for event in tree_trace(*plans).events:
        if isinstance(event, TokenEmitted) and event.token:
            text = event.token_bytes.decode()
            found.append(said(event.token, (14, " it"), (DEPTH, text), scores=dict.fromkeys(range(16, 26), 0.8)))
        found.append(event)
    return [*found, ended()]


def test_that_facts_of_many_trees_at_once_are_those_of_their_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with both(written(tmp_path / "s.specee", trees())) as (trace, slow, _):
        for portion in (3, 512):  # less than a pass emits, and all
            monkeypatch.setattr("core.analysis.layer_facts.PORTION", portion)
            for analysis in ANALYSES:
                assert_same(analysis(trace), analysis(slow))
        assert near(trace) == near(slow)
        assert np.isfinite(near(trace)).sum() == 4, "once a pass"
        monkeypatch.setattr(trace, "_records", ())
        found = facts_of(trace, 0, trace.emitted_count)
        assert found.gated.any()
        assert found.among.any()
        assert found.asked.any()


ODD: dict[str, Callable[[Event], list[Event]]] = {
    "no tree": lambda e: [] if isinstance(e, TreeDrafted) else [e],
    "no end of the tree": lambda e: [] if isinstance(e, TreeAccepted) else [e],
    "a node that the tree lacks": lambda e: [
        change(e, accepted=e.accepted + 100) if isinstance(e, TreeAccepted) else e
    ],
    "a way that is too short": lambda e: [change(e, accepted=e.accepted[:1]) if isinstance(e, TreeAccepted) else e],
    "candidates beyond the vocabulary": lambda e: [
        change(e, candidate_ids=e.candidate_ids + 10**9) if isinstance(e, TreeDrafted) else e
    ],
    "a walk at a layer too many": lambda e: [change(e, layer=DEPTH) if isinstance(e, TreeVerified) else e],
    "no schedule": lambda e: [] if isinstance(e, ScheduleChosen) else [e],
    "no audit": lambda e: [] if isinstance(e, Audited) else [e],
}


@pytest.mark.parametrize("name", ODD)
def test_that_what_is_unusual_about_a_tree_is_what_its_records_say(tmp_path: Path, name: str) -> None:
    first = 1 + len(PLANS[0].accepted) + 1
    path = written(tmp_path / "s.specee", trees())
    own = [event for event in trees() if getattr(event, "token", 0) == first]
    replace_stretch(path, first, packing.pack([one for event in own for one in ODD[name](event)]))
    with both(path) as (trace, slow, _):
        for analysis in OF_LAYERS:
            assert_same(analysis(trace), analysis(slow))


def assert_all_same(path: Path) -> None:
    with both(path) as (trace, slow, told):
        for analysis in ANALYSES:
            assert_same(analysis(trace), analysis(slow))
        assert near(trace) == near(slow)
        assert not told


def test_that_trees_of_which_no_setting_tells_are_read_as_their_records_are(tmp_path: Path) -> None:
    """As another engine may write them."""
    opening, *others = trees()
    assert isinstance(opening, RunStarted)
    silent = change(opening, settings=change(opening.settings, tree=TreeSettings()))
    path = written(tmp_path / "s.specee", [silent, *others])
    assert_all_same(path)
    with both(path) as (trace, *_):
        assert VeiledTrace(trace, 3).sweep({}) is None, "it would tell of a whole pass"


def test_that_checks_of_one_token_amid_trees_cost_what_their_records_say(tmp_path: Path) -> None:
    first = 1 + len(PLANS[0].accepted) + 1
    events = [
        one
        for event in trees()
        for one in ([verified(event.token, 12, "x", -1)] if isinstance(event, Audited) else []) + [event]
    ]
    path = written(tmp_path / "s.specee", events)
    assert_all_same(path)
    with both(path) as (trace, *_):
        assert timings_of(trace).checks[first] == 2, "its tree’s walks alone"


def test_that_a_run_of_trees_that_ended_before_its_first_tree_has_facts(tmp_path: Path) -> None:
    given = [emitted(token, "x", reason=ExitReason.GIVEN) for token in range(1, 4)]
    assert_all_same(written(tmp_path / "s.specee", [*trees()[:3], *given, ended()]))


def test_that_a_run_of_which_a_part_of_a_pass_is_told_has_that_parts_facts(tmp_path: Path) -> None:
    with both(written(tmp_path / "s.specee", trees())) as (trace, *_):
        told = VeiledTrace(trace, 3)
        assert trace.overview.passes[2] == trace.overview.passes[3]
        assert_same(facts_of(told, 0, 3), facts_of(trace, 0, 3))
        assert near(told) == near(trace)[:3]
        np.testing.assert_array_equal(timings_of(told).stages, timings_of(trace).stages[:3])
