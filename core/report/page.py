"""A session as one page of HTML that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from core.analysis.branch_words import branch_line
from core.errors import UserError
from core.report.escaping import escaped
from core.report.exit_colours import ExitPalette
from core.report.sections import run_body
from core.report.style import STYLE
from core.report.views import Subject
from core.trace.marks import Mark
from core.trace.session_file import SessionFile
from core.version import version

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="specee-viewer {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="muted">A report by specee-viewer {version}: which layer each token left at, and why. Tokens and layers count
from 1; an exit layer is the number of layers that a token ran.</p>
"""


@dataclass(frozen=True, slots=True)
class Reported:
    """One run of a report."""

    number: int
    """As the window names it, from 1 on."""
    subject: Subject
    began: str = ""
    """UTC, as ISO 8601 has it; "" where it is not known."""
    marks: list[Mark] = field(default_factory=list)


def subjects_of(file: SessionFile, numbers: Sequence[int]) -> list[Reported]:
    """These runs of a file, those without a token left out.

    Raises:
        UserError: none of them has a token, or one cannot be read.
    """
    marks = file.marks()
    made = [
        Reported(
            run.number + 1,
            Subject(file.trace(run.number), file.weights(run.number)),
            run.began,
            [mark for mark in marks if mark.run == run.number],
        )
        for run in file.runs
        if run.number in numbers and run.tokens
    ]
    if not made:
        raise UserError(f"{file.path} holds no run with a token to report on; record one first.")
    return made


def write_page(lines: TextIO, name: str, runs: Sequence[Reported], exits: ExitPalette = ExitPalette.CIVIDIS) -> None:
    """Write the report of these runs.

    Args:
        lines: where to.
        name: what the session is called.
        runs: at least one.
        exits: the colours of exit layers.

    Raises:
        UserError: a run cannot be read.
    """
    lines.write(HEAD.format(title=escaped(name), style=STYLE, version=escaped(version())))
    if len(runs) > 1:
        lines.write(_contents(runs))
    for run in runs:
        lines.write(f'<h2 id="run-{run.number}">Run {run.number}</h2>\n{_origin(run)}')
        for part in run_body(run.subject, run.marks, exits):
            lines.write(part)
    lines.write("</main>\n</body>\n</html>\n")


def _contents(runs: Sequence[Reported]) -> str:
    items = "".join(f'<li><a href="#run-{run.number}">Run {run.number}</a>: {_title(run)}</li>\n' for run in runs)
    return f'<nav class="card"><ul>\n{items}</ul></nav>\n'


def _title(run: Reported) -> str:
    started = run.subject.trace.started
    asked = " ".join(started.prompt.split()) if started else ""
    short = asked if len(asked) <= 80 else f"{asked[:79]}…"
    return f"<bdi>{escaped(short)}</bdi> ({run.subject.trace.emitted_count} tokens)"


def _origin(run: Reported) -> str:
    trace = run.subject.trace
    assert trace.started is not None, "a run with tokens has begun"
    settings, model = trace.started.settings, trace.started.model
    ended = f"ended by {trace.ended.reason.value}" if trace.ended else "not ended"
    began = [run.began.replace("T", " ").replace("+00:00", " UTC")] if run.began else []
    facts = [settings.policy.value, f"threshold {settings.threshold:g}", model.name, model.dtype, *began, ended]
    left = f"A branch {branch_line(trace.started.branch)}." if trace.started.branch else ""
    return "".join(f'<p class="muted">{escaped(words)}</p>\n' for words in (" · ".join(facts), left) if words)
