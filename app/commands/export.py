"""`specee-viewer export`: what a session holds, in forms that other programs read."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands import options
from core.errors import UserError

if TYPE_CHECKING:
    from core.trace.session_file import SessionFile


def add_parser(commands: options.Commands) -> None:
    """Add `export` to the program's commands."""
    parser = commands.add_parser(
        "export",
        help="write a session in another form",
        description="Write what a session holds as JSON Lines, one event a line, as docs/events.md describes them.",
    )
    parser.set_defaults(action=export)
    parser.add_argument("file", metavar="FILE.specee", type=Path, help="a session file")
    parser.add_argument(
        "--jsonl",
        metavar="OUT",
        required=True,
        help="the new file, or - for the terminal; a file that is there is never overwritten",
    )
    parser.add_argument(
        "--run", metavar="N", type=options.whole("run", 1), help="only this run, by its place in the file from 1 on"
    )


def export(arguments: argparse.Namespace) -> int:
    """Write the events; returns 0.

    Raises:
        UserError: the session cannot be read, has no such run, or the file cannot be written.
    """
    from contextlib import closing

    from app.commands.recording import check_target, explained, made_whole, open_new
    from core.trace.importing import export_events
    from core.trace.session_file import SessionFile

    if arguments.jsonl != "-":
        check_target(Path(arguments.jsonl))
    with closing(SessionFile(arguments.file)) as file:
        numbers = _chosen(file, arguments.run)
        if arguments.jsonl == "-":
            export_events(file, numbers, sys.stdout)
            return 0
        out = Path(arguments.jsonl)
        with made_whole(out) as partial, explained(out), open_new(partial) as lines:
            export_events(file, numbers, lines)
    return 0


def _chosen(file: SessionFile, place: int | None) -> list[int]:
    """The numbers of the runs to write."""
    if place is None:
        return [run.number for run in file.runs]
    if place > len(file.runs):
        runs = "one run" if len(file.runs) == 1 else f"{len(file.runs)} runs"
        raise UserError(f"{file.path} has no run {place}; it holds {runs}.")
    return [file.runs[place - 1].number]
