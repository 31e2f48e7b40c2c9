"""The sample session: what `scripts/sample.py` says it is, small enough to travel, and worth looking at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from core.choices import Record
from core.trace.session_file import SessionFile
from resources.paths import SAMPLE
from scripts.sample import NOTES, SCENES

MIB = 2**20


@pytest.fixture(scope="module")
def sample() -> Iterator[SessionFile]:
    with closing(SessionFile(SAMPLE)) as file:
        yield file


def test_that_the_sample_is_one_file_at_rest_of_at_most_five_mebibytes() -> None:
    assert SAMPLE.stat().st_size <= 5 * MIB
    assert [path.name for path in SAMPLE.parent.iterdir()] == [SAMPLE.name]


def test_that_the_sample_holds_the_scripts_runs_audited_and_whole(sample: SessionFile) -> None:
    assert [run.started.prompt for run in sample.runs] == [scene.prompt for scene in SCENES]
    for run, scene in zip(sample.runs, SCENES, strict=True):
        assert run.complete
        assert run.started.settings.policy.value in scene.flags
        assert run.started.settings.record is Record.AUDIT
        assert run.weights is not None
    assert sum(run.tokens for run in sample.runs) >= 250


def test_that_the_sample_shows_exits_of_every_kind(sample: SessionFile) -> None:
    seen = [sample.trace(run.number).overview for run in sample.runs]
    last = seen[-1]
    assert (last.exit_layers < last.depth).sum() >= 10
    assert last.wrong.any()
    assert ((last.refusals > 0) & (last.exit_layers == last.depth)).any()
    trees = [run.number for run in sample.runs if run.started.settings.tree.on]
    assert any((seen[number].exit_layers < last.depth).any() for number in trees)
    assert b"\xe2" in seen[2].texts  # a character that several tokens share


def test_that_the_notes_stand_at_what_they_speak_of(sample: SessionFile) -> None:
    last = sample.runs[-1].number
    notes = {mark.note: mark.token for mark in sample.marks() if mark.run == last}
    overview = sample.trace(last).overview
    assert notes.keys() == set(NOTES.values())
    assert overview.wrong[notes[NOTES["wrong"]]]
    assert not overview.wrong[notes[NOTES["right"]]]
