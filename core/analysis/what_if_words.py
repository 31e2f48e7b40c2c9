"""What a what-if says and how far it can be trusted, in sentences (minimal HTML, as `core.analysis.why`)."""

from __future__ import annotations

import numpy as np

from core.analysis.active_sets import TOLERANCE, Doubt
from core.analysis.columns import AuditColumns
from core.analysis.what_if import Decisions
from core.analysis.wording import bold, counted, joined

_DOUBTS = {
    Doubt.SCORE: f"a score lies within {TOLERANCE:.5f} of its threshold",
    Doubt.MARGIN: f"the margin lies within {TOLERANCE:.5f} of the gate",
    Doubt.PREDICTOR: "the active set changes what a predictor sees, and the recording holds no predictors",
    Doubt.SHORTLIST: "the low-rank head’s shortlist was not recorded",
}


def how_exact(decided: Decisions, columns: AuditColumns) -> str:
    """Through which token the decisions are a run's, why they are an estimate beyond, and where they are in doubt."""
    first = decided.first_change
    if first is None:
        return joined("Every token leaves where it left in the recording.", in_doubt(decided, len(decided.changed)))
    start = f"Exact through {bold(f'token {first + 1}')}, which {_change(decided, columns, first)}."
    rest = ""
    if first + 1 < len(decided.changed):
        rest = (
            "What follows is an estimate, since the drafter’s input and the ring are no longer the recorded ones; "
            "only a run tells."
        )
    return joined(start, rest, in_doubt(decided, first + 1))


def _change(decided: Decisions, columns: AuditColumns, token: int) -> str:
    before, after = int(columns.exit_layers[token]), int(decided.exit_layers[token])
    moved = f"leaves after layer {bold(after)} instead of {bold(before)}"
    return moved + (" with another token" if decided.token_ids[token] != columns.token_ids[token] else "")


def in_doubt(decided: Decisions, count: int) -> str:
    """Why a run may decide otherwise at some of the first `count` tokens; "" where nothing is in doubt."""
    found = decided.doubts[:count]
    reasons = []
    for doubt, reason in _DOUBTS.items():
        tokens = np.flatnonzero(found & doubt)
        if len(tokens):
            reasons.append(f"At {counted(len(tokens), 'token')} (the first: {bold(int(tokens[0]) + 1)}) {reason}")
    return f"{'; '.join(reasons)}: a run may decide otherwise there." if reasons else ""


def figures(decided: Decisions) -> str:
    """Mean exit layer, early exits, refusals and agreement of the tokens after the first."""
    layers = decided.exit_layers[1:]
    if not len(layers):
        return ""
    known = decided.final_ids[1:] >= 0
    agreeing = f", {bold(f'{1 - decided.wrong[1:][known].mean():.1%}')} as full depth" if known.any() else ""
    return (
        f"Mean exit layer {bold(f'{layers.mean():.2f}')}, {bold(f'{decided.early[1:].mean():.1%}')} early, "
        f"{counted(int(decided.refusals[1:].sum()), 'refusal')}{agreeing}."
    )
