"""The cost bar: where each token's time went, and whether its exit paid.

An exit after e of L layers saves L - e layers. For that it pays the drafter (unless a token tree needs it anyway), the
predictors, the checks beyond the one LM head that every pass needs, and the rows that were left to be caught up.
With t the time of a layer over the pass's own rows, and h that of an LM head,

    saved = (L - e)·t        spent = draft + predictor + (verification - h) + (layers + recompute - e·t)

so that saved - spent is a pass to full depth, L·t + h, minus what this one took. t and h come from the run itself: t
from passes in which nothing was caught up, h from passes to full depth without a check. Recording is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.analysis.cost_reading import STAGES as STAGES
from core.analysis.cost_reading import Seconds as Seconds
from core.analysis.cost_reading import times_of, timings_of
from core.analysis.summaries import first_decided
from core.analysis.wording import bold, counted, joined
from core.choices import Policy
from core.config import RunSettings
from core.trace.events import BoolArray, ExitReason, IntArray
from core.trace.overview import REASONS
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord

PARTS = ("draft", "predictor", "checks", "catching up")
"""Columns of `Costs.spent`: what exits cost."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Times of a run's n emitted tokens. A tree's first token carries its whole pass; prefill's token has no exit."""

    stages: Seconds
    """Shape [n, stages], seconds; see `STAGES`."""
    layers_saved: IntArray
    """Shape [n], L - e, once a pass."""
    layer: float
    """Seconds of one layer; NaN where no pass tells."""
    head: float
    """Seconds of one product with the whole LM head; NaN where no pass tells."""
    spent: Seconds
    """Shape [n, 4], seconds that the chance to exit cost; see `PARTS`."""
    possible: bool
    """Whether the policy may exit early."""
    trees: bool
    """Whether the run decodes trees, whose drafting is not the exits' to pay."""

    @property
    def saved(self) -> Seconds:
        """Shape [n], seconds of the layers left out."""
        seconds: Seconds = np.where(self.layers_saved > 0, self.layers_saved * self.layer, 0.0)
        return seconds

    @property
    def net(self) -> Seconds:
        """Shape [n], seconds that a pass gained by being allowed to exit; negative where it lost."""
        seconds: Seconds = self.saved - self.spent.sum(1)
        return seconds

    @property
    def paid(self) -> bool | None:
        """Whether exits made the run faster; None where none could happen, or the time of a layer or a head is not
        known."""
        known = self.possible and not np.isnan(self.layer + self.head)
        return float(self.net.sum()) > 0 if known else None

    @property
    def measured(self) -> float:
        """Seconds of all tokens but the first, recording left out."""
        return float(self.stages[1:].sum() - self.stages[1:, STAGES.index("recording")].sum())


def costs(trace: ReadableTrace, watch: Callable[[int], object] | None = None) -> Costs:
    """Measure a run; `watch` is told the last token of those looked at, now and then, and may raise to end it."""
    swept = _sweep(trace, watch)
    stages, exits = swept.stages, trace.exit_layers[: len(swept.stages)]
    layer, head = _layer_seconds(swept, exits), _head_seconds(swept)
    settings = trace.started.settings if trace.started else RunSettings(Policy.DENSE)
    trees, possible = settings.tree.on, settings.policy is not Policy.DENSE
    draft, layers, predictor, verification, recompute = (stages[:, STAGES.index(name)] for name in _USED)
    spent = np.stack(
        [draft * (not trees), predictor, verification - head, layers + recompute - exits * layer],
        axis=1,
    )
    begins = swept.begins
    saved = np.where(begins, trace.depth - exits, 0)
    return Costs(stages, saved, layer, head, np.where(begins[:, None], spent, 0.0), possible, trees)


_USED = ("draft", "layers", "predictor", "verification", "recompute")


@dataclass(frozen=True, slots=True)
class _Sweep:
    """What the costs need of n tokens."""

    stages: Seconds
    """Shape [n, stages]."""
    alone: BoolArray
    """Shape [n], whether the pass caught no row up."""
    checks: IntArray
    """Shape [n], checks against the full vocabulary."""
    last: BoolArray
    """Shape [n], whether the pass ended at the last layer."""
    begins: BoolArray
    """Shape [n], tokens that begin a pass that was decided: not the prompt's own, and none given to a branch."""


def _sweep(trace: ReadableTrace, watch: Callable[[int], object] | None) -> _Sweep:
    count, read = trace.emitted_count, timings_of(trace, watch)
    tokens, seen = np.arange(count), trace.overview
    return _Sweep(
        stages=read.stages,
        alone=read.alone,
        checks=read.checks,
        last=seen.reasons[:count] == _LAST,
        begins=(seen.passes[:count] == tokens) & (tokens >= first_decided(trace)),
    )


_LAST = REASONS.index(ExitReason.LAST_LAYER)


def _layer_seconds(swept: _Sweep, exits: IntArray) -> float:
    """t: over the passes in which no row was caught up, else over all, with the time of these rows. NaN, too, where a
    recording holds no time of layers: another engine may tell a token's whole time only."""
    alone = swept.begins & swept.alone
    layers, recompute = (swept.stages[:, STAGES.index(name)] for name in ("layers", "recompute"))
    if alone.any():
        seconds = float(layers[alone].sum() / exits[alone].sum())
    elif swept.begins.any():
        seconds = float((layers + recompute)[swept.begins].sum() / exits[swept.begins].sum())
    else:
        seconds = 0.0
    return seconds if seconds > 0 else float("nan")


def _head_seconds(swept: _Sweep) -> float:
    """h: over the passes to full depth without a check, else over all, each with its checks and the last layer's."""
    verification = swept.stages[:, STAGES.index("verification")]
    alone = swept.begins & swept.last & (swept.checks == 0)
    if alone.any():
        return float(verification[alone].mean())
    heads = np.where(swept.begins, swept.checks + swept.last, 0).sum()
    return float(verification[swept.begins].sum() / heads) if heads else float("nan")


def verdict(found: Costs) -> str:
    """Whether the exits of a run paid, in sentences (minimal HTML); "" where that cannot be told."""
    if found.paid is None:
        return ""
    layers, saved = int(found.layers_saved.sum()), float(found.saved.sum())
    parts = [f"{name} {_ms(seconds)}" for name, seconds in zip(PARTS, found.spent.sum(0), strict=True) if seconds]
    net = float(found.net.sum())
    share = f" ({abs(net) / found.measured:.1%} of its time)" if found.measured > 0 else ""
    outcome = f"{bold('paid')}: they gained" if found.paid else f"{bold('did not pay')}: they cost"
    return joined(
        f"Leaving out {counted(layers, 'layer')} saved {_ms(saved)}; to find where, the run spent "
        f"{_ms(float(found.spent.sum()))} ({', '.join(parts) or 'nothing'}).",
        f"So the exits {outcome} {_ms(abs(net))}{share}.",
        "Drafting is not counted: the token tree needs it with exits or without." if found.trees else "",
    )


def verdict_of_token(found: Costs, token: int) -> str:
    """Whether one token's exit paid; "" for prefill, a tree's later tokens, and where that cannot be told."""
    net = float(found.net[token])
    if np.isnan(net) or not found.stages[token].sum() or not found.spent[token].any():
        return ""
    saved, spent = float(found.saved[token]), float(found.spent[token].sum())
    compared = "paid" if net > 0 else "did not pay"
    left_out = f"leaving out {counted(int(found.layers_saved[token]), 'layer')} saved {_ms(saved)}"
    return f"This pass {bold(compared)}: {left_out}, and finding where took {_ms(spent)}."


def stages_of(record: TokenRecord) -> Seconds:
    """One token's own times, shape [stages]; at once, where a whole run's take a while."""
    found: Seconds = times_of(record).stages[0]
    return found


def _ms(seconds: float) -> str:
    return f"{bold(f'{seconds * 1e3:z.1f}')} ms"
