"""`specee-viewer bench --window`: how early the window paints, and how evenly its thread runs while the engine works.

The window runs in a process of its own, started here and timed from its start, so that the first paint is a real one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from app.commands import bench, console
from core.errors import UserError

BUDGETS = {
    "first_paint_s": ("First paint after the process's start", "s", "at most 1"),
    "idle_gap_p99_ms": ("16 ms timer at rest, p99", "ms", ""),
    "idle_gap_max_ms": ("16 ms timer at rest, longest", "ms", ""),
    "gap_p99_ms": ("16 ms timer while generating, p99", "ms", "at most 4 above rest"),
    "gap_max_ms": ("16 ms timer while generating, longest", "ms", "at most 33"),
    "watch_gap_p99_ms": ("16 ms timer of an idle process meanwhile, p99", "ms", ""),
    "watch_gap_max_ms": ("16 ms timer of an idle process meanwhile, longest", "ms", ""),
    "stolen": ("Processors' time that others had meanwhile", "%", ""),
    "load_stall_ms": ("16 ms timer while torch and the model load, longest", "ms", "at most 200"),
    "scrub_fps": ("Scrubbing through a very long session", "fps", "at least 55"),
    "step_paint_ms": ("Key to all views of a recorded step, p99", "ms", "at most 16"),
    "step_cpu_ms": ("Processor's time of the window's thread in it, p99", "ms", ""),
    "idle_cpu": ("Processor at rest, of one core", "%", "at most 1"),
    "open_100k_s": ("Opening the very long session", "s", ""),
    "rss_growth": ("Memory over opening, scrubbing and running again", "%", "at most 5"),
}
"""What is measured, its unit, and what we hold ourselves to. Shares are 0…1 in JSON."""

SETTLE_MS = 1000
"""After loading, before rest is measured."""
REST_MS = 5000
"""How long the window is watched while nothing happens, once for its timer and once for the processor."""
LONG = {"tokens": 100_000, "moves": 600, "steps": 200, "rounds": 8}
"""What is done with the very long session (`app.commands.window_scrub.Effort`), which is made for the occasion: about
150 MB in the folder for temporary files."""

_CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from app.commands.window_probe import main
sys.exit(main(sys.argv[2]))
"""


def bench_window(arguments: argparse.Namespace) -> int:
    """Measure in a fresh process and print.

    Raises:
        UserError: the prompts or the model will not do.
    """
    prompts = bench.prompts_of(arguments)
    wanted = {
        "model": _fetched(arguments.model),
        "prompts": prompts * (arguments.repeats or bench.REPEATS),
        "max_new_tokens": arguments.max_new_tokens or bench.TOKENS,
        "dtype": arguments.dtype,
        "threads": arguments.threads,
        "settle_ms": SETTLE_MS,
        "rest_ms": REST_MS,
        "long": LONG,
    }
    measured = measure(wanted)
    print(json.dumps(measured) if arguments.json else table(measured))
    return 0


def _fetched(ref: str) -> str:
    """The model's folder: a download is no part of what is measured."""
    from core.model.store import ModelStore

    with console.interruptible() as cancel, console.progress() as report:
        return str(ModelStore().resolve(ref, report, cancel))


def measure(wanted: dict[str, Any]) -> dict[str, Any]:
    """Run the window with these orders and return its figures.

    Raises:
        UserError: the window met an error that the user can put right.
        RuntimeError: it met another one.
    """
    root = Path(__file__).resolve().parents[2]
    order = json.dumps({**wanted, "started_at": time.time()})
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(root), order],
        env=_environment(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode == 2:
        raise UserError(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise RuntimeError(f"the window ended with exit code {done.returncode}:\n{done.stderr}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _environment() -> dict[str, str]:
    """This process's environment, drawing off screen where there is no screen.

    Compiled modules are kept, as on a desktop: where they are not, each launch compiles all of ours again.
    """
    from app.screen import require_screen

    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept |= {"PYTHONIOENCODING": "utf-8"}
    try:
        require_screen(os.environ, sys.platform)
    except UserError:
        return kept | {"QT_QPA_PLATFORM": "offscreen"}
    return kept


def table(measured: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [_line(measured[key], *row) for key, row in BUDGETS.items()]
    memory = ", ".join(map(str, measured["rss_mib"]))
    about = (
        f"{measured['model']} in {measured['dtype']} on {measured['threads']} threads, {measured['tokens']} tokens "
        f"under {measured['policy']} at {measured['tokens_per_second']:.1f} tokens/s; drawn on "
        f"{measured['platform']}.\n"
        f"The very long session has {measured['long_tokens']} tokens; memory was {memory} MiB after each round."
    )
    return "\n".join([*lines, "", about])


def _line(value: float | None, what: str, unit: str, budget: str) -> str:
    if value is None:
        return f"{what:<52} not told by this system"
    digits = 2 if unit in ("s", "%") else 1
    shown = 100 * value if unit == "%" else value
    return f"{what:<52}{shown:>8.{digits}f} {unit:<4}{budget}".rstrip()
