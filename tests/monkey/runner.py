"""Lets a monkey at the window, in a process of its own: `python -m tests.monkey.runner SEED COUNT [FIRST]`.

Each move is drawn from the seed and its number, so that what was found can be found again. Every move is printed as it
is made; the last line is an object with what was done and, where something went wrong, what and after which moves.
`QT_QPA_PLATFORM=xcb` lets one look on.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

HOME_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "SPECEE_VIEWER_CACHE")


def main(seed: int, count: int, first: int = 0) -> int:
    """Let it play; 1 where something went wrong."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for variable in HOME_VARIABLES:
            os.environ[variable] = str(folder / variable.lower())
        (folder / "home").mkdir()
        return play(folder, seed, count, first)


def play(folder: Path, seed: int, count: int, first: int) -> int:
    """All of it in this folder."""
    from app.application import make_application
    from app.commands.window_probe import keep_settings_in
    from tests.monkey.answers import Answers
    from tests.monkey.cage import Cage
    from tests.monkey.faults import Faults
    from tests.monkey.monkey import Monkey, growth

    keep_settings_in(str(folder / "settings"))
    faults = Faults()
    application = make_application()
    answers = Answers(folder / "home")
    answers.install()
    cage = Cage(application, folder, answers, faults)
    faults.listen()
    faulthandler.enable()
    monkey, wrong = Monkey(cage, seed, tell), ""
    try:
        monkey.play(first, count)
        cage.shut()
        faults.raise_any()
    except BaseException:  # whatever it is, the moves that led to it are told
        wrong = traceback.format_exc()
    told = {"seed": seed, "moves": sum(monkey.made.values()), "openings": cage.openings, "made": dict(monkey.made)}
    told |= {"slowest": monkey.slowest, "memory": [round(one) for one in monkey.memory]}
    told["growth"] = round(growth(monkey.memory), 4)
    if wrong:
        told |= {"last": list(monkey.last), "wrong": wrong}
    tell(json.dumps(told))
    # What a broken window still holds is no longer of interest, and may keep the process from ending.
    os._exit(1 if wrong else 0)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
