"""What is read of many tokens at once is what their records say, and whatever is unusual is left to the record."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.analysis.columns import AuditColumns, AuditReader, columns_of
from core.analysis.membership import FEW, among
from core.choices import Policy
from core.config import RunSettings
from core.errors import UserError
from core.trace import codec, packing
from core.trace.codec import BadColumn, Reader
from core.trace.events import Audited, Branch, DraftProposed, Event, LayerRun, ScheduleChosen, TokenEmitted, Verified
from core.trace.ragged import Ragged
from core.trace.session_file import SessionFile
from core.trace.stacking import Stack
from core.trace.stored_trace import StoredTrace
from core.trace.trace import Trace
from tests.core.sessions import written
from tests.fakes import fake_run_events

TOKENS, DEPTH = 12, 12
WANTED = {LayerRun: {"layer": None, "score": None, "features": (None,)}, Verified: {"argmax_id": None}}


@contextlib.contextmanager
def stored(path: Path, events: list[Event]) -> Iterator[tuple[StoredTrace, list[UserError]]]:
    """The run as it is read from a file, and what is told of damage."""
    told: list[UserError] = []
    with contextlib.closing(SessionFile(written(path, events))) as file:
        yield file.trace(0, told.append), told


def audited(policy: Policy = Policy.SPECEE_T1T2, tokens: int = TOKENS) -> list[Event]:
    return fake_run_events(tokens, DEPTH, settings=RunSettings(policy=policy), audit=True)


def by_records(trace: StoredTrace) -> AuditColumns:
    """The columns as each token's record gives them."""
    reader = AuditReader(trace)
    reader._sweep = None
    while not reader.is_done:
        reader.advance()
    return reader.columns


def assert_same(one: AuditColumns, other: AuditColumns) -> None:
    for field in dataclasses.fields(AuditColumns):
        values = getattr(one, field.name), getattr(other, field.name)
        if isinstance(values[0], np.ndarray):
            assert values[0].dtype == values[1].dtype
            np.testing.assert_array_equal(*values, field.name)


@pytest.mark.parametrize("policy", [Policy.SPECEE_T1, Policy.SPECEE_T1T2])
def test_that_columns_of_many_tokens_at_once_are_those_of_their_records(tmp_path: Path, policy: Policy) -> None:
    with stored(tmp_path / "s.specee", audited(policy)) as (trace, _):
        found = columns_of(trace)
        assert_same(found, by_records(trace))
        assert found.checked.any()
        assert found.evaluated.any()
        assert found.audited[1:].all()


def test_that_every_token_of_a_sound_run_is_read_with_the_others(tmp_path: Path) -> None:
    with stored(tmp_path / "s.specee", audited()) as (trace, _):
        swept = trace.sweep(WANTED).read(1, TOKENS)
        assert swept.whole.all()
        layers, records = swept.rows[LayerRun], [trace.records[token] for token in range(1, TOKENS)]
        scores = np.full((TOKENS, DEPTH), np.nan, np.float32)
        scores[layers.tokens, layers["layer"]] = layers["score"]
        np.testing.assert_array_equal(scores[1:], np.array([record.scores for record in records]))
        assert layers.fields["features"].present.sum() == sum(int(record.evaluated.sum()) for record in records)


def test_that_a_run_is_gathered_portion_by_portion_and_what_is_gathered_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.analysis.columns.PORTION", 5)
    with stored(tmp_path / "s.specee", audited()) as (trace, _):
        reader, whole = AuditReader(trace), by_records(trace)
        reader.advance()
        early = reader.columns
        assert len(early) == 6
        counts: list[int] = []
        assert_same(columns_of(trace, counts.append), whole)
        assert counts == [6, 11, 12]
        assert_same(early, whole.first(6))


def change(event: Event, **fields: object) -> Event:
    return dataclasses.replace(event, **fields)  # type: ignore[arg-type]


UNUSUAL: dict[str, Callable[[Event], list[Event]]] = {
    "an id beyond the vocabulary": lambda e: [change(e, argmax_id=10**9) if isinstance(e, Verified) else e],
    "a layer too many": lambda e: [change(e, layer=DEPTH) if isinstance(e, LayerRun) and e.layer == 0 else e],
    "an audit of fewer layers": lambda e: [change(e, margins=e.margins[1:]) if isinstance(e, Audited) else e],
    "candidates that no vocabulary has": lambda e: [
        change(e, candidate_ids=-e.candidate_ids) if isinstance(e, DraftProposed) else e
    ],
    "no audit": lambda e: [] if isinstance(e, Audited) else [e],
    "no schedule": lambda e: [] if isinstance(e, ScheduleChosen) else [e],
    "features of another width": lambda e: [
        change(e, features=e.features[1:]) if isinstance(e, LayerRun) and e.features is not None else e
    ],
}


def replace_stretch(path: Path, token: int, packed: bytes) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE stretches SET events = ? WHERE place = ?", (packed, token))


@pytest.mark.parametrize("name", UNUSUAL)
def test_that_what_is_unusual_about_a_token_is_what_its_record_says(tmp_path: Path, name: str) -> None:
    """The seventh token is unlike the others, in a way that some call damage."""
    path, told = written(tmp_path / "s.specee", audited()), (list[UserError](), list[UserError]())
    own = [event for event in audited() if getattr(event, "token", 0) == 6]
    replace_stretch(path, 6, packing.pack([one for event in own for one in UNUSUAL[name](event)]))
    with contextlib.closing(SessionFile(path)) as file:
        assert_same(columns_of(file.trace(0, told[0].append)), by_records(file.trace(0, told[1].append)))
    assert list(map(str, told[0])) == list(map(str, told[1]))


def test_that_a_branch_that_was_given_more_tokens_than_are_read_at_once_has_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.analysis.columns.PORTION", 3)
    opening, *others = audited()
    given = change(opening, branch=Branch(0, 3, 6))
    own = [one for one in others if isinstance(one, TokenEmitted) or getattr(one, "token", 9) not in range(1, 6)]
    with stored(tmp_path / "s.specee", [given, *own]) as (trace, told):
        found = columns_of(trace)
        assert_same(found, by_records(trace))
        assert np.flatnonzero(~found.audited).tolist() == list(range(6))
        assert not told


def test_that_a_stretch_that_cannot_be_unpacked_costs_its_tokens_alone(tmp_path: Path) -> None:
    path, told = written(tmp_path / "s.specee", audited()), list[UserError]()
    replace_stretch(path, 6, bytes(40))
    with contextlib.closing(SessionFile(path)) as file:
        trace = file.trace(0, told.append)
        assert np.flatnonzero(~trace.sweep(WANTED).read(1, TOKENS).whole).tolist() == [4, 5]
        assert np.flatnonzero(~columns_of(trace).audited).tolist() == [0, 6]
    assert len(told) == 1


def test_that_a_run_in_memory_and_one_of_trees_have_their_records_asked(tmp_path: Path) -> None:
    assert Trace.of(audited()).sweep(WANTED) is None
    with stored(tmp_path / "s.specee", audited()) as (trace, _):
        assert trace.sweep({TokenEmitted: {"no such field": None}}) is None


def test_that_a_token_with_candidates_of_another_number_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", audited())
    own = [event for event in audited() if getattr(event, "token", 0) == 6]
    names = ("candidate_logits", "candidate_probabilities")
    fewer = [
        change(e, **{name: getattr(e, name)[:, :1] for name in names}) if isinstance(e, Audited) else e for e in own
    ]
    replace_stretch(path, 6, packing.pack(fewer))
    with (
        contextlib.closing(SessionFile(path)) as file,
        pytest.raises(UserError, match="Token 7 of this recording has 1"),
    ):
        columns_of(file.trace(0))


def test_that_a_run_for_whose_columns_there_is_no_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.analysis.columns.MOST_BYTES", TOKENS * DEPTH * 50)
    with (
        stored(tmp_path / "s.specee", audited()) as (trace, _),
        pytest.raises(UserError, match="12 tokens with 4 cand"),
    ):
        columns_of(trace)


@given(st.integers(0, 3), st.integers(0, 5), st.integers(0, 9), st.integers(0, 2**16))
@settings(max_examples=30)
def test_that_many_candidates_are_asked_as_few_are(rows: int, layers: int, k: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    ids, candidates = chance.integers(0, 12, (rows, layers)), chance.integers(0, 12, (rows, k))
    wide = np.concatenate([candidates, np.full((rows, FEW), -5)], 1)
    np.testing.assert_array_equal(among(ids, candidates), among(ids, wide))
    assert among(ids, wide).tolist() == [[one in row for one in own] for own, row in zip(ids, candidates, strict=True)]


# One field's columns


NUMBERS = st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5)


@settings(max_examples=40)
@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_that_whole_numbers_of_many_columns_are_those_of_each(columns: list[list[int]]) -> None:
    stack = Stack(np.int64, None)
    for place, numbers in enumerate(columns):
        stack.take(place, stack.look(len(numbers), codec.whole(numbers)))
    counts = np.array([len(numbers) for numbers in columns])
    found = stack.values(np.cumsum(counts) - counts, int(counts.sum()))
    assert found.values.tolist() == [number for numbers in columns for number in numbers]


@settings(max_examples=40)
@given(
    st.sampled_from([np.float32, np.int64, np.bool_]),
    st.lists(st.integers(0, 3), min_size=1, max_size=2),
    st.lists(st.lists(st.booleans(), min_size=1, max_size=9), min_size=1, max_size=4),
    st.integers(0, 2**16),
)
def test_that_arrays_of_many_columns_are_those_of_each(
    dtype: type[np.generic], shape: list[int], there: list[list[bool]], seed: int
) -> None:
    chance, stack = np.random.default_rng(seed), Stack(dtype, tuple(None for _ in shape), optional=True)
    made = [[chance.integers(-300, 300, shape).astype(dtype) if one else None for one in flags] for flags in there]
    for place, arrays in enumerate(made):
        stack.take(place, stack.look(len(arrays), codec.arrays(arrays)))
    counts = np.array([len(arrays) for arrays in made])
    found = stack.values(np.cumsum(counts) - counts, int(counts.sum()))
    flat = [array for arrays in made for array in arrays]
    assert found.present.tolist() == [array is not None for array in flat]
    kept = [array for array in flat if array is not None]
    assert len(found.values) == len(kept)
    assert all(np.array_equal(one, array) for one, array in zip(found.values, kept, strict=True))
    assert found.values.dtype == dtype


@pytest.mark.parametrize("stack", [Stack(np.float32, (2,), optional=True), Ragged(np.float32, 1, optional=True)])
def test_that_arrays_beyond_the_last_are_none(stack: Stack | Ragged) -> None:
    """Three arrays, of which the bits say that the first and a fourth are there."""
    made = bytearray(codec.arrays([np.zeros(2, np.float32), None, np.ones(2, np.float32)]))
    assert stack.look(3, bytes(made)).like.present == 2
    made[1] = 0b10010000
    with pytest.raises(BadColumn):
        stack.look(3, bytes(made))


@settings(max_examples=60)
@given(st.binary(max_size=24), st.integers(1, 20), st.sampled_from([np.float32, np.int64, np.bool_]))
def test_that_a_column_is_taken_only_as_the_reader_takes_it(data: bytes, count: int, dtype: type[np.generic]) -> None:
    for shape in (None, (None,)):
        stack, column = Stack(dtype, shape, optional=True), (b"\x06" if shape else b"") + data
        try:
            one = stack.look(count, column)
        except (BadColumn, IndexError):
            continue
        stack.take(0, one)
        found = stack.values(np.zeros(1, np.int64), count)
        wanted = Reader(column).column(count)
        kept = [value for value in wanted if value is not None]
        assert len(found.values) == len(kept)
        for mine, theirs in zip(found.values, kept, strict=True):
            np.testing.assert_array_equal(mine, theirs)
