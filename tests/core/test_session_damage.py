"""Whatever is wrong with a session file, reading it ends in one sentence, and nothing in it is run."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.errors import UserError
from core.trace import database, packing
from core.trace.events import Event, LayerRun, RunStarted, TokenEmitted
from core.trace.jsonl import dumps
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from tests.core.children import as_nobody, in_child, open_folder, with_small_files
from tests.core.sessions import WEIGHTS, left_open, written
from tests.fakes import fake_run_events

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489") + bytes(200)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "s.specee", fake_run_events(8, audit=True))


def read_all(path: Path) -> None:
    """Look at everything that there is."""
    with contextlib.closing(SessionFile(path)) as file:
        file.marks()
        for run in file.runs:
            trace = file.trace(run.number)
            assert [record.token for record in trace.records] == list(range(len(trace.records)))
            assert list(trace.events)
            file.weights(run.number)


def change(path: Path, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(statement, values)


def refused(path: Path, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        read_all(path)
    assert str(caught.value).count(". ") == 0, "one sentence"


# What is no session file


@pytest.mark.parametrize("content", [b"", b"x", PNG, b"{}\n" * 90, random.Random(1).randbytes(5000)])
def test_that_another_kind_of_file_is_told_from_a_session(tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "other.specee"
    other.write_bytes(content)
    refused(other, "is no session of specee-viewer; choose a .specee file")


def test_that_another_programs_database_is_told_from_a_session(tmp_path: Path) -> None:
    change(tmp_path / "other.db", "CREATE TABLE runs(run)")
    refused(tmp_path / "other.db", "is a database of another program")


def test_that_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere.specee", "There is no file")
    refused(tmp_path, "is a folder; choose a .specee file in it")


def test_that_a_newer_form_is_named_with_both_numbers(path: Path) -> None:
    change(path, f"PRAGMA user_version={database.SCHEMA + 6}")
    refused(path, rf"newer specee-viewer \(its form is {database.SCHEMA + 6}, this program reads {database.SCHEMA}\)")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER more AFTER INSERT ON marks BEGIN DELETE FROM runs; END",
        "ALTER TABLE marks ADD COLUMN extra GENERATED ALWAYS AS (zeroblob(1000000000))",
        "DROP TABLE marks",
        "CREATE INDEX more ON marks(hex(note))",
    ],
)
def test_that_a_database_that_could_run_something_is_not_read(path: Path, statement: str) -> None:
    change(path, statement)
    refused(path, "is damaged")


# Files that were cut or overwritten


@pytest.mark.parametrize("share", [0.002, 0.1, 0.5, 0.9, 0.999])
def test_that_a_truncated_file_is_refused(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    refused(path, "was cut short|is no session")


@pytest.mark.parametrize("seed", range(12))
def test_that_overwritten_bytes_end_in_a_sentence_or_in_a_sound_file(path: Path, seed: int) -> None:
    chance, data = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 200)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    with contextlib.suppress(UserError):
        read_all(path)


# Values that cannot be


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE tokens SET token = 1000000000000 WHERE token = 3", "not in order"),
        ("DELETE FROM tokens WHERE token = 3", "not in order"),
        ("UPDATE tokens SET exit_layer = 13 WHERE token = 3", "a layer that the model does not have"),
        ("UPDATE tokens SET exit_layer = 0 WHERE token = 3", "a layer that the model does not have"),
        ("UPDATE tokens SET exit_layer = 'deep' WHERE token = 3", "exit_layer is no number"),
        ("UPDATE tokens SET exit_layer = 3.5 WHERE token = 3", "exit_layer is no number"),
        ("UPDATE tokens SET token_id = -7 WHERE token = 3", "none of the model's vocabulary"),
        ("UPDATE tokens SET token_id = 1000000000000 WHERE token = 3", "none of the model's vocabulary"),
        ("UPDATE tokens SET text = 'text' WHERE token = 3", "not in order"),
        ("UPDATE tokens SET reason = 'bored' WHERE token = 3", "for no known reason"),
        ("UPDATE tokens SET states = zeroblob(13) WHERE token = 3", "not one a layer"),
        ("UPDATE tokens SET seconds = 9e999 WHERE token = 3", "cannot be"),
        ("UPDATE tokens SET refusals = -1 WHERE token = 3", "cannot be"),
        ("UPDATE tokens SET first = 5 WHERE token = 3", "passes that cannot be"),
        ("UPDATE tokens SET first = 0 WHERE token = 3", "passes that cannot be"),
        ("UPDATE stretches SET events = zeroblob(40) WHERE place = 3", "do not unpack"),
        ("UPDATE stretches SET events = substr(events, 1, 60) WHERE place = 3", "end too soon"),
        ("DELETE FROM stretches WHERE place = 3", "events are missing"),
        ("UPDATE stretches SET events = 'text' WHERE place = 3", "is damaged"),
        ("UPDATE runs SET run = -4", "a run has the number -4"),
        ("UPDATE runs SET run = 4294967296", "a run has the number"),
        ("UPDATE runs SET started = '{}'", "is damaged"),
        ("UPDATE runs SET started = ended", "no RunStarted"),
        ("UPDATE runs SET started = 7", "is damaged"),
        ("UPDATE runs SET prefill = started", "no PrefillAdvanced"),
        ("UPDATE runs SET ended = 'over'", "is damaged"),
        ("UPDATE runs SET layout = 9", "is damaged"),
        ("UPDATE runs SET in_flight = 1", "events are missing"),
        ("UPDATE layouts SET kinds = '[]'", "no known kind"),
        ('UPDATE layouts SET kinds = \'[["LayerRun", ["mood"]]]\'', "does not know"),
        ("INSERT INTO marks VALUES('a', 'b', 'c', 'd')", "bookmark"),
        ("INSERT INTO marks VALUES(0, -9, 0, '')", "bookmark"),
    ],
)
def test_that_a_value_that_cannot_be_is_named(path: Path, statement: str, sentence: str) -> None:
    change(path, statement)
    refused(path, sentence)


@pytest.mark.parametrize(("field", "value"), [("depth", 10**9), ("depth", 0), ("vocabulary", 0), ("context", -1)])
def test_that_a_model_that_cannot_be_is_refused(path: Path, field: str, value: int) -> None:
    started = fake_run_events(2)[0]
    assert isinstance(started, RunStarted)
    changed = replace(started, model=replace(started.model, **{field: value}))  # type: ignore[arg-type]
    change(path, "UPDATE runs SET started = ?", dumps(changed))
    refused(path, f"model's {field} is {value}")


def swapped(path: Path, token: int, changed: Event) -> None:
    """Put an event into a token's stretch in the place of its first one of the kind."""
    events = [event for event in fake_run_events(8, audit=True) if getattr(event, "token", None) == token]
    at = next(at for at, event in enumerate(events) if type(event) is type(changed))
    events[at] = changed
    change(path, "UPDATE stretches SET events = ? WHERE place = ?", packing.pack(events), token)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"layer": 12}, "layer is 12, which is not between 0 and 11"),
        ({"layer": -1}, "layer is -1"),
        ({"token": 10**12}, "events are missing|token is"),
        ({"features": np.zeros((2, 6), np.float32)}, "features are no list"),
        ({"features": np.zeros(5, np.float32)}, "features are"),
    ],
)
def test_that_an_event_out_of_range_inside_a_token_is_named(
    path: Path, fields: dict[str, object], sentence: str
) -> None:
    event = LayerRun(0, 3, 0, np.zeros(12, np.float32), 0.5, False)
    swapped(path, 3, replace(event, **fields))  # type: ignore[arg-type]
    refused(path, sentence)


def test_that_damaged_weights_are_refused_and_the_run_still_opens(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "s.specee")
    for event in fake_run_events(3):
        writer.take(event, WEIGHTS)
    writer.close()
    change(writer.path, "UPDATE predictors SET arrays = zeroblob(9)")
    file = SessionFile(writer.path)
    assert file.trace(0).emitted_count == 3
    with pytest.raises(UserError, match="predictors"):
        file.weights(0)


def test_that_a_view_goes_on_beside_a_damaged_token(path: Path) -> None:
    change(path, "UPDATE stretches SET events = zeroblob(40) WHERE place = 3")
    told: list[UserError] = []
    trace = SessionFile(path).trace(0, told.append)
    assert trace.records[2].audit is not None
    bare = trace.records[3]
    assert bare.emitted is not None
    assert (bare.audit, bare.emitted.token_bytes) == (None, trace.overview.texts[3])
    assert trace.records[3] is bare
    assert len(told) == 1, "it is told once, not at every look"


def test_that_many_damaged_tokens_are_told_of_once(path: Path) -> None:
    change(path, "UPDATE stretches SET events = zeroblob(40)")
    told: list[UserError] = []
    assert not any(record.audit for record in SessionFile(path).trace(0, told.append).records)
    assert len(told) == 1


def test_that_a_run_that_was_left_while_it_was_swept_is_not_called_damaged(path: Path) -> None:
    file, told = SessionFile(path), list[UserError]()
    records = file.trace(0, told.append).records
    assert records[0].emitted is not None
    file.close()
    assert not any(record.audit for record in records[1:])
    assert told == []
    with pytest.raises(UserError, match="was closed meanwhile"):
        file.marks()


# Places and disks


def test_that_a_file_at_rest_opens_from_a_folder_that_cannot_be_written() -> None:
    with open_folder() as folder:
        path = written(folder / "s.specee", fake_run_events(5))
        path.chmod(0o444)
        folder.chmod(0o555)
        told = in_child(as_nobody(lambda: f"{len(SessionFile(path).trace(0).records)} tokens"))
        assert [one.name for one in folder.iterdir()] == ["s.specee"]
    assert told == "5 tokens"


def test_that_a_recording_that_was_cut_off_in_such_a_folder_says_what_to_do() -> None:
    with open_folder() as folder:
        path = left_open(folder / "s.specee", fake_run_events(5))
        folder.chmod(0o555)
        told = in_child(as_nobody(lambda: str(len(SessionFile(path).runs))))
    assert "copy it, with s.specee-wal, into a folder of yours" in told


def test_that_a_full_disk_ends_the_recording_with_a_sentence_and_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "s.specee"

    def record() -> str:
        writer = SessionWriter(path)
        for event in fake_run_events(400):
            writer.take(event)
        return "it fitted"

    assert "the disk is full or failing; free some space" in in_child(with_small_files(record, 400_000))
    (run,) = SessionFile(path).runs
    assert run.tokens > 10
    read_all(path)


def test_that_no_file_is_made_where_one_is(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(UserError, match="is there already"):
        SessionWriter(path)
    assert path.read_bytes() == before


def test_that_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be used"):
        SessionWriter(tmp_path / "no" / "s.specee")


def test_that_a_reader_beside_a_recording_sees_whole_tokens_and_disturbs_nothing(tmp_path: Path) -> None:
    writer, events = SessionWriter(tmp_path / "s.specee"), fake_run_events(9)
    for event in events:
        writer.take(event)
        if isinstance(event, TokenEmitted) and event.token in (2, 5):
            with contextlib.closing(SessionFile(writer.path)) as file:
                assert [run.tokens for run in file.runs] == [event.token + 1]
                assert len(list(file.trace(0).records)) == event.token + 1
    writer.close()
    assert SessionFile(writer.path).runs[0].complete
