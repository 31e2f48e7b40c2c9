"""`specee-viewer import`: a session of events that another program, or `run --out`, wrote as JSON Lines."""

from __future__ import annotations

import argparse

from app.commands import console, options
from core.errors import UserError


def add_parser(commands: options.Commands) -> None:
    """Add `import` to the program's commands."""
    parser = commands.add_parser(
        "import",
        help="make a session of events in JSON Lines",
        description="Make a session file of events in JSON Lines, from this program or from another early-exit engine. "
        "docs/events.md describes the events; docs/write_trace.py writes some.",
    )
    parser.set_defaults(action=import_)
    parser.add_argument("file", metavar="FILE.jsonl", type=options.path, help="events as JSON Lines")
    parser.add_argument(
        "--out",
        metavar="FILE.specee",
        type=options.path,
        help="the new session file (default: beside the events, with that ending); one that is there is never "
        "overwritten",
    )


def import_(arguments: argparse.Namespace) -> int:
    """Write the session and name it; returns 0.

    Raises:
        UserError: a line is damaged or does not fit those before it, or a file cannot be read or written.
    """
    from app.commands.recording import SESSION, check_target, made_whole
    from core.trace.importing import import_events
    from core.trace.session_file import SessionFile

    if arguments.file.suffix == SESSION and arguments.file.is_file():
        raise UserError(f"{arguments.file} is a session already; open it with `specee-viewer {arguments.file}`.")
    out = arguments.out or arguments.file.with_suffix(SESSION)
    check_target(out)
    with made_whole(out) as partial:
        import_events(arguments.file, partial)
    runs = SessionFile(out).runs
    for run in runs:
        if not run.complete:
            console.note(f"Run {run.number + 1} has no end in {arguments.file}; it shows as cut off.")
    print(f"{out}: {_counted(len(runs), 'run')}, {_counted(sum(run.tokens for run in runs), 'token')}")
    return 0


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
