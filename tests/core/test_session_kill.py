"""A process that is killed while it records loses at most the token in flight; `SPECEE_KILLS` says how often to try."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from core.trace.session_file import SessionFile
from tests.core.any_events import same_events
from tests.core.recording_child import TOKENS, run_events

KILLS = int(os.environ.get("SPECEE_KILLS", "3"))


def kill_after(path: Path, tokens: int, spin: int) -> tuple[int, int]:
    """Record into `path` until so many tokens are told of, do `spin` steps of nothing, and kill; run and token told
    last. Where in its work the kill meets the process is up to chance."""
    command = [sys.executable, "-m", "tests.core.recording_child", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [child.stdout.readline() for _ in range(tokens)]
        for _ in range(spin):
            pass
        child.kill()
        told += child.stdout.readlines()
    # The last line may have been cut in the middle.
    run, token = [line for line in told if line.endswith("\n")][-1].split()
    return int(run), int(token)


@pytest.mark.parametrize("seed", range(KILLS))
def test_that_a_killed_recording_keeps_every_token_that_was_told_of(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    run, token = kill_after(tmp_path / "s.specee", chance.randint(1, 3 * TOKENS), chance.randint(0, 100_000))
    with contextlib.closing(SessionFile(tmp_path / "s.specee")) as file:
        assert file.runs[-1].number >= run
        for found in file.runs:
            trace = file.trace(found.number)
            if found.number == run:
                assert trace.emitted_count > token
            assert found.complete or found is file.runs[-1]
            events = list(trace.events)[: None if found.complete else -1]
            assert same_events(events, run_events(found.number)[: len(events)])
            assert len(list(trace.records)) == trace.emitted_count


def test_that_two_processes_that_record_side_by_side_do_not_touch_each_other(tmp_path: Path) -> None:
    paths = [tmp_path / "a.specee", tmp_path / "b.specee"]
    command = [sys.executable, "-m", "tests.core.recording_child"]
    children = [subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE, text=True) for path in paths]
    for child in children:
        with child:
            assert child.stdout is not None
            for _ in range(10):
                child.stdout.readline()
            child.kill()
    for path in paths:
        with contextlib.closing(SessionFile(path)) as file:
            assert file.trace(0).emitted_count >= 10
