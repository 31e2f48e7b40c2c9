"""A monkey at the real window ends in no exception, no warning, no silence, no dead state, and no leak.

`SPECEE_MONKEY_MOVES` says how many moves it makes, and `SPECEE_MONKEY_SEED` which; a long game also watches memory.
What is found is found again by `python -m tests.monkey.runner SEED COUNT`, and becomes a named test beside the code it
is about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.monkey

MOVES = int(os.environ.get("SPECEE_MONKEY_MOVES", "1000"))
SEED = int(os.environ.get("SPECEE_MONKEY_SEED", "7"))
LONG = 10_000
"""Moves after which memory that still grows is a leak."""
MOST_GROWTH = 0.05
ROOT = Path(__file__).resolve().parents[2]


def test_that_a_monkey_at_the_window_finds_no_fault() -> None:
    command = [sys.executable, "-W", "error", "-m", "tests.monkey.runner", str(SEED), str(MOVES)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    ended = lines[-1] if lines else ""
    assert ended.startswith("{"), f"seed {SEED} crashed:\n{done.stderr[-6000:]}\nafter\n" + "\n".join(lines[-40:])
    told = json.loads(ended)
    last = "\n".join(told.get("last", []))
    assert done.returncode == 0, f"seed {SEED}, after\n{last}\n{told.get('wrong')}"
    assert told["moves"] == MOVES
    assert MOVES < LONG or told["growth"] <= MOST_GROWTH, f"memory grows: {told['memory']} MiB"
