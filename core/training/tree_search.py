"""Which token tree is the fastest on this machine: what trees accept, times what passes cost here.

What a shape accepts is read off large trees that were recorded once (`core.analysis.tree_shapes`). What a pass costs is
timed for a few numbers of rows. Neither alone decides: a tree that accepts more may cost more than it gives.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from core.analysis.tree_shapes import Costs, Recorded, Shape, fastest_first, recorded
from core.choices import Head, KVPolicy, Policy
from core.config import RunSettings, TreeSettings
from core.context import Context, Fan
from core.drafting.growth import growth_of
from core.drafting.tree import TreeDrafter, ancestry
from core.engine import Engine, RunRequest
from core.errors import UserError
from core.exits.lens import Readout
from core.exits.requirements import check_parts
from core.exits.verification import Verifier
from core.progress import Progress, Report, check
from core.sampling import Chooser
from core.stopwatch import Clock

LARGE = TreeSettings("dynamic", nodes=64, depth=6, expand=8)
"""Holds whatever the shapes that are compared would hold, but for the unlikeliest of their nodes."""
STATIC = ("1", "1-1", "1-1-1", "2-1", "2-1-1", "3-1", "3-2-1", "4-2-1-1", "4-2-2-1-1")
MOST = 40
"""Nodes of the largest dynamic tree that is compared."""
TARGET_ROWS, DRAFT_ROWS = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24, 32, 41), (1, 2, 3, 4, 6, 8, 16)
CONTEXT = 160
"""Positions that timed passes attend to."""
REPEATS = 7


def record(
    engine: Engine, prompts: Sequence[str], head: Head, tokens: int, report: Report, cancel: threading.Event
) -> list[Recorded]:
    """Large trees over greedy answers to these prompts, of so many tokens each.

    Raises:
        Cancelled: `cancel` was set.
        UserError: a prompt cannot be run, or there is no drafter.
    """
    settings = RunSettings(Policy.DENSE, max_new_tokens=tokens, tree=LARGE, draft_head=head)
    found: list[Recorded] = []
    for number, prompt in enumerate(prompts):
        report(Progress("Recording large trees", number, len(prompts), "prompts"))
        found += recorded(engine.run(RunRequest(prompt, settings), cancel))
        check(cancel)
    if not found:
        raise UserError("The answers to these prompts are too short to compare trees on; give other prompts.")
    return found


class _Timer:
    """Times passes over a made-up context on one engine."""

    def __init__(self, engine: Engine, head: Head, clock: Clock) -> None:
        parts = engine.parts
        assert parts is not None, "`record` has refused a model without parts"
        self._decoder, self._drafter, self._clock = engine.model.decoder, parts.drafter, clock
        self._guesser = parts.guesser(self._decoder, head)
        vocabulary = self._decoder.config.vocabulary
        self._ids = torch.arange(1, 1 + CONTEXT, device=self._decoder.device) * 97 % vocabulary

    def spent(self, do: Callable[[], object]) -> float:
        """The least seconds: whatever else runs on the machine only ever adds to them."""
        times = []
        for _ in range(REPEATS):
            start = self._clock()
            do()
            times.append(self._clock() - start)
        return min(times)

    def target(self, rows: Sequence[int]) -> dict[int, float]:
        """A pass over a tree of so many rows, all layers."""
        decoder, context = self._decoder, Context(self._decoder, CONTEXT + 1, KVPolicy.RECOMPUTE, max(rows))
        decoder.forward(self._ids, 0, context.cache)
        context.length = CONTEXT

        def run(count: int) -> None:
            numbers = np.arange(count)
            depths = np.minimum(numbers, 1)
            seen = ancestry(numbers * 0 - (numbers == 0), depths)
            fan = Fan(torch.from_numpy(CONTEXT + depths), torch.from_numpy(seen))
            context.begin_tree(self._ids[:count], fan)
            for layer in range(decoder.config.depth):
                context.run_rows(layer)

        return {count: self.spent(lambda count=count: run(count)) for count in rows}  # type: ignore[misc]

    def head(self) -> float:
        """The check of one node at the last layer."""
        decoder = self._decoder
        verifier, state = Verifier(Readout(decoder), Chooser(RunSettings().sampling)), decoder.embed(self._ids[:1])
        return self.spent(lambda: verifier.check_rows(decoder.config.depth - 1, state, CONTEXT))

    def draft(self, rows: Sequence[int]) -> dict[int, float]:
        """A pass of the drafter over so many rows: what a second level adds to a tree of one."""
        one = self._grow(1, 1)
        return {1: one} | {count: max(self._grow(2, count) - one, 0.0) for count in rows if count > 1}

    def _grow(self, depth: int, expand: int) -> float:
        config = self._decoder.config
        tree = TreeSettings("dynamic", nodes=depth * expand, depth=depth, expand=expand)
        drafter = TreeDrafter(self._drafter, growth_of(tree, config), self._guesser, CONTEXT + REPEATS + 1)
        width = (len(self._drafter.taps) + 1) * config.hidden
        states = torch.zeros(CONTEXT, width, dtype=self._decoder.dtype, device=self._decoder.place.head)
        drafter.feed(self._ids, states)

        def grow() -> None:
            drafter.feed(self._ids[:1], states[:1])
            drafter.grow(int(self._ids[0]), depth, (), candidates=False)

        return self.spent(grow)


@torch.inference_mode()
def measure(engine: Engine, head: Head, report: Report, cancel: threading.Event, clock: Clock) -> Costs:
    """What passes cost on this machine.

    Raises:
        Cancelled: `cancel` was set.
    """
    timer = _Timer(engine, head, clock)
    report(Progress("Timing passes of the target"))
    target = timer.target(TARGET_ROWS)
    check(cancel)
    report(Progress("Timing passes of the drafter"))
    return Costs(target, timer.draft(DRAFT_ROWS), timer.head())


def search(
    engine: Engine,
    prompts: Sequence[str],
    head: Head,
    tokens: int,
    report: Report,
    cancel: threading.Event,
    clock: Clock = time.perf_counter,
) -> tuple[list[Shape], Costs]:
    """Shapes with what they should give here, the fastest first, and what that was reckoned from.

    Raises:
        Cancelled: `cancel` was set.
        UserError: the model has no drafter, its context is too short, or a prompt cannot be run.
    """
    settings = RunSettings(Policy.DENSE, tree=LARGE, draft_head=head)
    check_parts(settings, engine.parts, engine.model.info.name)
    if engine.model.config.context < CONTEXT + max(TARGET_ROWS):
        raise UserError(
            f"This model's context of {engine.model.config.context} tokens is too short to time trees in; give the "
            "tree yourself."
        )
    passes = record(engine, prompts, head, tokens, report, cancel)
    costs = measure(engine, head, report, cancel, clock)
    return fastest_first(passes, costs, STATIC, MOST), costs
