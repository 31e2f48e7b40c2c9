"""A run written as JSON Lines comes back as the same events."""

from __future__ import annotations

import dataclasses
import io
import json
import threading
from typing import Any

import numpy as np
import pytest

from core.choices import Policy, Record
from core.config import RunSettings, SchedulerSettings
from core.engine import Engine, RunRequest
from core.errors import UserError
from core.trace.events import Event, Verified
from core.trace.jsonl import read_events, write_events
from core.trace.trace import Trace


def written(events: list[Event]) -> str:
    lines = io.StringIO()
    list(write_events(lines, events))
    return lines.getvalue()


@pytest.fixture(scope="module")
def run_events(eager: Engine) -> list[Event]:
    settings = RunSettings(
        Policy.SPECEE_T1T2, max_new_tokens=12, record=Record.AUDIT, scheduler=SchedulerSettings(offline_layers=2)
    )
    return list(eager.run(RunRequest("the lazy dog", settings), threading.Event()))


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        )
    if isinstance(one, float) and one != one:
        return bool(other != other)
    return bool(one == other)


def test_that_every_event_comes_back_field_by_field(run_events: list[Event]) -> None:
    back = list(read_events(written(run_events).splitlines()))
    assert [type(e) for e in back] == [type(e) for e in run_events]
    for ours, theirs in zip(run_events, back, strict=True):
        for field in dataclasses.fields(ours):
            assert same(getattr(ours, field.name), getattr(theirs, field.name)), (type(ours), field.name)


def test_that_a_replayed_trace_holds_the_same_records(run_events: list[Event]) -> None:
    live, replayed = Trace.of(run_events), Trace.of(read_events(written(run_events).splitlines()))
    assert replayed.text_bytes == live.text_bytes
    np.testing.assert_array_equal(replayed.exit_layers, live.exit_layers)
    for one, other in zip(live.records, replayed.records, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        np.testing.assert_array_equal(one.features, other.features)


def test_that_events_are_handed_on_as_they_are_written(run_events: list[Event]) -> None:
    assert list(write_events(io.StringIO(), run_events)) == run_events


def test_that_every_line_is_plain_json(run_events: list[Event]) -> None:
    for line in written(run_events).splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_that_a_file_from_before_the_margin_gate_still_loads(run_events: list[Event]) -> None:
    lines = written(run_events).splitlines()
    older = [json.loads(line) for line in lines]
    checks = [values for values in older if values.get("event") == "Verified"]
    assert checks
    for values in checks:
        del values["gated"]
    back = list(read_events([json.dumps(values) for values in older]))
    assert not any(event.gated for event in back if isinstance(event, Verified))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "holds no events of specee-viewer"),
        (["not json"], "holds no events of specee-viewer"),
        (['{"format": "other"}'], "holds no events of specee-viewer"),
        (['{"format": "specee-viewer events", "version": 99}'], "version 99, and this specee-viewer reads 1"),
    ],
)
def test_that_a_foreign_or_newer_file_is_refused(lines: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        list(read_events(lines))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "3",
        '{"event": "Nonsense"}',
        '{"event": "RunEnded", "run": 0}',
        '{"event": "RunEnded", "run": 0, "reason": "bored", "detail": ""}',
        '{"event": "RunEnded", "run": "x", "reason": "stopped", "detail": ""}',
        '{"event": "PrefillAdvanced", "run": 0, "done": 1, "total": 2, "seconds": 1' + "0" * 400 + "}",
        '{"event": "KVUpdated", "run": 0, "token": 1, "position": 2, "skipped_from": 3, "recomputed": [1e999]}',
        "[" * 5000,
    ],
)
def test_that_a_damaged_line_is_named_by_its_number(run_events: list[Event], line: str) -> None:
    header = written(run_events).splitlines()[0]
    with pytest.raises(UserError, match="Line 2 is no event"):
        list(read_events([header, line]))
