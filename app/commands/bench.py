"""`specee-viewer bench`: our loops beside transformers' own, or the window's frame times, measured here and now."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands import console, fitting, options
from core.config import DType, Policy, RunSettings
from core.errors import UserError
from core.progress import Progress

if TYPE_CHECKING:
    import threading

    from app.commands.bench_contest import Contender, SameTokens, Turns
    from app.commands.opening import Opened
    from core.progress import Report

OUR_PROMPTS = (
    "Explain to a ten-year-old why the moon seems to change its shape.",
    "A shop sells pens at 3 for 2 euros. How much do 12 pens cost? Show each step.",
    "Write a Python function that returns the longest word of a sentence.",
    "Tell a short story about a lighthouse keeper who finds a message in a bottle.",
    "List five things to check before a long bicycle tour.",
    "Rewrite this politely: Send me the report by noon, I am tired of waiting.",
)
"""One each of: explanation, arithmetic, code, story, list, rewriting."""

_POLICIES = (Policy.DENSE, Policy.SPECEE_T1, Policy.SPECEE_T1T2)


def add_parser(commands: options.Commands) -> None:
    """Add `bench` to the program's commands."""
    parser = commands.add_parser(
        "bench",
        help="measure speed on this machine",
        description="Measure transformers' generate, our dense loop and SpecEE in turns on the same prompts, dtype and "
        "threads; or, with --window, how smoothly the window runs meanwhile. Use an idle machine.",
    )
    parser.set_defaults(action=bench)
    options.add_model(parser)
    parser.add_argument("--parts", metavar="FOLDER", type=Path, help="trained parts to use (default: the model's own)")
    parser.add_argument(
        "--prompts",
        metavar="FILE",
        type=Path,
        help="JSON Lines with a `prompt` in each line, or plain text with a prompt a line (default: six of ours)",
    )
    for flag, what, default in (
        ("--max-new-tokens", "number of new tokens", 64),
        ("--repeats", "number of repeats", 3),
    ):
        parser.add_argument(
            flag,
            metavar="N",
            type=options.whole(what, 2 if default == 64 else 1),
            default=default,
            help=f"{what} for each prompt (default: %(default)s)",
        )
    options.add_numerics(parser)
    parser.add_argument("--window", action="store_true", help="measure the window instead, in a process of its own")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def bench(arguments: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        UserError: the prompts, the model or its parts will not do.
    """
    if arguments.window:
        from app.commands import window_bench

        return window_bench.bench_window(arguments)
    return _bench_engine(arguments)


def _bench_engine(arguments: argparse.Namespace) -> int:
    prompts = read_prompts(arguments.prompts) if arguments.prompts else list(OUR_PROMPTS)
    from app.commands import bench_report
    from app.commands.bench_contest import contest

    with console.interruptible() as cancel, console.progress() as report:
        opened = _open(arguments, arguments.dtype, report, cancel)
        turns = contest(_contenders(opened, arguments), prompts, arguments.repeats, report, cancel)
        same = _same_tokens(arguments, opened, turns, prompts, report, cancel)
        report(Progress("Measuring the memory's bandwidth"))
        result = bench_report.result(opened.model, turns, same)
    print(json.dumps(result) if arguments.json else bench_report.table(result))
    return 0


def _open(arguments: argparse.Namespace, dtype: str | None, report: Report, cancel: threading.Event) -> Opened:
    from app.commands.opening import open_model

    return open_model(
        arguments.model, dtype=dtype, threads=arguments.threads, parts=arguments.parts, report=report, cancel=cancel
    )


def _contenders(opened: Opened, arguments: argparse.Namespace) -> list[Contender]:
    from app.commands.bench_contest import EngineContender, GenerateContender

    most, depth = arguments.max_new_tokens, opened.model.info.depth
    policies = [policy for policy in _POLICIES if opened.parts is not None or not policy.needs_parts]
    settings = [fitting.shrink(RunSettings(policy=policy, max_new_tokens=most), depth) for policy in policies]
    return [GenerateContender(opened, most), *(EngineContender(opened, each) for each in settings)]


def _same_tokens(
    arguments: argparse.Namespace,
    opened: Opened,
    turns: Turns,
    prompts: list[str],
    report: Report,
    cancel: threading.Event,
) -> SameTokens:
    """Whether dense and generate agree in float32, from the contest itself where that was run in float32."""
    from app.commands.bench_contest import GENERATE, compare_tokens, contest

    if opened.model.info.dtype != DType.FLOAT32:
        exact = _open(arguments, DType.FLOAT32, report, cancel)
        turns = contest(_contenders(exact, arguments)[:2], prompts, 1, report, cancel)
    return compare_tokens(turns[GENERATE], turns[Policy.DENSE])


def read_prompts(path: Path) -> list[str]:
    """The prompts in a JSON Lines or plain text file.

    Raises:
        UserError: the file cannot be read or holds no prompt.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        is_json = path.suffix in {".jsonl", ".json"}
        prompts = [json.loads(line)["prompt"] if is_json else line for line in lines if line.strip()]
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({os.strerror(error.errno or 0)}); choose a file of prompts."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not JSON Lines with a `prompt` in each line.") from error
    if not prompts or not all(isinstance(prompt, str) and prompt.strip() for prompt in prompts):
        raise UserError(f"{path} holds no prompt or an empty one; write one prompt a line.")
    return prompts
