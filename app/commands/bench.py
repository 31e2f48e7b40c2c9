"""`specee-viewer bench`: our loops beside transformers' own, or the window's frame times, measured here and now."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from app.commands import console, fitting, options, prompt_files, setting_flags, tree_flags
from core.config import policy_from_text
from core.progress import Progress

if TYPE_CHECKING:
    import threading

    from app.commands.bench_contest import Plan, Turns
    from app.commands.bench_field import Field
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

MINUTES = 4.5
LEAST_SECONDS = 5.0
"""What a contest gets even where loading has used up the time."""
TOKENS, REPEATS = 64, 3
"""Where a number was given for one of them only, or the window is measured."""


def add_parser(commands: options.Commands) -> None:
    """Add `bench` to the program's commands."""
    parser = commands.add_parser(
        "bench",
        help="measure speed on this machine",
        description="Measure transformers' generate (plain, with prompt lookup, and with early exit), our dense loop, "
        "SpecEE and AdaInfer in turns on the same prompts and threads, without recording, recording live, and "
        "audited; or, with --window, how smoothly the window runs meanwhile. Use an idle machine.",
    )
    parser.set_defaults(action=bench)
    options.add_model(parser)
    options.add_parts(parser)
    parser.add_argument(
        "--prompts",
        metavar="FILE",
        type=options.path,
        help="JSON Lines with a `prompt` in each line, or plain text with a prompt a line (default: six of ours)",
    )
    _add_amounts(parser)
    setting_flags.add_point(parser)
    tree_flags.add_tree(parser)
    parser.add_argument(
        "--also",
        metavar="POLICY",
        action="append",
        type=policy_from_text,
        help="a further policy to measure, as `run --policy` takes it (calm, oracle, fixed:N, …); may be repeated",
    )
    options.add_numerics(parser)
    parser.add_argument(
        "--search-trees",
        action="store_true",
        help="find the token tree that decodes fastest on this machine instead, from recorded drafts and timed passes",
    )
    parser.add_argument(
        "--window", dest="of_window", action="store_true", help="measure the window instead, in a process of its own"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def _add_amounts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--minutes",
        metavar="M",
        type=options.number("number of minutes", above=0),
        default=MINUTES,
        help="about how long it may take in all; a short pilot then chooses answers and repeats (default: %(default)s)",
    )
    parser.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=options.whole("number of new tokens", 2),
        help=f"the answers' length, instead of the pilot's choice (with --window: {TOKENS})",
    )
    parser.add_argument(
        "--repeats",
        metavar="N",
        type=options.whole("number of repeats", 1),
        help=f"how often each prompt is answered, instead of the pilot's choice (with --window: {REPEATS})",
    )


def bench(arguments: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        UserError: the prompts, the model or its parts will not do.
    """
    if arguments.of_window:
        from app.commands import window_bench

        return window_bench.bench_window(arguments)
    if arguments.search_trees:
        from app.commands import tree_search

        return tree_search.search_trees(arguments, prompts_of(arguments), _open)
    return _bench_engine(arguments)


def prompts_of(arguments: argparse.Namespace) -> list[str]:
    """The prompts to answer.

    Raises:
        UserError: the file will not do.
    """
    if arguments.prompts is None:
        return list(OUR_PROMPTS)
    return [prompt.text for prompt in prompt_files.read_prompts([arguments.prompts])]


def _bench_engine(arguments: argparse.Namespace) -> int:
    start, prompts = time.perf_counter(), prompts_of(arguments)
    settings = setting_flags.point_from(arguments)
    also = [fitting.with_policy(settings, policy) for policy in arguments.also or ()]
    from app.commands import bench_field, bench_report, bench_table
    from app.commands.bench_contest import contest

    with console.interruptible() as cancel, console.progress() as report:
        found = bench_field.gather(
            lambda dtype: _open(arguments, dtype, report, cancel),
            arguments.dtype,
            settings,
            also,
            lambda chosen, card: setting_flags.fill_in(chosen, arguments, card),
            lambda card: tree_flags.tree_for(arguments, card),
            report,
        )
        plan = _plan(found, prompts, arguments, start, report, cancel)
        turns = contest(found.contenders, prompts, plan, time.perf_counter, report, cancel)
        report(Progress("Measuring the memory's bandwidth"))
        done = _what_was_run(turns, plan, prompts, arguments, start)
        result = bench_report.result(found, turns, done)
    print(json.dumps(result) if arguments.json else bench_table.table(result))
    return 0


def _open(arguments: argparse.Namespace, dtype: str | None, report: Report, cancel: threading.Event) -> Opened:
    from app.commands.opening import open_model

    return open_model(
        arguments.model,
        dtype=dtype,
        device=arguments.device,
        threads=arguments.threads,
        parts=arguments.parts,
        report=report,
        cancel=cancel,
    )


def _plan(
    found: Field,
    prompts: list[str],
    arguments: argparse.Namespace,
    start: float,
    report: Report,
    cancel: threading.Event,
) -> Plan:
    """Warm everybody up, drop whoever fails, and choose how much to measure."""
    from app.commands import bench_plan
    from app.commands.bench_contest import Plan

    pilot = bench_plan.try_out(found.contenders, prompts[0], time.perf_counter, report, cancel)
    for label, why in pilot.failures.items():
        found.withdraw(label, why)
    if _is_given(arguments):
        return Plan(arguments.max_new_tokens or TOKENS, (arguments.repeats or REPEATS) * len(prompts))
    now = time.perf_counter()
    left = max(LEAST_SECONDS, 60 * arguments.minutes - (now - start))
    return bench_plan.plan(pilot.costs, len(prompts), left, now)


def _is_given(arguments: argparse.Namespace) -> bool:
    return arguments.max_new_tokens is not None or arguments.repeats is not None


def _what_was_run(
    turns: Turns, plan: Plan, prompts: list[str], arguments: argparse.Namespace, start: float
) -> dict[str, Any]:
    rounds = 1 + max(number for its in turns.values() for number in its)
    return {
        "rounds": rounds,
        "prompts": min(rounds, len(prompts)),
        "tokens": plan.tokens,
        "minutes": None if _is_given(arguments) else arguments.minutes,
        "slow_every": max(plan.every.values(), default=None),
        "seconds": time.perf_counter() - start,
    }
