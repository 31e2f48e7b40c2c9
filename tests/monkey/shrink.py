"""Finds the few moves that a fault needs: `python -m tests.monkey.shrink SEED MOVES [TRIES]`.

Plays the moves in processes of their own, then ever smaller parts of them, by halving, as long as the window still ends
in a crash or a fault of the same kind. What hangs on luck is played TRIES times before it counts as sound.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.monkey.numbers import numbers_of, text_of
from tests.monkey.runner import tell

ROOT = Path(__file__).resolve().parents[2]
CRASH = "crash"


def outcome(seed: int, numbers: Sequence[int]) -> tuple[str, int]:
    """How a game ends: "" where all is well, else its kind; and how many of the moves were made."""
    command = [sys.executable, "-m", "tests.monkey.runner", str(seed), text_of(numbers)]
    # What is freed is overwritten, so that whoever still uses it is found out at once.
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "MALLOC_PERTURB_": "165"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode == 0:
        return "", len(numbers)
    if not lines or not lines[-1].startswith("{"):
        return CRASH, len(lines) + 1  # the move that crashed was not told
    told = json.loads(lines[-1])
    return told["wrong"].strip().splitlines()[-1], told["moves"] + 1  # a move that raises is not counted


def shrunk(numbers: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> Sequence[int]:
    """A part of the numbers that still fails and of which no single one can be left out, found by halving."""
    parts = 2
    while len(numbers) > 1:
        size = -(-len(numbers) // parts)
        rests = ([*numbers[:at], *numbers[at + size :]] for at in range(0, len(numbers), size))
        fewer = next((rest for rest in rests if fails(rest)), None)
        if fewer is not None:
            numbers, parts = fewer, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(numbers), parts * 2)
    return numbers


def main(seed: int, numbers: Sequence[int], tries: int) -> int:
    """Tell the least list that was found; 1 where there was a fault."""
    kind, made = outcome(seed, numbers)
    if not kind:
        tell("no fault")
        return 0

    def fails(some: Sequence[int]) -> bool:
        found = any(outcome(seed, some)[0] == kind for _ in range(tries))
        tell(f"{len(some)} moves: {'still' if found else 'no'} {kind}")
        return found

    tell(f"{kind}\npython -m tests.monkey.runner {seed} {text_of(shrunk(list(numbers[:made]), fails))}")
    return 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), numbers_of(sys.argv[2]), int((sys.argv[3:] or ["1"])[0])))
