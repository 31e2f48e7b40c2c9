"""Spoiled files of every kind end in a sentence or a good load: no crash, no hang, no flood of memory, nothing run.

`SPECEE_FUZZ_CASES` says how many cases there are in all, and `SPECEE_FUZZ_FIRST` the number of the first. What is found
is found again by `python -m tests.fuzz.runner TARGET CASE 1`, and becomes a named test beside the code it is about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.fuzz

CASES = int(os.environ.get("SPECEE_FUZZ_CASES", "700"))
FIRST = int(os.environ.get("SPECEE_FUZZ_FIRST", "0"))
SHARES = {"sessions": 0.3, "events": 0.2, "parts": 0.15, "models": 0.15, "settings": 0.1, "prompts": 0.1}
"""Of all cases."""
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", list(TARGETS))
def test_that_spoiled_files_end_in_a_sentence_or_a_good_load(name: str) -> None:
    count = max(1, int(CASES * SHARES[name]))
    command = [sys.executable, "-m", "tests.fuzz.runner", name, str(FIRST), str(count)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    wrong = [line for line in lines if "outcome" in line]
    assert not wrong, "\n".join(map(str, wrong))
    assert done.returncode == 0, f"crashed at {lines[-1:]}: {done.stderr[-2000:]}"
    found = lines[-1]["found"]
    assert sum(found.values()) == count
    assert count < 50 or min(found.get("good", 0), found.get("refused", 0)) > 0, f"all cases ended alike: {found}"
