"""Lets a monkey at the window, in a process of its own: `python -m tests.monkey.runner SEED MOVES`.

Each move is drawn from the seed and its number, so that what was found can be found again, and by fewer moves:
`python -m tests.monkey.runner 7 800` makes the first 800 moves of seed 7, `… 7 3,40-52` only these. Every move is
printed as it is made; the last line is an object with what was done and, where something went wrong, what and after
which moves. `python -m tests.monkey.shrink` leaves out what is not needed. `QT_QPA_PLATFORM=xcb` lets one look on.
"""

from __future__ import annotations

import faulthandler
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tests.monkey.numbers import numbers_of

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from tests.monkey.monkey import Monkey

HOME_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "SPECEE_VIEWER_CACHE")


def main(seed: int, numbers: Sequence[int]) -> NoReturn:
    """Let it make these moves of the seed, and end the process; with 1 where something went wrong."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    folder = Path(tempfile.mkdtemp(prefix="monkey-"))
    for variable in HOME_VARIABLES:
        os.environ[variable] = str(folder / variable.lower())
    (folder / "home").mkdir()
    play(folder, seed, numbers)


def play(folder: Path, seed: int, numbers: Sequence[int]) -> NoReturn:
    """All of it in this folder."""
    from app.application import make_application
    from app.commands.window_probe import keep_settings_in
    from tests.monkey.answers import Answers
    from tests.monkey.cage import Cage
    from tests.monkey.faults import Faults
    from tests.monkey.monkey import Monkey

    keep_settings_in(str(folder / "settings"))
    application, faults, answers = make_application(), Faults(), Answers(folder / "home")
    application.setQuitOnLastWindowClosed(False)
    answers.install()
    monkey = Monkey(Cage(application, folder, answers, faults), seed, tell)
    faults.listen()
    faulthandler.enable()
    within_loop(application, lambda: end(monkey, wrong_after(monkey, numbers), folder))
    raise AssertionError("nothing quits the program before the game is over")


def within_loop(application: QApplication, game: Callable[[], object]) -> None:
    """Play from within the program's event loop, until the program is quit.

    Outside of it Qt deletes a closed dialog as soon as any loop runs, that of a menu for example, even while an event
    of the dialog's is still being delivered; within it, as in the program, only afterwards.
    """
    from PySide6.QtCore import QTimer

    QTimer.singleShot(0, game)
    application.exec()


def wrong_after(monkey: Monkey, numbers: Sequence[int]) -> str:
    """Let it make the moves and close the window; what went wrong, or nothing."""
    try:
        monkey.play(numbers)
        monkey.cage.shut()
        monkey.cage.faults.raise_any()
    except BaseException:  # whatever it is, the moves that led to it are told
        return traceback.format_exc()
    return ""


def end(monkey: Monkey, wrong: str, folder: Path) -> NoReturn:
    """Tell of the game. What a broken window still holds may keep the process from ending, and is left as it is."""
    from tests.monkey.monkey import growth

    told: dict[str, Any] = {"seed": monkey.seed, "moves": sum(monkey.made.values()), "openings": monkey.cage.openings}
    told |= {"made": dict(monkey.made), "slowest": monkey.slowest, "memory": [round(one) for one in monkey.memory]}
    told["growth"] = round(growth(monkey.memory), 4)
    if wrong:
        told |= {"last": list(monkey.last), "wrong": wrong}
    tell(json.dumps(told))
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1 if wrong else 0)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), numbers_of(sys.argv[2]))
