"""`run --fork`: a recorded run is left at one of its tokens, and the engine goes on from there."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.commands import choosing, options, setting_flags
from core.choices import Record
from core.config import RunSettings
from core.errors import UserError

if TYPE_CHECKING:
    from core.trace.fork import Fork
    from core.trace.marks import Mark
    from core.trace.raw_runs import RawRun
    from core.trace.stored_trace import StoredTrace

_BELONG = {"run": "--run", "at": "--at", "token": "--token"}


def add_fork(parser: argparse.ArgumentParser) -> None:
    """`--fork` and what belongs to it."""
    group = parser.add_argument_group("branches")
    group.add_argument(
        "--fork",
        metavar="FILE",
        type=options.path,
        help="branch off a recorded run of this session instead of asking --prompt; settings that no flag gives are "
        "that run's",
    )
    group.add_argument(
        "--run", metavar="R", type=options.whole("run", 1), help=f"{choosing.HELP} (default: the only one)"
    )
    group.add_argument(
        "--at", metavar="N", type=options.whole("token", 1), help="the last token, from 1 on, that is taken over"
    )
    group.add_argument(
        "--token", metavar="TEXT", type=options.text_of("token"), help="what stands there instead, one token or several"
    )


def refuse_alone(arguments: argparse.Namespace) -> None:
    """Refuse what has no meaning without `--fork`."""
    for name, flag in _BELONG.items():
        if getattr(arguments, name) is not None:
            raise UserError(f"{flag} says where a run is left; name its session with --fork, or leave it out.")


def check(arguments: argparse.Namespace) -> None:
    """Refuse before a file is opened what can be seen without one."""
    if arguments.prompt is not None:
        raise UserError("A branch goes on from its run's own prompt; leave out --prompt, or --fork.")
    if arguments.at is None:
        raise UserError("--at is missing; say with --at N which token is the last that the branch takes over.")
    if arguments.token == "":
        raise UserError("--token is empty; give the text that is to stand there, or leave it out to keep the token.")


@dataclass(frozen=True, slots=True)
class Origin:
    """The run that is left."""

    trace: StoredTrace
    kept: tuple[RawRun, ...]
    """The run and those that it descends from, the oldest first."""
    marks: tuple[Mark, ...]
    """Theirs."""
    next_number: int
    """Of the runs to come."""

    def asked(self, arguments: argparse.Namespace) -> tuple[RunSettings, Fork]:
        """What the branch is to run with, and how it leaves.

        Raises:
            UserError: a setting will not do, or the run has no such token.
        """
        from core.analysis.forks import fork_at, may_rerun

        own = self.trace.info.started.settings
        if not may_rerun(own) and arguments.policy is None:
            raise UserError(
                "The run's policy is a file of somebody's own, which is code; name it with --policy to run it."
            )
        settings = setting_flags.settings_from(arguments, own)
        if arguments.record is not None:
            audit = arguments.record == Record.AUDIT
            settings = dataclasses.replace(settings, record=Record.AUDIT if audit else Record.LIVE)
        return settings, fork_at(self.trace, arguments.at - 1, settings, text=arguments.token or "")


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Origin]:
    """The run that the flags name, readable as long as the context lasts.

    Raises:
        UserError: the file cannot be read, or has no such run, or has several and none was chosen.
    """
    from core.analysis.forks import descent
    from core.trace.raw_runs import RawRun
    from core.trace.session_file import SessionFile

    with closing(SessionFile(arguments.fork)) as file:
        numbers = [run.number for run in file.runs]
        number = numbers[choosing.chosen(file.path, numbers, arguments.run)]
        branches = {run.number: run.started.branch for run in file.runs}
        line = descent({one: branch.origin if branch else None for one, branch in branches.items()}, number)
        yield Origin(
            trace=file.trace(number),
            kept=tuple(RawRun.of(file, one) for one in line),
            marks=tuple(mark for mark in file.marks() if mark.run in line),
            next_number=max(numbers) + 1,
        )
