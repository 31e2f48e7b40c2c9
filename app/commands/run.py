"""`specee-viewer run`: the window's run without the window, from the same engine and the same events."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.commands import console, fitting, options
from core.config import DType, KVPolicy, Policy, RunSettings
from core.errors import UserError

if TYPE_CHECKING:
    import threading

    from app.loader import LoadedEngine
    from core.trace.events import Event
    from core.trace.trace import Trace

_DEFAULTS = RunSettings()


def add_parser(commands: options.Commands) -> None:
    """Add `run` to the program's commands."""
    parser = commands.add_parser(
        "run",
        help="generate text and print it as it comes",
        description="Generate text with early exits and print it as it comes. Ctrl-C stops between layers.",
    )
    parser.set_defaults(action=run)
    parser.add_argument("--prompt", metavar="TEXT", required=True, help="what to ask the model")
    options.add_model(parser)
    parser.add_argument("--parts", metavar="FOLDER", type=Path, help="trained parts to use (default: the model's own)")
    _add_settings(parser)
    options.add_numerics(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the text")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    def number_of(flag: str, what: str, default: int, text: str) -> None:
        # None marks a flag that was not given: only then may a default shrink to fit a shallow model.
        parser.add_argument(flag, metavar="N", type=options.whole(what), help=f"{text} (default: {default})")

    scheduler = _DEFAULTS.scheduler
    parser.add_argument(
        "--policy",
        type=options.one_of("policy", Policy),
        metavar=options.braces(Policy),
        help=f"which rule may end a token early (default: {_DEFAULTS.policy}, or dense where nothing is trained)",
    )
    parser.add_argument(
        "--threshold",
        type=options.number("threshold"),
        metavar="P",
        default=_DEFAULTS.threshold,
        help="an exit is proposed where the predictor's score is above this (default: %(default)s)",
    )
    number_of("--window", "window N", scheduler.window, "N, how many past exits the scheduler remembers")
    number_of("--radius", "radius r", scheduler.radius, "r, how many layers around a past exit become active")
    number_of(
        "--offline-layers", "number of offline layers M", scheduler.offline_layers, "M, layers that are always active"
    )
    parser.add_argument(
        "--kv-policy",
        type=options.one_of("KV policy", KVPolicy),
        metavar=options.braces(KVPolicy),
        default=_DEFAULTS.kv_policy.value,
        help="what happens to the K/V of skipped layers (default: %(default)s)",
    )
    number_of("--max-new-tokens", "number of new tokens", _DEFAULTS.max_new_tokens, "stop after this many")
    parser.add_argument(
        "--no-chat-template", action="store_true", help="feed the prompt as it is, without the model's chat format"
    )


def run(arguments: argparse.Namespace) -> int:
    """Generate; returns 0, 130 after Ctrl-C, or 1 where the engine failed midway.

    Raises:
        UserError: the prompt, a setting, the model or its parts will not do.
    """
    settings = _settings(arguments)
    _check_prompt(arguments.prompt)
    with console.interruptible() as stop:
        engine = _load(arguments, stop)
        settings = _fit_depth(settings, engine.summary.info.depth, arguments)
        runs_dense = arguments.policy is None and not engine.summary.has_parts
        if runs_dense:
            settings = dataclasses.replace(settings, policy=Policy.DENSE)
        remark = f"{engine.summary.parts_problem} This run is dense." if runs_dense else None
        events = engine.run(arguments.prompt, settings, 0, stop, time.perf_counter)
        trace = _follow(events, echo=not arguments.json, remark=remark)
    if arguments.json:
        print(json.dumps(summary(trace)))
    return _exit_code(trace)


def _load(arguments: argparse.Namespace, cancel: threading.Event) -> LoadedEngine:
    from app import loader

    wanted = loader.ModelRequest(
        ref=arguments.model,
        dtype=DType(arguments.dtype) if arguments.dtype else None,
        threads=arguments.threads,
        parts_folder=arguments.parts,
        fetch=True,
    )
    with console.progress() as report:
        return loader.load_engine(wanted, report, cancel)


def _settings(arguments: argparse.Namespace) -> RunSettings:
    scheduler = _given(arguments, ("window", "radius", "offline_layers"))
    return RunSettings(
        policy=Policy(arguments.policy) if arguments.policy else _DEFAULTS.policy,
        threshold=arguments.threshold,
        scheduler=dataclasses.replace(_DEFAULTS.scheduler, **scheduler),
        kv_policy=KVPolicy(arguments.kv_policy),
        chat_template=not arguments.no_chat_template,
        **_given(arguments, ("max_new_tokens",)),
    )


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _check_prompt(prompt: str) -> None:
    # The engine refuses an empty prompt too; here it is refused before a model is loaded for it.
    if not prompt.strip():
        raise UserError("The prompt is empty; write what the model should answer.")
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError("The prompt holds bytes that are not UTF-8 text; give it as UTF-8.") from None


def _fit_depth(settings: RunSettings, depth: int, arguments: argparse.Namespace) -> RunSettings:
    """Let the defaults of M and r shrink to a shallow model; what was given must fit as it is.

    Raises:
        UserError: it does not.
    """
    not_given = [name for name in fitting.DEPTH_BOUND if getattr(arguments, name) is None]
    fitted = fitting.shrink(settings, depth, not_given)
    fitted.check_against(depth)
    return fitted


def _follow(events: Iterable[Event], *, echo: bool, remark: str | None) -> Trace:
    """Gather the run, printing its text as it comes.

    The remark waits for the first event, so that a refusal is the only line on stderr.
    """
    from core.model.tokens import TextStream
    from core.trace.events import RunStarted, TokenEmitted
    from core.trace.trace import Trace

    trace, stream = Trace(), TextStream()
    for event in events:
        trace.append(event)
        if isinstance(event, RunStarted) and remark:
            console.note(remark)
        if echo and isinstance(event, TokenEmitted) and not event.special:
            _print_now(stream.feed(event.token_bytes))
    if echo:
        _print_now(stream.close() + "\n")
    return trace


def _print_now(text: str) -> None:
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


def summary(trace: Trace) -> dict[str, Any]:
    """The object that `--json` prints; `agreement` is null because a live run never measures it (`specee.md` §0)."""
    from core.analysis import summaries

    return {
        "text": trace.text_bytes.decode("utf-8", errors="replace"),
        "token_ids": [record.emitted.token_id for record in trace.emitted if record.emitted],
        "exit_layers": trace.exit_layers.tolist(),
        "mean_exit_layer": summaries.mean_exit_layer(trace),
        "tokens_per_second": summaries.tokens_per_second(trace),
        "active_layers_mean": summaries.active_layers_mean(trace),
        "agreement": None,
    }


def _exit_code(trace: Trace) -> int:
    from core.trace.events import EndReason

    reason = trace.ended.reason if trace.ended else EndReason.STOPPED
    if reason is EndReason.FAILED and trace.ended:
        console.note(trace.ended.detail)
        return 1
    return 130 if reason is EndReason.STOPPED else 0
