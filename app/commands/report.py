"""`specee-viewer report`: a session as one page of HTML that anybody can read, without this program."""

from __future__ import annotations

import argparse

from app.commands import choosing, options


def add_parser(commands: options.Commands) -> None:
    """Add `report` to the program's commands."""
    parser = commands.add_parser(
        "report",
        help="write a session as a page of HTML",
        description="Write recorded runs as one self-contained page: the text coloured by exit layer, plots, ledger, "
        "frontier, why tokens left where they did, settings and versions. Needs no model and no screen.",
    )
    parser.set_defaults(action=report)
    parser.add_argument("file", metavar="FILE.specee", type=options.path, help="a session file")
    parser.add_argument(
        "--out", metavar="FILE.html", type=options.path, required=True, help="the new file; one that is there is kept"
    )
    parser.add_argument("--run", metavar="N", type=options.whole("run", 1), help=f"only this run: {choosing.HELP}")
    options.add_exit_colours(parser)


def report(arguments: argparse.Namespace) -> int:
    """Write the page; returns 0.

    Raises:
        UserError: the session cannot be read, has no such run or none with a token, or the file cannot be written.
    """
    from contextlib import closing

    from app.commands.export import chosen_runs
    from app.commands.recording import check_target, explained, made_whole, open_new
    from core.report.exit_colours import ExitPalette
    from core.report.page import subjects_of, write_page
    from core.trace.session_file import SessionFile

    check_target(arguments.out)
    with closing(SessionFile(arguments.file)) as file:
        subjects = subjects_of(file, [run.number for run in chosen_runs(file, arguments.run)])
        with made_whole(arguments.out) as partial, explained(arguments.out), open_new(partial) as lines:
            write_page(lines, arguments.file.name, subjects, ExitPalette(arguments.exit_colours))
    return 0
