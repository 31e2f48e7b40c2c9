"""The command line: alone it opens the window, each subcommand does its work without one.

Nothing heavy is imported here, so that `--help`, `--version` and every mistyped flag answer before Qt or torch load.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.commands import (
    bench,
    console,
    desktop,
    diff,
    evaluate,
    export,
    import_,
    model,
    options,
    parts,
    report,
    run,
    train,
)
from app.failure import describe
from core.config import DEFAULT_MODEL
from core.errors import UserError
from core.progress import Cancelled
from resources.paths import SAMPLE

PROGRAM = "specee-viewer"
EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""
EXIT_BROKEN_PIPE = 141
"""What a shell reports for a program whose reader went away."""
_THEMES = ("system", "dark", "light")
_COMMANDS = (run, model, train, parts, evaluate, bench, diff, import_, export, report, desktop)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code. `--help` leaves through SystemExit, as argparse has it."""
    console.prepare_streams()
    _prepare_environment()
    try:
        arguments = build_parser().parse_args(_with_file_named(sys.argv[1:] if argv is None else argv))
        _check_window_flags(arguments)
        code: int = arguments.action(arguments)
        console.flush()
    except (KeyboardInterrupt, Cancelled):
        return EXIT_INTERRUPTED
    except UserError as error:
        console.complain(error)
        return EXIT_USER_ERROR
    except BrokenPipeError:
        console.discard_output()
        return EXIT_BROKEN_PIPE
    except (MemoryError, OSError, RuntimeError) as error:
        return _explain(error)
    return code


def _explain(error: Exception) -> int:
    """Say what the user can do about it; anything else is a fault of ours, and keeps its traceback."""
    failure = describe(error)
    if not failure.user_error:
        raise error
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        console.discard_output()  # what is buffered may be what did not fit
    console.note(failure.sentence)
    return EXIT_USER_ERROR


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole program; each namespace carries its `action`."""
    parser = options.Parser(
        prog=PROGRAM,
        description="Run SpecEE on a real language model and see why each token stopped where it did. "
        "Without a command, the window opens.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    parser.add_argument(
        "--model",
        dest="window_model",
        metavar="REF",
        help=f"open the window on this folder, .gguf file or hub id (default: the last one, at first {DEFAULT_MODEL})",
    )
    parser.add_argument(
        "--theme",
        dest="window_theme",
        type=options.one_of("theme", _THEMES),
        metavar=options.braces(_THEMES),
        help="colours of the window (default: what you chose last)",
    )
    parser.add_argument("--reset-layout", action="store_true", help="put the window's panels back where they were made")
    parser.add_argument(
        "--open",
        dest="window_file",
        metavar="FILE",
        type=options.path,
        help="open the window on this session; FILE alone does",
    )
    parser.add_argument(
        "--demo",
        dest="window_file",
        action="store_const",
        const=SAMPLE,
        help="open the window on runs that were recorded before; neither a model nor a network is needed",
    )
    parser.set_defaults(action=_open_window)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser


def _with_file_named(argv: Sequence[str]) -> list[str]:
    """The arguments with `--open` in front of a lone file, which argparse would take for a command.

    Raises:
        UserError: a folder stands there.
    """
    words, at = list(argv), 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("--model", "--theme", "--open") else 1
    if at < len(words) and not _names_command(words[at]):
        if Path(words[at]).is_dir():
            raise UserError(
                f"{options.shown(words[at])} is a folder; name a .specee file in it, or write --model in front of a "
                "model's folder."
            )
        if Path(words[at]).suffix == ".specee" or Path(words[at]).is_file():
            words.insert(at, "--open")
    return words


def _names_command(word: str) -> bool:
    return word in {command.__name__.rpartition(".")[2].rstrip("_") for command in _COMMANDS}


def _check_window_flags(arguments: argparse.Namespace) -> None:
    """Refuse what would silently be ignored: the window's flags in front of a command."""
    if arguments.action is _open_window:
        return
    given = (arguments.window_model, arguments.window_theme, arguments.window_file, arguments.reset_layout or None)
    opens = "--demo" if arguments.window_file == SAMPLE else "--open"
    for flag, value in zip(("--model", "--theme", opens, "--reset-layout"), given, strict=True):
        if value is not None:
            raise UserError(f"In front of a command, {flag} means the window; write the command first, then its flags.")


def _open_window(arguments: argparse.Namespace) -> int:
    if arguments.version:
        from core.version import version

        print(f"{PROGRAM} {version()}")
        return 0
    from app.application import run_app

    return run_app(
        model=arguments.window_model,
        theme=arguments.window_theme,
        reset_layout=arguments.reset_layout,
        file=arguments.window_file,
    )


def _prepare_environment() -> None:
    # torch reads these when it is imported. Spinning threads collapse the speed where cores are shared; the
    # libraries' own bars and notices would mix with what we print.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


if __name__ == "__main__":
    sys.exit(main())
