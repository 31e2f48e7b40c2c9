"""`specee-viewer diff`: two recorded runs held against each other, without a model and without a window."""

from __future__ import annotations

import argparse
import html
import json
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from app.commands import choosing, options

if TYPE_CHECKING:
    from core.analysis.compare import Comparison
    from core.trace.reading import ReadableTrace

NAME = 22
LONGEST_VALUE = 40
"""Characters of a setting that a line shows."""
PER_CENT = ("early", "agreement")
"""Figures that people read in per cent."""


def add_parser(commands: options.Commands) -> None:
    """Add `diff` to the program's commands."""
    parser = commands.add_parser(
        "diff",
        help="compare two recorded runs token by token",
        description="Compare two recorded runs: where their texts and exits part, what they come to, and which "
        "settings differ. Reads session files and JSON Lines; needs no model.",
    )
    parser.set_defaults(action=diff)
    for name in ("a", "b"):
        parser.add_argument(
            name, metavar=name.upper(), type=options.path, help="a session file, or events as JSON Lines"
        )
        parser.add_argument(
            f"--run-{name}",
            metavar="N",
            type=options.whole("run", 1),
            help=f"of {name.upper()}, {choosing.HELP}; needed where it holds several",
        )
    parser.add_argument("--tokens", action="store_true", help="also list every token with both exit layers")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def diff(arguments: argparse.Namespace) -> int:
    """Compare; returns 0 whether the runs differ or not.

    Raises:
        UserError: a file cannot be read, or no single run of it was chosen.
    """
    from app.commands.run_files import opened_run
    from core.analysis.compare import compare

    with (
        opened_run(arguments.a, arguments.run_a, "--run-a") as a,
        opened_run(arguments.b, arguments.run_b, "--run-b") as b,
    ):
        found = compare(a, b)
        if arguments.json:
            print(json.dumps(found.to_json(), allow_nan=False))
        else:
            print("\n\n".join(_blocks(found, a, b, tokens=arguments.tokens)))
    return 0


def _blocks(found: Comparison, a: ReadableTrace, b: ReadableTrace, *, tokens: bool) -> list[str]:
    from core.analysis.compare import where_they_part

    blocks = [_figures(found), _settings(found), _branches(a, b), _plain(where_they_part(found, a, b))]
    return [block for block in [*blocks, _tokens(found, a, b) if tokens else ""] if block]


def _figures(found: Comparison) -> str:
    lines = [f"{'':<{NAME}}{'A':>16}{'B':>16}"]
    for field in fields(found.figures[0]):
        values = [_shown(field.name, getattr(one, field.name)) for one in found.figures]
        if values != ["–", "–"]:
            lines.append(f"{field.name.replace('_', ' '):<{NAME}}{values[0]:>16}{values[1]:>16}")
    return "\n".join(lines)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.1%}" if name in PER_CENT else f"{value:.2f}"
    return _short(str(value), 15)


def _settings(found: Comparison) -> str:
    """Every other setting on a line of its own."""
    lines = [f"  {one.name:<{NAME}}{_written(one.a)} → {_written(one.b)}" for one in found.settings]
    return "\n".join(["Settings that differ:", *lines]) if lines else "Both runs have the same settings and prompt."


def _branches(a: ReadableTrace, b: ReadableTrace) -> str:
    """Where each run that is a branch leaves its origin, and with what."""
    from core.analysis.branch_words import branch_line

    starts = [(name, one.started) for name, one in (("A", a), ("B", b))]
    return "\n".join(f"{name} is a branch {branch_line(one.branch)}." for name, one in starts if one and one.branch)


def _written(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False), LONGEST_VALUE)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _plain(words: str) -> str:
    """Words of the window without their markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", words)).replace("\u00a0", " ")


def _tokens(found: Comparison, a: ReadableTrace, b: ReadableTrace) -> str:
    lines = [f"{'token':>6}{'A':>5}{'B':>5}{'B-A':>6}  text of A | of B where it differs"]
    for token, same in enumerate(found.same):
        layers = [int(column[token]) for column in found.exit_layers]
        delta = f"{layers[1] - layers[0]:+d}" if all(layers) else "–"
        texts = [_text(one, token) for one in (a, b)]
        shown = texts[0] if same else " | ".join(texts)
        lines.append(f"{token + 1:>6}{layers[0] or '–':>5}{layers[1] or '–':>5}{delta:>6}  {shown}")
    return "\n".join(lines)


def _text(trace: ReadableTrace, token: int) -> str:
    from core.analysis.texts import visible

    if token >= trace.emitted_count:
        return "(ended)"
    return visible(trace.overview.texts[token], bool(trace.overview.special[token]))
