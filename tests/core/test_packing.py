"""Events that were packed come back the same, whatever they are; bytes that were not are refused and take no memory."""

from __future__ import annotations

import dataclasses
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trace import codec, packing
from core.trace.events import EndReason, Event, RunEnded, TokenEmitted
from core.trace.fields import KINDS
from core.trace.packing import BadStretch, Layout, current, pack, unpack
from tests.core.any_events import ANY_EVENT, events_of, same_events
from tests.fakes import fake_run_events


def of_run(event: Event, run: int = 7) -> Event:
    return dataclasses.replace(event, run=run)


@pytest.mark.parametrize("name", list(KINDS))
@settings(max_examples=15)
@given(data=st.data())
def test_that_events_of_each_kind_come_back_field_by_field(name: str, data: st.DataObject) -> None:
    events = [of_run(event) for event in data.draw(st.lists(events_of(name), min_size=1, max_size=4))]
    assert same_events(unpack(pack(events), current(), 7), events)


@settings(max_examples=25)
@given(st.lists(ANY_EVENT, max_size=12))
def test_that_kinds_that_are_mixed_keep_their_order(events: list[Event]) -> None:
    told = [of_run(event) for event in events]
    assert same_events(unpack(pack(told), current(), 7), told)


def test_that_events_take_the_number_of_the_run_that_they_are_read_for() -> None:
    assert [event.run for event in unpack(pack(fake_run_events(3)), current(), 5)] == [5] * len(fake_run_events(3))


def test_that_the_layout_is_kept_as_text() -> None:
    assert Layout.from_json(current().to_json()) == current()


def test_that_a_field_that_came_later_takes_its_default_where_it_is_missing() -> None:
    name = "Verified"
    kinds = tuple((kind, tuple(f for f in fields if f != "gated")) for kind, fields in current().kinds)
    events = [event for event in fake_run_events(4) if type(event).__name__ == name]
    assert events
    number = list(KINDS).index(name)
    parts = [codec.number(len(events)), bytes([number] * len(events))]
    for field in packing.fields_of(KINDS[name]):
        column = field.pack([field.of(event) for event in events])
        parts += [codec.number(len(column)), column] if field.path != "gated" else []
    assert same_events(unpack(zlib.compress(b"".join(parts)), Layout(kinds), 0), events)


def test_that_a_field_without_a_default_may_not_be_missing() -> None:
    layout = Layout(tuple((name, fields[1:]) for name, fields in current().kinds))
    with pytest.raises(BadStretch):
        unpack(pack([RunEnded(0, EndReason.STOPPED, "")]), layout, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]x",
        "3",
        "[[1]]",
        json.dumps([["Invented", ["token"]]]),
        json.dumps([["RunEnded", ["reason", "mood"]]]),
        json.dumps([["RunEnded", ["reason"]]] * 300),
        json.dumps([["RunEnded", ["reason"]]] * 2),
        json.dumps([["RunEnded", ["reason", "reason"]]]),
        "[" * 3000,
    ],
)
def test_that_a_list_of_events_that_is_damaged_or_newer_is_refused(text: str) -> None:
    with pytest.raises(BadStretch):
        Layout.from_json(text)


@given(st.binary(max_size=60))
def test_that_no_bytes_raise_anything_else(data: bytes) -> None:
    for stretch in (data, zlib.compress(data), zlib.compress(codec.number(2) + b"\x00\x05" + data)):
        try:
            events = unpack(stretch, current(), 0)
        except BadStretch:
            continue
        assert events == []  # a zero byte, packed, is a stretch of none


@given(st.data())
def test_that_a_flipped_byte_is_refused_or_changes_values_only(data: st.DataObject) -> None:
    packed = bytearray(zlib.decompress(pack(fake_run_events(3, audit=True)[2:])))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        unpack(zlib.compress(bytes(packed), 0), current(), 0)
    except BadStretch:
        return


def test_that_a_stretch_that_unpacks_to_gigabytes_is_refused() -> None:
    bomb = zlib.compress(bytes(2**25))
    assert len(bomb) < 2**16
    with pytest.raises(BadStretch, match="too many"):
        unpack(bomb, current(), 0)


def test_that_a_series_longer_than_any_array_is_refused_before_it_is_made() -> None:
    emitted = next(event for event in fake_run_events(3) if isinstance(event, TokenEmitted))
    packed = zlib.decompress(pack([emitted]))
    count = codec.number(1)
    assert packed.startswith(count)
    many = codec.number(2**40) + packed[len(count) :]
    with pytest.raises(BadStretch):
        unpack(zlib.compress(many), current(), 0)
    with pytest.raises(codec.BadColumn):
        codec.Reader(codec.whole([0, 1, 2])).column(2**40)
