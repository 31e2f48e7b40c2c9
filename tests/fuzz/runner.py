"""Reads spoiled files in a process of its own: `python -m tests.fuzz.runner TARGET FIRST COUNT`.

Each case is drawn from its number alone, so that what was found can be found again. A case that ends neither in a
sentence nor in a good load gets a line; the last line says how many ended how. A case may take two seconds of the
processor, a minute of waiting and a gigabyte, and may start nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from core.errors import UserError
from tests.fuzz.targets import TARGETS, Target

SECONDS = 2.0
"""Of the processor, for one case."""
WAITING = 60.0
"""Seconds of the clock, which a busy machine may need."""
MEMORY = 2**30
"""Bytes beyond what the process has before the first case."""
STARVED = f"too long: {signal.SIGALRM.name}"
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "pickle.find_class",
)
"""What Python tells its auditors of when something is about to be run or reached."""
SHOWN = 300
"""Characters of what went wrong."""


class TooLong(BaseException):
    """No Exception: the program may not take it for a fault of the file's."""


class Started(BaseException):
    """Something was about to be run."""


def run(name: str, first: int, count: int) -> Counter[str]:
    """Try the cases first…first + count - 1 and print what is wrong with any."""
    target, found = TARGETS[name], Counter[str]()
    with tempfile.TemporaryDirectory() as base:
        sound, case = Path(base) / "sound", Path(base) / "case"
        sound.mkdir()
        target.seed(sound)
        target.read_sound(sound, case)
        guard()
        for number in range(first, first + count):
            tell({"case": number})
            shutil.rmtree(case, ignore_errors=True)
            shutil.copytree(sound, case)
            done = target.spoil(case, random.Random(f"{name} {number}"))
            outcome = outcome_of(target, case)
            if outcome == STARVED:  # once may be the machine's fault
                outcome = outcome_of(target, case)
            found[outcome.partition(":")[0]] += 1
            if outcome not in ("good", "refused"):
                tell({"case": number, "spoiled": done, "outcome": outcome[:SHOWN]})
    return found


def outcome_of(target: Target, folder: Path) -> str:
    """ "good", "refused", or what went wrong."""
    try:
        with limits(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read(folder)
    except UserError as error:
        return sentence_of(str(error))
    except TooLong as error:
        return f"too long: {error}"
    except Started as error:
        return f"ran something: {error}"
    except MemoryError:
        return "too much memory"
    except BaseException as error:
        return f"{type(error).__name__}: {error} {place_of(error)}"
    return "good"


def sentence_of(text: str) -> str:
    """ "refused" for a sentence that a person may be shown."""
    if "Traceback" in text or not text.strip() or not text.rstrip().endswith((".", "…", "?", "`", ")")):
        return f"no sentence: {text}"
    return "refused"


def place_of(error: BaseException) -> str:
    """The last lines of ours that it went through."""
    places, frame = [], error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        if "site-packages" not in code.co_filename and "/fuzz/" not in code.co_filename:
            places.append(f"{Path(code.co_filename).name}:{frame.tb_lineno}")
        frame = frame.tb_next
    return f"[{' '.join(places[-4:])}]"


@contextlib.contextmanager
def limits() -> Any:
    """Two seconds of the processor, a minute of the clock."""

    def stop(number: int, _: Any) -> None:
        raise TooLong(signal.Signals(number).name)

    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WAITING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def guard() -> None:
    """Let no case take more memory, or start anything."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def hook(event: str, arguments: Any) -> None:
        if event in FORBIDDEN:
            raise Started(f"{event} {arguments!r:.100}")

    sys.addaudithook(hook)


def tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    name, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    tell({"found": run(name, first, count)})
