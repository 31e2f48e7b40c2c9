"""`specee-viewer evaluate`: what a policy makes of prompts that nothing was trained on, held against full depth."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from app.choices import NO_TEMPLATE
from app.commands import console, model_card, options, prompt_files, setting_flags
from app.commands.figure_words import CURVE, shown
from core.errors import UserError
from core.training.prompts import Split

if TYPE_CHECKING:
    import threading

    from app.commands.opening import Opened
    from app.commands.prompt_files import FilePrompt
    from core.analysis.digest import Digest
    from core.analysis.evaluation import Figures
    from core.config import RunSettings
    from core.progress import Report

MAX_NEW_TOKENS = 64
EVERY = "all"
SPLITS = (*(split.value for split in Split), EVERY)


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
    prompt_files.add_prompts(parser)
    parser.add_argument(
        "--split",
        type=options.one_of("split", SPLITS),
        metavar=options.braces(SPLITS),
        default=Split.TEST.value,
        help="which of the prompts to take: `train` divides the same files the same way and never looks at the test "
        "prompts; prompts that the parts were made from are left out of `test` and `all` (default: %(default)s)",
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
    parser.add_argument(
        "--card",
        metavar="FILE",
        type=options.path,
        help="also write a model card of the trained parts with these figures",
    )


def evaluate(arguments: argparse.Namespace) -> int:
    """Measure and print; returns 0, or 1 where the engine failed midway.

    Raises:
        UserError: the prompts, a setting, the model or its parts will not do.
        Cancelled: Ctrl-C; nothing is printed.
    """
    base = dataclasses.replace(setting_flags.DEFAULTS, max_new_tokens=MAX_NEW_TOKENS)
    settings = setting_flags.settings_from(arguments, base)
    if arguments.card is not None:
        model_card.check_place(arguments.card)
    every = prompt_files.read_prompts(prompt_files.given(arguments))
    split = None if arguments.split == EVERY else Split(arguments.split)
    chosen = prompt_files.of_split(every, split)
    with console.interruptible() as cancel, console.progress() as report:
        opened = _open(arguments, report, cancel)
        if arguments.card is not None:
            model_card.check_parts(opened)
        settings, remarks = _fit(settings, arguments, opened)
        unseen, more = _unseen(chosen, split, opened)
        prompts = prompt_files.in_turns(unseen)[: arguments.limit]
        _check_lengths(opened, prompts, settings)
        try:
            digests = _run(opened, prompts, settings, report, cancel)
        except ArithmeticError as error:  # the run ended by itself and says why
            console.complain(error)
            return 1
    if len(prompts) < len(every):
        remarks.append(f"{len(prompts)} of {len(every)} prompts were taken (--split {arguments.split}).")
    for remark in remarks + more:
        console.note(remark)
    _report(digests, arguments, opened, settings)
    return 0


def _unseen(
    prompts: Sequence[FilePrompt], split: Split | None, opened: Opened
) -> tuple[Sequence[FilePrompt], list[str]]:
    """The prompts that the parts were not made from, and what is to be said of the others.

    Who asks for training or tune prompts gets them.

    Raises:
        UserError: there are no others.
    """
    seen = prompt_files.learned_from(opened.parts.card if opened.parts else {})
    unseen = [prompt for prompt in prompts if not seen(prompt.text)]
    count = len(prompts) - len(unseen)
    if not count:
        return prompts, []
    if split in (Split.TRAIN, Split.TUNE):
        return prompts, [f"The trained parts were made from {count} of these prompts, so the figures flatter them."]
    if not unseen:
        raise UserError(
            "The trained parts were made from all of these prompts; give others, or take --split tune to see how well "
            "they are known."
        )
    return unseen, [f"{count} prompts were left out: the trained parts were made from them."]


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
    info, parts = opened.model.info, opened.parts
    fitted, runs_dense = setting_flags.fit_model(
        settings, arguments, depth=info.depth, has_parts=parts is not None, card=parts.card if parts else {}
    )
    remark = f"Nothing is trained for {info.name}, so this is dense; `specee-viewer train` makes what SpecEE needs."
    remarks = [remark] if runs_dense else []
    if settings.chat_template and not opened.model.tokenizer.has_chat_template:
        remarks.append(NO_TEMPLATE)
    return fitted, remarks


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
) -> list[Digest]:
    from core.analysis.digest import digest
    from core.engine import Engine
    from core.evaluation import Prompt, evaluate_prompts

    asked = [Prompt(prompt.text, prompt.category) for prompt in prompts]
    engine = Engine(opened.model, opened.parts)
    return [digest(sample) for sample in evaluate_prompts(engine, asked, settings, report, cancel)]


def _report(digests: Sequence[Digest], arguments: argparse.Namespace, opened: Opened, settings: RunSettings) -> None:
    from core.analysis import evaluation

    overall, by_category = evaluation.figures_of(digests), evaluation.figures_by_category(digests)
    if arguments.card is not None:
        model_card.write(arguments.card, opened, settings, overall, by_category)
    if arguments.json:
        print(json.dumps({**overall, "by_category": by_category}))
    else:
        print(table(overall, by_category))


def table(overall: Figures, by_category: dict[str, Figures]) -> str:
    """A line a figure, a column for all prompts and one for each category."""
    columns = {"all": overall, **(by_category if len(by_category) > 1 else {})}
    widths = {name: max(len(name), 8) + 2 for name in columns}
    lines = [f"{'':<24}" + "".join(f"{name:>{widths[name]}}" for name in columns)]
    for figure in (name for name in overall if name != CURVE):
        cells = [f"{shown(figure, figures[figure]):>{widths[name]}}" for name, figures in columns.items()]
        lines.append(f"{figure.replace('_', ' '):<24}" + "".join(cells))
    return "\n".join([*lines, *curve_lines(overall.get(CURVE))])


def curve_lines(curve: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """The online hit rate over N, in words."""
    if not curve:
        return []
    points = [f"{one['window']}: {shown(CURVE, one['hit_rate'])} ({shown(CURVE, one['chance'])})" for one in curve]
    return ["", "Scheduler hit rate over N (by chance), every predictor on", *wrap(", ".join(points), 96)]
