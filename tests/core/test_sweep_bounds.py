"""A file may promise as much as it likes: reading many tokens at once takes no more memory than it is allowed."""

from __future__ import annotations

import contextlib
import tracemalloc
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.analysis.layer_facts import facts_of
from core.trace import codec, packing, stored_trace
from core.trace.events import DraftProposed, LayerRun, TokenEmitted, TreeDrafted, TreeVerified
from core.trace.fields import KINDS, fields_of
from core.trace.session_file import SessionFile
from core.trace.sweep import ANY, LARGEST, MOST_MEMORY, PORTION, TOKEN, Sweep, Wanted
from tests.core.sessions import written
from tests.core.test_sweep import TOKENS, audited, replace_stretch
from tests.fakes import fake_model_info

SAME = codec.whole([0])[:-1] + codec.number(0)
"""So many numbers as a column is said to have, all of them 0, in three bytes."""
SERIES = 2**16
Columns = Mapping[type[Any], tuple[int, Mapping[str, bytes]]]
"""By class of events, how many there are, and the columns of some fields; those of all others are empty."""


def stretch(token: int, columns: Columns) -> bytes:
    """Packed as no writer would, and a token's end with it."""
    columns = {TokenEmitted: (1, {}), **columns}
    numbers = {kind: number for number, kind in enumerate(KINDS.values())}
    kinds = sorted(columns, key=numbers.__getitem__)
    order = b"".join(bytes([numbers[kind]]) * columns[kind][0] for kind in kinds)
    parts = [codec.number(len(order)), order]
    for kind in kinds:
        for field in fields_of(kind):
            made = codec.whole([token]) if field.path == TOKEN else columns[kind][1].get(field.path, b"")
            parts += (codec.number(len(made)), made)
    return zlib.compress(b"".join(parts), 1)


def arrays(lengths: bytes, numbers: bytes, count: int = 1) -> bytes:
    """A column of arrays of one axis each."""
    return codec.arrays([])[:1] + b"\xff" * (count // 8) + (b"\x80" if count % 8 else b"") + _ones() + lengths + numbers


def _ones() -> bytes:
    return codec.whole([1])


ZEROS = LARGEST // 8 - 2**10
"""Numbers of 8 bytes of which a stretch may still hold so many; compressed they are next to nothing."""
EVENTS = 2**15
HOSTILE: dict[str, tuple[Wanted, Columns]] = {
    "one long series": (
        {DraftProposed: {"candidate_ids": (None,)}},
        {DraftProposed: (1, {"candidate_ids": arrays(codec.whole([SERIES]), SAME)})},
    ),
    "one long series of any length": (
        {TreeDrafted: {"candidate_ids": (ANY,)}},
        {TreeDrafted: (1, {"candidate_ids": arrays(codec.whole([SERIES]), SAME)})},
    ),
    "noughts that take no room": (
        {DraftProposed: {"candidate_ids": (None,)}},
        {DraftProposed: (1, {"candidate_ids": arrays(codec.whole([ZEROS]), b"\x01\x03" + bytes(8 * ZEROS))})},
    ),
    "many events": (
        {LayerRun: {"layer": None, "proposed": None}},
        {LayerRun: (EVENTS, {"layer": SAME, "proposed": b"\x04" + bytes(EVENTS // 8)})},
    ),
    "many arrays without a number": (
        {LayerRun: {"features": (ANY,)}},
        {LayerRun: (EVENTS, {"features": arrays(SAME, codec.singles(np.zeros(0, np.float32)), EVENTS)})},
    ),
    "a long text": (
        {TreeVerified: {"end": None}},
        {TreeVerified: (1, {"end": codec.texts([bytes(LARGEST - 2**10)])})},
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_that_no_stretches_make_a_reading_take_more_memory_than_is_allowed(name: str) -> None:
    wanted, columns = HOSTILE[name]
    made = stretch(0, columns)
    stretches = [(at, made) for at in range(PORTION)]
    sweep = Sweep(lambda *_: stretches, packing.current(), fake_model_info(), np.arange(PORTION), wanted)
    tracemalloc.start()
    found = sweep.read(0, PORTION)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 2**24 < most < MOST_MEMORY, "some of it was taken, as it is sound by itself"
    assert not found.whole.any()


def test_that_a_stretch_of_more_bytes_than_usual_is_left_to_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows the packed events means nothing, but it would be read with them."""
    path = written(tmp_path / "s.specee", audited())
    own = [event for event in audited() if getattr(event, "token", 0) == 6]
    packed = packing.pack(own)
    replace_stretch(path, 6, packed + bytes(4000))
    monkeypatch.setattr(stored_trace, "LONGEST", len(packed) + 2000)
    with contextlib.closing(SessionFile(path)) as file:
        trace = file.trace(0)
        places = [place for place, _ in trace._stretches(0, TOKENS)]
        assert 6 not in places
        assert len(places) == TOKENS - 1
        assert facts_of(trace, 0, TOKENS).audited[6]


def test_that_records_of_more_bytes_than_are_kept_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "s.specee", audited())
    with contextlib.closing(SessionFile(path)) as file:
        records = file.trace(0).records
        first = records[1]
        assert records[1] is first
        size = records._bytes  # type: ignore[attr-defined]
        assert first.audit is not None
        assert size > first.audit.candidate_logits.nbytes
        monkeypatch.setattr(stored_trace, "KEPT_BYTES", 2 * size)
        for token in range(2, TOKENS):
            assert records[token].token == token
            assert records._bytes <= 2 * size  # type: ignore[attr-defined]
        assert records[1] is not first
