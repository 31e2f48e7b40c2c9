"""Costs in layer-times, the unit in which exits are to be thought of: what a layer left out saves."""

from __future__ import annotations

import math

from core.analysis.costs import PARTS, Costs, verdict, verdict_of_token
from core.analysis.summaries import first_decided
from core.analysis.wording import bold, counted, joined
from core.trace.reading import ReadableTrace


def whole_run(found: Costs) -> str:
    """Whether a run's exits paid, in ms and in layer-times, or why that cannot be told (minimal HTML)."""
    if not found.possible:
        return f"This run is dense: {bold('no exit')} could happen, so none could pay."
    if found.paid is None:
        return _unknown(found)
    layers, spent = int(found.layers_saved.sum()), float(found.spent.sum()) / found.layer
    parts = [
        f"{name} {bold(f'{seconds / found.layer:z.1f}')}"
        for name, seconds in zip(PARTS, found.spent.sum(0), strict=True)
        if seconds
    ]
    listed = f" ({', '.join(parts)})" if parts else ""
    sums = (
        f"In layer-times ({bold(f'{found.layer * 1e3:.2f}')} ms each): {bold(layers)} saved against "
        f"{bold(f'{spent:z.1f}')} spent{listed}; the LM head takes "
        f"{bold(f'{found.head / found.layer:.1f}')}."
    )
    return joined(verdict(found), sums)


def one_token(trace: ReadableTrace, found: Costs, token: int) -> str:
    """Whether one token's exit paid, or why nothing is to be told of it (minimal HTML)."""
    if token == 0:
        return "The first token comes from the prompt’s own pass, which always runs to full depth."
    if token < first_decided(trace):
        return "This token was given to the branch: its pass decided nothing, so no exit could pay."
    first = int(trace.overview.passes[token])
    if first != token:
        return f"This token came with the pass of token {bold(first + 1)}, which carries the times of them all."
    words = verdict_of_token(found, token) if found.possible else ""
    if not words or not found.layer > 0:
        return words
    saved, spent = int(found.layers_saved[token]), float(found.spent[token].sum()) / found.layer
    net = saved - spent
    return joined(
        words,
        f"In layer-times: {counted(saved, 'layer')} against {bold(f'{spent:z.1f}')}, "
        f"{'a gain' if net > 0 else 'a loss'} of {bold(f'{abs(net):.1f}')}.",
    )


def _unknown(found: Costs) -> str:
    missing = "a layer" if math.isnan(found.layer) else "the LM head"
    return (
        f"Whether exits paid is not known: the time of {missing} cannot be told from this recording, which holds no "
        "pass that shows it."
    )
