"""`specee-viewer run`: the window's run without the window, from the same engine and the same events."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.choices import NO_TEMPLATE
from app.commands import console, forking, options, setting_flags
from core.choices import DType
from core.errors import UserError

if TYPE_CHECKING:
    import threading

    from app.commands.recording import Keep
    from app.loader import LoadedEngine
    from core.trace.events import Event, FloatArray
    from core.trace.trace import Trace

RECORDS = ("off", "live", "audit")
LIVE = "live"


def add_parser(commands: options.Commands) -> None:
    """Add `run` to the program's commands."""
    parser = commands.add_parser(
        "run",
        help="generate text and print it as it comes",
        description="Generate text with early exits and print it as it comes. Ctrl-C stops between layers.",
    )
    parser.set_defaults(action=run)
    parser.add_argument("--prompt", metavar="TEXT", type=options.text_of("prompt"), help="what to ask the model")
    options.add_model(parser)
    options.add_parts(parser)
    setting_flags.add_settings(parser)
    options.add_numerics(parser)
    forking.add_fork(parser)
    parser.add_argument(
        "--record",
        type=options.one_of("recording", RECORDS),
        metavar=options.braces(RECORDS),
        help="keep nothing but the text, what the engine computes anyway, or also what every layer would have said, "
        "which measures agreement and takes longer (default: live, or as the run that is branched off)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=options.path,
        help="write the run to this new file, as a session where its name ends in .specee, else its events as JSON "
        "Lines; a file that is there is never overwritten",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the text")


def run(arguments: argparse.Namespace) -> int:
    """Generate; returns 0, 130 after Ctrl-C, or 1 where the engine failed midway.

    Raises:
        UserError: the prompt, a setting, the model, its parts or the file to write will not do.
    """
    if arguments.fork is not None:
        return _run_branch(arguments)
    settings = setting_flags.settings_from(arguments)
    _check(arguments)
    from app.commands.recording import Keep

    keep = Keep(arguments.record or LIVE)
    settings = dataclasses.replace(settings, record=keep.record)
    with console.interruptible() as stop:
        engine = _load(arguments, stop)
        about = engine.summary
        settings, runs_dense = setting_flags.fit_model(
            settings, arguments, depth=about.info.depth, has_parts=about.has_parts, card=about.parts_card
        )
        remarks = [f"{about.parts_problem} This run is dense."] if runs_dense else []
        if settings.chat_template and not about.has_chat_template:
            remarks.append(NO_TEMPLATE)
        events = engine.run(arguments.prompt, settings, 0, stop, time.perf_counter)
        with _written(arguments.out, events, engine.weights(settings)) as written:
            trace = _follow(written, keep, echo=not arguments.json, remarks=remarks)
    return _told(trace, arguments)


def _run_branch(arguments: argparse.Namespace) -> int:
    """Leave a recorded run and go on; as `run`."""
    forking.check(arguments)
    _check_target(arguments)
    from app.commands.recording import Keep

    with forking.opened(arguments) as origin, console.interruptible() as stop:
        settings, fork = origin.asked(arguments)
        engine = _load(arguments, stop)
        events = engine.run(fork.prompt, settings, origin.next_number, stop, time.perf_counter, fork)
        with _written(arguments.out, events, engine.weights(settings), origin) as written:
            trace = _follow(written, Keep(arguments.record or settings.record), echo=not arguments.json, remarks=())
    return _told(trace, arguments)


def _told(trace: Trace, arguments: argparse.Namespace) -> int:
    """The exit code, after the object that `--json` asks for."""
    if arguments.json:
        print(json.dumps(summary(trace)))
    return _exit_code(trace)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse before a model is loaded what can be seen without one."""
    forking.refuse_alone(arguments)
    if arguments.prompt is None:
        raise UserError("--prompt is missing; `specee-viewer run --help` lists what it takes.")
    if not arguments.prompt.strip():
        raise UserError("The prompt is empty; write what the model should answer.")
    _check_target(arguments)


def _check_target(arguments: argparse.Namespace) -> None:
    if arguments.out is None:
        return
    if arguments.record == "off":
        raise UserError("With --record off there is nothing to write; leave out --out, or record live or audit.")
    from app.commands.recording import check_target

    check_target(arguments.out)


def _load(arguments: argparse.Namespace, cancel: threading.Event) -> LoadedEngine:
    from app import loader

    wanted = loader.ModelRequest(
        ref=arguments.model,
        dtype=DType(arguments.dtype) if arguments.dtype else None,
        threads=arguments.threads,
        device=arguments.device,
        parts_folder=arguments.parts,
        fetch=True,
    )
    with console.progress() as report:
        return loader.load_engine(wanted, report, cancel)


@contextmanager
def _written(
    out: Path | None,
    events: Iterable[Event],
    weights: Mapping[str, FloatArray] | None,
    origin: forking.Origin | None = None,
) -> Iterator[Iterable[Event]]:
    """The events, each written to `out` before it is handed on, where a file was asked for."""
    if out is None:
        yield events
        return
    from app.commands.recording import saved

    with saved(out, events, weights, origin) as written:
        yield written


def _follow(events: Iterable[Event], keep: Keep, *, echo: bool, remarks: Sequence[str]) -> Trace:
    """Gather the run, printing its text as it comes.

    The remarks wait for the first event, so that a refusal is the only line on stderr.
    """
    from core.model.tokens import TextStream
    from core.trace.events import RunStarted, TokenEmitted
    from core.trace.trace import Trace

    trace, stream = Trace(), TextStream()
    for event in keep.kept(events):
        trace.append(event)
        for remark in remarks if isinstance(event, RunStarted) else ():
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
    """The object that `--json` prints; what only an audit tells (`docs/rules.md`) is null where the run had none."""
    from core.analysis import summaries
    from core.analysis.shortlist import shortlist_miss_rate

    return {
        "text": trace.text_bytes.decode("utf-8", errors="replace"),
        "token_ids": [record.emitted.token_id for record in trace.emitted if record.emitted],
        "exit_layers": trace.exit_layers.tolist(),
        "mean_exit_layer": summaries.mean_exit_layer(trace),
        "tokens_per_second": summaries.tokens_per_second(trace),
        "active_layers_mean": summaries.active_layers_mean(trace),
        "acceptance_length": summaries.acceptance_length(trace),
        "agreement": summaries.agreement(trace),
        "shortlist_miss_rate": shortlist_miss_rate(trace),
    }


def _exit_code(trace: Trace) -> int:
    from core.trace.events import EndReason

    reason = trace.ended.reason if trace.ended else EndReason.STOPPED
    if reason is EndReason.FAILED and trace.ended:
        console.note(trace.ended.detail)
        return 1
    return 130 if reason is EndReason.STOPPED else 0
