"""`specee-viewer evaluate`: what a policy makes of prompts that nothing was trained on, held against full depth."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands import console, options, prompt_files, setting_flags
from core.errors import UserError
from core.training.prompts import Split

if TYPE_CHECKING:
    import threading

    from app.commands.opening import Opened
    from app.commands.prompt_files import FilePrompt
    from core.analysis.evaluation import Figures, Sample
    from core.config import RunSettings
    from core.progress import Report

MAX_NEW_TOKENS = 64
EVERY = "all"
SPLITS = (*(split.value for split in Split), EVERY)
SHARES = {
    *("agreement", "agreement_dense", "exit_precision", "exit_share", "refusal_rate", "scheduler_hit_rate"),
    *("scheduler_chance", "predictor_time_share", "drafter_top1", "drafter_top4", "predictor_accuracy"),
    "shortlist_miss_rate",
}
"""Figures that people read in per cent."""


def add_parser(commands: options.Commands) -> None:
    """Add `evaluate` to the program's commands."""
    parser = commands.add_parser(
        "evaluate",
        help="measure how good a policy's answers and exits are",
        description="Answer prompts under a policy with every layer audited, and again with every layer run, and "
        "report agreement, perplexity, exits and the quality of drafter, predictors and scheduler. A figure that was "
        "not measured is null, or – in the table.",
    )
    parser.set_defaults(action=evaluate)
    parser.add_argument(
        "--prompts",
        metavar="FILE",
        nargs="+",
        type=Path,
        required=True,
        help="JSON Lines with a `prompt` and perhaps a `category` in each line, or plain text with a prompt a line",
    )
    parser.add_argument(
        "--split",
        type=options.one_of("split", SPLITS),
        metavar=options.braces(SPLITS),
        default=Split.TEST.value,
        help="which of the prompts to take: `train` divides the same files the same way and never looks at the test "
        "prompts (default: %(default)s)",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=options.whole("limit", 1),
        help="take at most N prompts, the categories in turn (default: all of the split)",
    )
    options.add_model(parser)
    options.add_parts(parser)
    setting_flags.add_settings(parser, max_new_tokens=MAX_NEW_TOKENS)
    options.add_numerics(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def evaluate(arguments: argparse.Namespace) -> int:
    """Measure and print; returns 0, or 1 where the engine failed midway.

    Raises:
        UserError: the prompts, a setting, the model or its parts will not do.
        Cancelled: Ctrl-C; nothing is printed.
    """
    settings = setting_flags.settings_from(arguments)
    every = prompt_files.read_prompts(arguments.prompts)
    split = None if arguments.split == EVERY else Split(arguments.split)
    prompts = prompt_files.in_turns(prompt_files.of_split(every, split))[: arguments.limit]
    with console.interruptible() as cancel, console.progress() as report:
        opened = _open(arguments, report, cancel)
        settings, remarks = _fit(settings, arguments, opened)
        _check_lengths(opened, prompts, settings)
        try:
            samples = _run(opened, prompts, settings, report, cancel)
        except ArithmeticError as error:  # the run ended by itself and says why
            console.complain(error)
            return 1
    if len(prompts) < len(every):
        remarks.append(f"{len(prompts)} of {len(every)} prompts were taken (--split {arguments.split}).")
    for remark in remarks:
        console.note(remark)
    _print(samples, as_json=arguments.json)
    return 0


def _open(arguments: argparse.Namespace, report: Report, cancel: threading.Event) -> Opened:
    from app.commands.opening import open_model

    return open_model(
        arguments.model,
        dtype=arguments.dtype,
        device=arguments.device,
        threads=arguments.threads,
        parts=arguments.parts,
        report=report,
        cancel=cancel,
    )


def _fit(settings: RunSettings, arguments: argparse.Namespace, opened: Opened) -> tuple[RunSettings, list[str]]:
    has_parts, info = opened.parts is not None, opened.model.info
    fitted, runs_dense = setting_flags.fit_model(settings, arguments, depth=info.depth, has_parts=has_parts)
    remark = f"Nothing is trained for {info.name}, so this is dense; `specee-viewer train` makes what SpecEE needs."
    return fitted, [remark] if runs_dense else []


def _check_lengths(opened: Opened, prompts: Sequence[FilePrompt], settings: RunSettings) -> None:
    """Refuse a prompt that does not fit before the first one is answered."""
    from core.decoding import encode_prompt

    for prompt in prompts:
        try:
            encode_prompt(opened.model, prompt.text, settings.chat_template)
        except UserError as error:
            raise UserError(f"The prompt {options.shown(prompt.text)} cannot be used: {error}") from error


def _run(
    opened: Opened, prompts: Sequence[FilePrompt], settings: RunSettings, report: Report, cancel: threading.Event
) -> list[Sample]:
    from core.engine import Engine
    from core.evaluation import Prompt, evaluate_prompts

    asked = [Prompt(prompt.text, prompt.category) for prompt in prompts]
    return list(evaluate_prompts(Engine(opened.model, opened.parts), asked, settings, report, cancel))


def _print(samples: Sequence[Sample], *, as_json: bool) -> None:
    from core.analysis import evaluation

    overall, by_category = evaluation.evaluate(samples), evaluation.evaluate_by_category(samples)
    print(json.dumps({**overall, "by_category": by_category}) if as_json else table(overall, by_category))


def table(overall: Figures, by_category: dict[str, Figures]) -> str:
    """A line a figure, a column for all prompts and one for each category."""
    columns = {"all": overall, **(by_category if len(by_category) > 1 else {})}
    widths = {name: max(len(name), 8) + 2 for name in columns}
    lines = [f"{'':<24}" + "".join(f"{name:>{widths[name]}}" for name in columns)]
    for figure in overall:
        cells = [f"{shown(figure, figures[figure]):>{widths[name]}}" for name, figures in columns.items()]
        lines.append(f"{figure.replace('_', ' '):<24}" + "".join(cells))
    return "\n".join(lines)


def shown(name: str, value: float | None) -> str:
    """One figure for people."""
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.2f}"
