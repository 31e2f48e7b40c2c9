"""`specee-viewer export`: what a session holds, in forms that other programs read."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands import choosing, options
from core.errors import UserError

if TYPE_CHECKING:
    from core.report.views import Subject
    from core.trace.session_file import RunInfo, SessionFile

THEMES = ("light", "dark")
MOST_PIXELS = 16_384
"""Of a picture's side; Qt paints no larger ones."""


def add_parser(commands: options.Commands) -> None:
    """Add `export` to the program's commands."""
    parser = commands.add_parser(
        "export",
        help="write a session, or one view of a run, in another form",
        description="Write a session's events as JSON Lines (--jsonl), or one view of a run as a picture or a table "
        "(--view and --out). Needs no model and no screen; docs/command-line.md describes the columns.",
    )
    parser.set_defaults(action=export)
    parser.add_argument("file", metavar="FILE.specee", type=options.path, help="a session file")
    parser.add_argument(
        "--jsonl",
        metavar="OUT",
        type=_events_file,
        help="write events, one a line, to this new file, or - the terminal",
    )
    parser.add_argument("--view", metavar="NAME", help="the view to write; `--view help` lists them")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=options.path,
        help="the new file; .csv makes a table, .svg and .png a picture. A file that is there is never overwritten",
    )
    parser.add_argument("--run", metavar="N", type=options.whole("run", 1), help=f"which run: {choosing.HELP}")
    _add_view_flags(parser)


def _add_view_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--token", metavar="T", type=options.whole("token", 1), help="of a view of one token: which, from 1 on"
    )
    parser.add_argument("--layer", metavar="L", type=options.whole("layer", 1), help="of calibration: which, from 1 on")
    parser.add_argument(
        "--theme",
        type=options.one_of("theme", THEMES),
        metavar=options.braces(THEMES),
        default="light",
        help="colours of a picture (default: %(default)s)",
    )
    options.add_exit_colours(parser)
    parser.add_argument(
        "--size",
        metavar="WxH",
        type=_size,
        help="pixels of a picture, which keeps its shape in them (default: the view's own)",
    )


def _events_file(text: str) -> str:
    return text if text == "-" else str(options.path(text))


def _size(text: str) -> tuple[int, int]:
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.isascii() and side.isdigit() for side in sides):
        raise UserError(f"{options.shown(text)} is no size; write it as in 1200x800.")
    width, height = (int(side) for side in sides)
    if not (1 <= width <= MOST_PIXELS and 1 <= height <= MOST_PIXELS):
        raise UserError(f"A picture has 1 to {MOST_PIXELS} pixels a side, not {options.shown(text)}.")
    return width, height


def export(arguments: argparse.Namespace) -> int:
    """Write what was asked for; returns 0.

    Raises:
        UserError: the flags do not fit, the session cannot be read, has no such run, or the file cannot be written.
    """
    if (arguments.jsonl is None) == (arguments.view is None):
        raise UserError("Say what to write: either --jsonl OUT, or --view NAME with --out FILE.")
    return _export_events(arguments) if arguments.view is None else _export_view(arguments)


def _export_events(arguments: argparse.Namespace) -> int:
    from contextlib import closing

    from app.commands.recording import check_target, explained, made_whole, open_new
    from core.trace.importing import export_events
    from core.trace.session_file import SessionFile

    if arguments.jsonl != "-":
        check_target(Path(arguments.jsonl))
    with closing(SessionFile(arguments.file)) as file:
        numbers = [run.number for run in chosen_runs(file, arguments.run)]
        if arguments.jsonl == "-":
            export_events(file, numbers, sys.stdout)
            return 0
        out = Path(arguments.jsonl)
        with made_whole(out) as partial, explained(out), open_new(partial) as lines:
            export_events(file, numbers, lines)
    return 0


def chosen_runs(file: SessionFile, wanted: int | None) -> tuple[RunInfo, ...]:
    """The run of this 1-based number, or all.

    Raises:
        UserError: there is no such run.
    """
    if wanted is None:
        return file.runs
    return (file.runs[choosing.chosen(file.path, [run.number for run in file.runs], wanted)],)


def _export_view(arguments: argparse.Namespace) -> int:
    from contextlib import closing
    from dataclasses import replace

    from app.commands.recording import check_target, explained, made_whole
    from app.export_views import check_kind, write_view
    from core.report.exit_colours import ExitPalette
    from core.report.inks import THEMES as INKS
    from core.trace.session_file import SessionFile

    name, out = arguments.view, arguments.out
    if name == "help":
        return _list_views()
    _check_view(name)
    if out is None:
        raise UserError("--out is missing: name the file to write, with .png, .svg or .csv at its end.")
    check_kind(name, out)
    check_target(out)
    with closing(SessionFile(arguments.file)) as file:
        subject = _subject(file, arguments)
        inks = replace(INKS[arguments.theme], exits=ExitPalette(arguments.exit_colours))
        with made_whole(out) as partial, explained(out):
            write_view(subject, name, out.suffix.lower(), partial, inks, arguments.size)
    return 0


def _check_view(name: str) -> None:
    from core.report.views import VIEWS

    if name not in VIEWS:
        raise UserError(f"There is no view {options.shown(name)}; the views are {', '.join(VIEWS)}.")


def _list_views() -> int:
    from core.report.views import VIEWS

    for name, view in VIEWS.items():
        kinds = "csv, svg, png" if view.picture else "csv"
        flag = "; --token" if view.of_token else "; --layer" if view.of_layer else ""
        print(f"{name:<14} {view.meaning} ({kinds}{flag})")
    return 0


def _subject(file: SessionFile, arguments: argparse.Namespace) -> Subject:
    from core.report.views import Subject

    numbers = [run.number for run in file.runs]
    number = numbers[choosing.chosen(file.path, numbers, arguments.run)]
    token, layer = (None if value is None else value - 1 for value in (arguments.token, arguments.layer))
    return Subject(file.trace(number), file.weights(number), token, layer)
