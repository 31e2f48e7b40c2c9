"""Records runs without end and says each token once it is written: `python -m tests.core.recording_child FILE`."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from core.trace.events import Event, TokenEmitted
from core.trace.session_writer import SessionWriter
from tests.fakes import fake_run_events

TOKENS = 40
"""Of each run."""


def run_events(number: int) -> list[Event]:
    """The run of this number, the same in every process."""
    return fake_run_events(TOKENS, run=number, audit=number % 2 == 1)


def main() -> None:
    writer = SessionWriter(Path(sys.argv[1]))
    for number in count():
        for event in run_events(number):
            writer.take(event)
            if isinstance(event, TokenEmitted):
                sys.stdout.write(f"{number} {event.token}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
