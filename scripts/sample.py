"""Record the sample session: a few audited runs of the default model, as `specee-viewer run` makes them.

    python -m scripts.sample                 # into resources/sample
    python -m scripts.sample --out FILE.specee

Takes some minutes, needs the default model (`specee-viewer model fetch`) and the trained parts that ship with the
program. Everything is greedy and in float32, so that whoever runs it again gets the same tokens.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from app.cli import build_parser
from app.commands import setting_flags
from app.loader import LoadedEngine, ModelRequest, load_engine
from core.choices import DType, Record
from core.config import DEFAULT_MODEL
from core.trace.marks import Mark
from core.trace.session_writer import SessionWriter
from core.trace.trace import Trace
from resources.paths import SAMPLE


@dataclass(frozen=True, slots=True)
class Scene:
    """One run of the sample, by the words that `specee-viewer run` takes."""

    prompt: str
    flags: tuple[str, ...]


PAPER = ("--profile", "paper", "--threshold")
SCENES = (
    Scene("What is photosynthesis?", ("--policy", "specee-t1", *PAPER, "0.5", "--max-new-tokens", "64")),
    Scene("What is photosynthesis?", ("--policy", "specee-t1t2", "--max-new-tokens", "64")),
    Scene("안녕하세요! 커피 ☕ 한 잔에 대한 짧은 시를 써 주세요.", ("--policy", "specee-t1t2", *PAPER, "0.5")),
    Scene(
        "List the planets of the solar system in order.",
        ("--policy", "specee-t1t2", *PAPER, "0.15", "--tree", "2-1-1", "--max-new-tokens", "64"),
    ),
    Scene(
        "Explain in two sentences why the sky is blue.",
        ("--policy", "specee-t1t2", *PAPER, "0.7", "--max-new-tokens", "96"),
    ),
)
"""The paper's threshold and the recommended settings on one prompt, to be compared; characters that several tokens
share; a token tree; and, on show first, a run whose exits were right, wrong and refused."""
NOTES = {
    "right": "An early exit that was right: which layer let it go, and how sure was its predictor?",
    "wrong": "A wrong exit: full depth gives another token. Which threshold would have kept it?",
}


def record(engine: LoadedEngine, writer: SessionWriter) -> Trace:
    """Record every scene; returns the last one's trace."""
    trace = Trace()
    for number, scene in enumerate(SCENES):
        arguments = build_parser().parse_args(["run", "--prompt", scene.prompt, *scene.flags])
        about = engine.summary
        settings, _ = setting_flags.fit_model(
            setting_flags.settings_from(arguments),
            arguments,
            depth=about.info.depth,
            has_parts=about.has_parts,
            card=about.parts_card,
        )
        settings, trace = replace(settings, record=Record.AUDIT), Trace()
        for event in engine.run(scene.prompt, settings, number, threading.Event(), time.perf_counter):
            writer.take(event, engine.weights(settings))
            trace.append(event)
        print(f"{trace.emitted_count} tokens, {_tally(trace)}: {scene.prompt}", flush=True)
    return trace


def _tally(trace: Trace) -> str:
    early = int((trace.exit_layers < trace.depth).sum())
    return f"{early} early, {int(trace.overview.wrong.sum())} wrong, {int(trace.overview.refusals.sum())} refusals"


def marks_of(trace: Trace, run: int) -> list[Mark]:
    """A bookmark at the first token that shows each thing worth looking at."""
    seen = trace.overview
    right = (seen.exit_layers < trace.depth) & ~seen.wrong
    return [
        Mark(run, int(found.argmax()), note=NOTES[name])
        for name, found in (("right", right), ("wrong", seen.wrong))
        if found.any()
    ]


def main() -> int:
    """Record the session beside its place, then put it there."""
    parser = argparse.ArgumentParser(description="Record the sample session with the default model.")
    parser.add_argument("--out", type=Path, default=SAMPLE, help="where to (default: %(default)s)")
    out: Path = parser.parse_args().out
    request = ModelRequest(DEFAULT_MODEL, dtype=DType.FLOAT32, threads=1)
    engine = load_engine(request, lambda _: None, threading.Event())
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.partial")
    partial.unlink(missing_ok=True)
    writer = SessionWriter(partial, recording=False)
    last = record(engine, writer)
    for mark in marks_of(last, len(SCENES) - 1):
        writer.put_mark(mark)
    writer.close()
    partial.replace(out)
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
