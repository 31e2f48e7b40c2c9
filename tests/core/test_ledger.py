"""The ledger: every class by a token made for it, and what holds of any recorded run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from core.analysis.columns import columns_of
from core.analysis.ledger import LABELS, MEANINGS, Entry, Ledger, blame, extended, ledger, what_is_missing
from core.analysis.what_if import Redecider
from core.choices import Policy, Record
from core.config import SchedulerSettings
from core.exits.stability import first_stable
from core.trace.events import Audited, Event, ScheduleChosen
from core.trace.trace import Trace
from tests.core.handmade import (
    DEPTH,
    audited,
    draft,
    emitted,
    layers_up_to,
    schedule,
    started,
    trace_of,
    verified,
)
from tests.core.recordings import Recorder, audit_settings
from tests.tree_passes import TreePlan, tree_trace

GATE = 0.3
"""Above the margin of 0.25 that every layer of `handmade.audited` has."""


def full_depth(final: str, stable: int, scores: dict[int, float] | None = None, **engine: float) -> list[Event]:
    """Token 1 at full depth, predictors active at layers 14 and 20; every layer says `final` from `stable` on."""
    said = {int(layer[1:]): score for layer, score in engine.items()}
    spoken = dict.fromkeys(range(DEPTH - 1), 0.1) | (scores or {}) | said
    return [
        *[draft(1), schedule(1, [14, 20]), *layers_up_to(1, DEPTH, {14: 0.1, 20: 0.1} | said)],
        *[audited(1, (stable, " it"), (DEPTH, final), scores=spoken), emitted(1, final)],
    ]


def of_one(events: list[Event], *, gate: float = 0.0, policy: Policy = Policy.SPECEE_T1T2) -> Ledger:
    """The ledger of a run whose second token these events are of."""
    opening = started(policy)
    opening = dataclasses.replace(opening, settings=dataclasses.replace(opening.settings, gate=gate))
    return ledger(trace_of(opening, emitted(0, " the"), *events))


@pytest.mark.parametrize(
    ("entry", "lost", "events", "gate"),
    [
        (Entry.NOTHING_TO_GAIN, 0, full_depth(" red", DEPTH - 1), 0),
        (Entry.MISSED_BY_DRAFTER, 10, full_depth(" green", 19), 0),
        (Entry.MISSED_BY_SCORE, 10, full_depth(" red", 19), 0),
        (Entry.MISSED_BY_SCORE, 10, full_depth(" red", 19, {18: 0.9}), 0),
        (Entry.MISSED_BY_SCHEDULE, 10, full_depth(" red", 19, {25: 0.9}), 0),
        (Entry.MISSED_BY_GATE, 10, full_depth(" red", 19, {25: 0.9}), GATE),
        (Entry.MISSED_BY_GATE, 10, [*full_depth(" red", 19, _20=0.9), verified(1, 20, " red", 0)], GATE),
        (Entry.MISSED_BY_SCHEDULE, 12, [*full_depth(" red", 17, {25: 0.9}, _14=0.9), verified(1, 14, " it", -1)], 0),
    ],
)
def test_that_a_token_at_full_depth_is_blamed_on_what_kept_it(
    entry: Entry, lost: int, events: list[Event], gate: float
) -> None:
    found = of_one(events, gate=gate)
    assert found.entries.tolist() == [Entry.NONE, entry]
    assert found.lost.tolist() == [0, lost]
    assert found.saved.tolist() == [0, 0]


@pytest.mark.parametrize(("final", "entry", "lost"), [(" red", Entry.RIGHT_EXIT, 4), (" so", Entry.WRONG_EXIT, 0)])
def test_that_an_early_exit_is_right_or_wrong_and_saves_layers(final: str, entry: Entry, lost: int) -> None:
    found = of_one(
        [
            *[draft(1), schedule(1, [14, 20]), *layers_up_to(1, 21, {14: 0.9, 20: 0.9})],
            *[verified(1, 14, " it", -1), verified(1, 20, " red", 0)],
            *[audited(1, (16, " it"), (25, " red"), (DEPTH, final)), emitted(1, " red", 21)],
        ]
    )
    assert found.tokens(entry).tolist() == [1]
    assert found.saved.tolist() == [0, 9]
    assert found.lost.tolist() == [0, lost]
    assert found.refusals.tolist() == [0, 1]


def test_that_a_policy_without_candidates_is_blamed_by_where_its_rule_looked() -> None:
    looked = [*layers_up_to(1, DEPTH, {22: 0.1}), audited(1, (19, " it"), (DEPTH, " red")), emitted(1, " red")]
    blind = [*layers_up_to(1, DEPTH), audited(1, (19, " it"), (DEPTH, " red")), emitted(1, " red")]
    assert of_one(looked, policy=Policy.CALM).entries[1] == Entry.MISSED_BY_SCORE
    assert of_one(blind, policy=Policy.DENSE).entries[1] == Entry.MISSED_BY_SCHEDULE


def test_that_a_trees_refusals_count_once_and_its_tokens_by_themselves() -> None:
    trace = tree_trace(TreePlan(exit_layer=DEPTH, refused=(14, 22)))
    for token in range(1, 5):
        text = trace.records[token].emitted.token_bytes.decode()
        trace.append(audited(token, (20, " it"), (DEPTH, text)))
    found = ledger(trace)
    assert found.refusals.tolist() == [0, 2, 0, 0, 0]
    assert found.entries.tolist()[1:] == [Entry.MISSED_BY_SCHEDULE] * 4
    assert found.lost.tolist() == [0, 9, 9, 9, 9]


def test_that_the_ledger_of_a_run_adds_up(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    found = ledger(trace)
    assert found.told == trace.emitted_count - 1
    assert sum(row.count for row in found.rows) == found.told
    early = trace.exit_layers < trace.depth
    assert set(found.tokens(Entry.RIGHT_EXIT)) | set(found.tokens(Entry.WRONG_EXIT)) == set(np.flatnonzero(early))
    assert sum(row.saved for row in found.rows) == int((trace.depth - trace.exit_layers).sum())
    assert len({row.entry for row in found.rows if row.count}) > 3, (
        "the recording should have tokens of several classes"
    )


def test_that_a_later_part_of_the_ledger_is_the_tail_of_the_whole(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    whole, tail = ledger(trace), ledger(trace, 9)
    for name in ("entries", "saved", "lost", "refusals", "gated"):
        np.testing.assert_array_equal(getattr(tail, name), getattr(whole, name)[9:])
    assert tail.tokens(Entry.NOTHING_TO_GAIN).tolist() == [
        token for token in whole.tokens(Entry.NOTHING_TO_GAIN) if token >= 9
    ]


def test_that_a_ledger_of_portions_is_the_ledger_of_the_whole(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    whole, grown = ledger(trace), ledger(trace, 0, 12)
    for first, last in ((12, 20), (15, 22), (22, None)):  # the second looks at some tokens again
        grown = extended(grown, ledger(trace, first, last))
    for name in ("entries", "saved", "lost", "refusals", "gated"):
        np.testing.assert_array_equal(getattr(grown, name), getattr(whole, name))
    with pytest.raises(ValueError, match="do not meet"):
        extended(ledger(trace, 0, 5), ledger(trace, 6))


def test_that_a_token_missed_by_schedule_leaves_right_where_the_silent_predictor_is_asked(recorder: Recorder) -> None:
    blind = audit_settings(scheduler=SchedulerSettings(window=1, radius=0, offline_layers=0))
    asked = dataclasses.replace(blind, scheduler=SchedulerSettings(window=1, radius=0, offline_layers=1))
    trace = recorder.run(blind)
    missed = ledger(trace).tokens(Entry.MISSED_BY_SCHEDULE).tolist()
    assert missed
    for audit in (trace.records[token].audit for token in missed):
        fires = audit.scores > blind.threshold
        layer = int(np.flatnonzero(fires & (np.arange(trace.depth) >= first_stable(audit.token_ids)))[0])
        decided = Redecider(columns_of(trace), recorder.parts.predictors, np.array([layer])).decide(asked)
        assert decided.exit_layers[audit.token] == layer + 1
        assert not decided.wrong[audit.token]


def test_that_a_run_without_an_audit_says_what_is_missing(recorder: Recorder) -> None:
    live, audit = recorder.run(audit_settings(record=Record.LIVE)), recorder.run(audit_settings())
    assert "audit" in what_is_missing(live)
    assert what_is_missing(audit) == ""
    assert ledger(live).told == 0
    assert "second token" in what_is_missing(Trace())


def test_that_blame_names_the_part_that_cost_the_most_layers() -> None:
    assert blame(of_one(full_depth(" green", 19))) == (
        "The <b>drafter</b> cost the most: <b>10</b> layers of the <b>10</b> that were missed, at <b>1</b> token."
    )
    assert blame(of_one(full_depth(" red", DEPTH - 1))) == ""


def test_that_every_class_has_a_label_and_a_meaning() -> None:
    assert set(LABELS) == set(MEANINGS) == set(Entry) - {Entry.NONE}


def test_that_without_recorded_scores_an_inactive_stable_layer_is_the_schedules_fault() -> None:
    events = full_depth(" red", 22)
    silent = [
        dataclasses.replace(e, scores=np.full(DEPTH, np.nan, np.float32)) if isinstance(e, Audited) else e
        for e in events
    ]
    assert of_one(silent).entries[1] == Entry.MISSED_BY_SCHEDULE
    every = [schedule(1, every=True) if isinstance(e, ScheduleChosen) else e for e in silent]
    assert of_one(every).entries[1] == Entry.MISSED_BY_SCORE
