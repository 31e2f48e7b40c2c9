"""Passes over trees that are made many at a time are those that their records make."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.analysis.recorded_pass import RecordedPass
from core.analysis.what_if_trees import PassReader
from core.choices import Mapping as Merging
from core.errors import UserError
from core.trace import packing
from core.trace.events import Event, TreeLayerRun, TreeVerified
from core.trace.reading import ReadableTrace
from tests.core.handmade import ended
from tests.core.sessions import written
from tests.core.test_layer_facts import ODD, PLANS, both, trees
from tests.core.test_sweep import change, replace_stretch


def passes_of(trace: ReadableTrace) -> list[RecordedPass] | str:
    """All passes of a run, or why there are none."""
    reader = PassReader(trace)
    try:
        while not reader.is_done:
            reader.advance()
    except UserError as error:
        return str(error)
    return reader.passes


def same(one: Any, other: Any) -> bool:
    if dataclasses.is_dataclass(one):
        fields = dataclasses.fields(one)
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields)
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("merging", Merging)
def test_that_passes_that_are_read_together_are_those_of_their_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merging: Merging
) -> None:
    monkeypatch.setattr("core.analysis.what_if_trees.PASSES", 3)
    with both(written(tmp_path / "s.specee", trees(merging))) as (trace, slow, _):
        wanted = passes_of(slow)
        monkeypatch.setattr(trace, "_records", ())
        found = passes_of(trace)
        assert same(found, wanted)
        assert len(found) == len(PLANS) + 1
        assert all(len(one.layers) > 5 for one in found)
        assert bool(found[1].walks) == (merging is not Merging.INDEPENDENT)


def test_that_a_run_of_trees_without_a_pass_has_none(tmp_path: Path) -> None:
    with both(written(tmp_path / "s.specee", [*trees()[:3], ended()])) as (trace, *_):
        assert trace.emitted_count == 1
        assert passes_of(trace) == []


UNUSUAL: dict[str, Callable[[Event], list[Event]]] = {
    "a layer without scores": lambda e: [
        change(e, path_scores=e.path_scores[:0]) if isinstance(e, TreeLayerRun) and e.layer == 16 else e
    ],
    "features of another width": lambda e: [
        change(e, features=e.features[:, :3]) if isinstance(e, TreeLayerRun) and e.layer == 16 else e
    ],
    "a row too few": lambda e: [
        change(e, features=e.features[1:]) if isinstance(e, TreeLayerRun) and e.layer == 16 else e
    ],
    "a layer run twice": lambda e: [e, e] if isinstance(e, TreeLayerRun) and e.layer == 16 else [e],
    "a walk that leaves the tree": lambda e: [change(e, walk=e.walk + 50) if isinstance(e, TreeVerified) else e],
    "a margin too few": lambda e: [change(e, margins=e.margins[1:]) if isinstance(e, TreeVerified) else e],
    "a check that says no token": lambda e: [
        change(e, argmax_ids=e.argmax_ids + 10**9) if isinstance(e, TreeVerified) else e
    ],
}


@pytest.mark.parametrize("name", UNUSUAL | ODD)
def test_that_what_is_unusual_about_a_pass_is_what_its_records_say(tmp_path: Path, name: str) -> None:
    first = 1 + len(PLANS[0].accepted) + 1
    path = written(tmp_path / "s.specee", trees())
    own = [event for event in trees() if getattr(event, "token", 0) == first]
    replace_stretch(path, first, packing.pack([one for event in own for one in (UNUSUAL | ODD)[name](event)]))
    with both(path) as (trace, slow, told):
        found = passes_of(trace)
        before = len(told)
        assert same(found, passes_of(slow))
        assert len(told) == 2 * before, "both tell of damage, or neither"
