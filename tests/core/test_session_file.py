"""A session file gives back the runs that were written into it, each token only once it is looked at."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.analysis import summaries
from core.choices import Policy, Record
from core.config import RunSettings, SchedulerSettings
from core.engine import Engine, RunRequest
from core.errors import UserError
from core.trace import database, packing, stored_trace
from core.trace.database import open_to_read
from core.trace.events import EndReason, Event, KVUpdated, LayerRun, RunEnded, TokenEmitted
from core.trace.marks import Mark
from core.trace.overview import NUMBERS
from core.trace.saving import MemoryRun, StoredRun, save_session
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from core.trace.stored_trace import StoredTrace
from core.trace.trace import TokenRecord, Trace
from tests.core.any_events import same, same_events
from tests.core.sessions import WEIGHTS, left_open, written
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace


def live() -> list[Event]:
    return fake_run_events(12)


def audited() -> list[Event]:
    return fake_run_events(12, audit=True)


def dense() -> list[Event]:
    return fake_run_events(5, settings=RunSettings(Policy.DENSE, record=Record.AUDIT))


def trees() -> list[Event]:
    return [*tree_trace(TreePlan(), TreePlan(refused=(18,))).events, RunEnded(0, EndReason.END_OF_TEXT, "")]


def stopped_in_a_token() -> list[Event]:
    events = fake_run_events(6)
    last = max(at for at, event in enumerate(events) if isinstance(event, LayerRun))
    return [*events[:last], RunEnded(0, EndReason.STOPPED, "Stopped.")]


def told_late() -> list[Event]:
    """K/V that is told after the token left, of a token in the middle and of the last."""
    events = live()
    late = [event for event in events if isinstance(event, KVUpdated) and event.token in (3, 11)]
    kept = [event for event in events if event not in late]
    after = next(at for at, event in enumerate(kept) if isinstance(event, TokenEmitted) and event.token == 3)
    return [*kept[: after + 1], late[0], *kept[after + 1 : -1], late[1], kept[-1]]


RUNS = [live, audited, dense, trees, stopped_in_a_token, told_late]


def stored(path: Path, events: list[Event]) -> StoredTrace:
    return SessionFile(written(path, events)).trace(0)


def same_record(one: TokenRecord, other: TokenRecord) -> bool:
    names = ("token", "depth", "layers_run", "features", "scores", "proposed", "kv", "emitted", "draft", "schedule")
    trees = (one.tree.layers, one.tree.accepted) if one.tree else None
    others = (other.tree.layers.keys(), other.tree.accepted) if other.tree else None
    return (
        all(same(getattr(one, name), getattr(other, name)) for name in names)
        and one.verified.keys() == other.verified.keys()
        and (trees is None) == (others is None)
        and (trees is None or others is None or (trees[0].keys() == others[0] and same(trees[1], others[1])))
    )


@pytest.mark.parametrize("run", RUNS)
def test_that_replay_gives_the_very_events_that_were_recorded(run: Any, tmp_path: Path) -> None:
    events = run()
    assert same_events(list(stored(tmp_path / "s.specee", events).events), events)


@pytest.mark.parametrize("run", RUNS)
def test_that_the_records_are_those_of_the_run_in_memory(run: Any, tmp_path: Path) -> None:
    memory, trace = Trace.of(run()), stored(tmp_path / "s.specee", run())
    assert len(trace.records) == len(memory.records)
    for token in reversed(range(len(memory.records))):
        assert same_record(trace.records[token], memory.records[token]), token
    assert [record.token for record in trace.emitted] == [record.token for record in memory.emitted]
    assert trace.records[-1].token == len(memory.records) - 1


@pytest.mark.parametrize("run", RUNS)
def test_that_the_columns_are_those_of_the_run_in_memory(run: Any, tmp_path: Path) -> None:
    memory, trace = Trace.of(run()), stored(tmp_path / "s.specee", run())
    ours, theirs = trace.overview, memory.overview
    assert ours.texts == theirs.texts
    for name in NUMBERS:
        np.testing.assert_array_equal(ours.numbers(name), theirs.numbers(name), err_msg=name)
    np.testing.assert_array_equal(ours.states, theirs.states)
    assert (trace.depth, trace.emitted_count, trace.text_bytes) == (
        memory.depth,
        memory.emitted_count,
        memory.text_bytes,
    )
    assert same(trace.started, memory.started)
    assert same(trace.prefill, memory.prefill)
    assert same(trace.ended, memory.ended)


@pytest.mark.parametrize("run", RUNS)
def test_that_the_summaries_are_those_of_the_run_in_memory(run: Any, tmp_path: Path) -> None:
    memory, trace = Trace.of(run()), stored(tmp_path / "s.specee", run())
    for summary in (
        summaries.mean_exit_layer,
        summaries.agreement,
        summaries.active_layers_mean,
        summaries.tokens_per_second,
    ):
        assert summary(trace) == pytest.approx(summary(memory))
    assert summaries.token_chips(trace, 2).texts == summaries.token_chips(memory, 2).texts
    for first in (0, 3):
        ours, theirs = summaries.scheduler_map(trace, first), summaries.scheduler_map(memory, first)
        np.testing.assert_array_equal(ours.states, theirs.states)
        np.testing.assert_array_equal(summaries.outcomes(trace, first), summaries.outcomes(memory, first))


def test_that_a_run_of_a_real_engine_comes_back(eager: Engine, tmp_path: Path) -> None:
    few = SchedulerSettings(offline_layers=2)
    settings = RunSettings(max_new_tokens=12, record=Record.AUDIT, scheduler=few)
    events = list(eager.run(RunRequest("the lazy dog", settings), threading.Event()))
    assert same_events(list(stored(tmp_path / "s.specee", events).events), events)


def test_that_an_overview_unpacks_no_token_and_a_token_only_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = written(tmp_path / "s.specee", fake_run_events(60, audit=True)), []
    monkeypatch.setattr(stored_trace, "unpack", lambda *given: seen.append(1) or packing.unpack(*given))
    trace = SessionFile(path).trace(0)
    summaries.token_chips(trace)
    summaries.exit_series(trace)
    summaries.scheduler_map(trace)
    summaries.agreement(trace)
    assert not seen
    assert trace.records[40].audit is not None
    assert trace.records[40].draft is not None
    assert len(seen) == 1


def test_that_records_that_were_long_not_looked_at_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_trace, "KEPT", 8)
    trace = stored(tmp_path / "s.specee", fake_run_events(40))
    first = trace.records[5]
    assert trace.records[5] is first
    assert [record.token for record in trace.records] == list(range(40))
    assert trace.records[5] is not first


def test_that_a_session_holds_many_runs_by_number(tmp_path: Path) -> None:
    runs = [fake_run_events(3 + number, run=number, prompt=f"prompt {number}") for number in range(4)]
    file = SessionFile(written(tmp_path / "s.specee", *runs))
    assert [(run.number, run.tokens, run.started.prompt) for run in file.runs] == [
        (number, 3 + number, f"prompt {number}") for number in range(4)
    ]
    assert all(run.complete and run.began and run.uid for run in file.runs)
    assert len({run.uid for run in file.runs}) == 4
    for number, events in enumerate(runs):
        assert same_events(list(file.trace(number).events), events)


def test_that_a_run_that_was_cut_off_says_so_and_keeps_every_whole_token(tmp_path: Path) -> None:
    events = live()
    cut = next(at for at, event in enumerate(events) if isinstance(event, TokenEmitted) and event.token == 7)
    file = SessionFile(left_open(tmp_path / "s.specee", events[: cut + 4]))
    (run,) = file.runs
    assert (run.tokens, run.complete, run.ended.reason) == (8, False, EndReason.CUT_OFF)
    assert same_events(list(file.trace(0).events)[:-1], events[: cut + 1])


def test_that_the_weights_of_predictors_are_kept_once(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "s.specee")
    for number, weights in enumerate((WEIGHTS, WEIGHTS, None)):
        for event in fake_run_events(2, run=number):
            writer.take(event, weights)
    writer.close()
    file = SessionFile(tmp_path / "s.specee")
    found = file.weights(1)
    assert found is not None
    assert found.keys() == WEIGHTS.keys()
    for name, array in WEIGHTS.items():
        np.testing.assert_array_equal(found[name], array)
    assert file.weights(2) is None
    assert file.rows("SELECT count(*) FROM predictors") == [(1,)]


@pytest.mark.parametrize("what", ["another session", "text", "nothing"])
def test_that_a_file_that_is_written_over_in_place_is_not_read_for_the_one_it_was(tmp_path: Path, what: str) -> None:
    """Its new runs may have the numbers of the old ones, and would be shown in their place."""
    path = written(tmp_path / "s.specee", fake_run_events(300), fake_run_events(9, run=1))
    other = written(tmp_path / "o.specee", fake_run_events(310), fake_run_events(9, run=1))
    file, told = SessionFile(path), []
    trace = file.trace(0, told.append)
    assert trace.records[2].draft is not None
    path.write_bytes({"another session": other.read_bytes(), "text": b"text " * 9000, "nothing": b""}[what])
    assert trace.records[200].draft is None
    assert [str(error) for error in told] == [
        f"{path} was replaced by another program while it was open; open it again."
    ]
    with pytest.raises(UserError, match="was replaced by another program"):
        file.trace(1)


def test_that_a_file_that_is_written_over_with_more_than_it_held_is_read_on(tmp_path: Path) -> None:
    file = SessionFile(written(tmp_path / "s.specee", fake_run_events(300), fake_run_events(9, run=1)))
    trace = file.trace(0)
    more = [StoredRun(file, 1), StoredRun(file, 0), MemoryRun(Trace.of(fake_run_events(5, run=2)))]
    save_session(tmp_path / "more.specee", more)
    file.path.write_bytes((tmp_path / "more.specee").read_bytes())
    assert same_events(list(trace.events), fake_run_events(300))


def test_that_a_file_that_is_written_over_during_a_look_is_read_on_where_it_has_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = SessionFile(written(tmp_path / "s.specee", fake_run_events(9)))
    old = file._database

    class WrittenOver:
        """A connection in the middle of whose query the file becomes another one."""

        close = old.close

        def execute(self, query: str, values: tuple[object, ...]) -> None:
            os.utime(file.path, ns=(0, 0))
            raise sqlite3.DatabaseError("malformed")

    monkeypatch.setattr(file, "_database", WrittenOver())
    assert file.rows("SELECT run FROM runs") == [(0,)]
    file.close()


def test_that_a_file_that_is_recorded_into_is_not_opened_again_for_each_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded goes on into the file itself now and then, which changes it."""
    events, opened = fake_run_events(12, run=1), []
    writer = SessionWriter(tmp_path / "s.specee")
    for event in fake_run_events(9):
        writer.take(event)
    file = SessionFile(writer.path)
    monkeypatch.setattr(database, "open_to_read", lambda path: opened.append(1) or open_to_read(path))
    os.utime(writer.path, ns=(0, 0))  # as though that had just happened
    for event in events:
        writer.take(event)
        if isinstance(event, TokenEmitted):
            file.rows("SELECT run FROM runs")
    assert len(opened) == 1
    assert same_events(list(file.trace(0).events), fake_run_events(9))
    file.close()
    writer.close()


def test_that_marks_are_set_changed_and_taken_away(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "s.specee")
    marks = [Mark(0), Mark(0, 3), Mark(0, 3, 5, "why?"), Mark(1, 2)]
    for mark in marks:
        writer.put_mark(mark)
    writer.put_mark(Mark(0, 3, None, "because"))
    writer.remove_mark(Mark(1, 2))
    writer.close()
    assert SessionFile(tmp_path / "s.specee").marks() == [Mark(0), Mark(0, 3, None, "because"), Mark(0, 3, 5, "why?")]


def test_that_a_file_at_rest_stands_alone_in_its_folder(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", live())
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["s.specee"]
    assert path.read_bytes()[18:20] == b"\x01\x01", "in no need of files beside it"


@pytest.mark.parametrize(("audit", "most"), [(False, 2048), (True, 8192)])
@pytest.mark.parametrize("policy", [Policy.SPECEE_T1T2, Policy.SPECEE_T1])
def test_that_a_token_of_thirty_layers_takes_few_kilobytes(
    audit: bool, most: int, policy: Policy, tmp_path: Path
) -> None:
    settings = RunSettings(policy)
    sizes = [
        written(tmp_path / f"{tokens}.specee", fake_run_events(tokens, 30, settings=settings, audit=audit))
        .stat()
        .st_size
        for tokens in (20, 80)
    ]
    assert (sizes[1] - sizes[0]) / 60 <= most
