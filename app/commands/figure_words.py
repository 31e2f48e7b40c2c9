"""How a figure of an evaluation is written for people."""

from __future__ import annotations

CURVE = "hit_rate_curve"
SHARES = {
    CURVE,
    *("agreement", "agreement_dense", "exit_precision", "exit_share", "refusal_rate", "scheduler_hit_rate"),
    *("scheduler_chance", "predictor_time_share", "drafter_top1", "drafter_top4", "predictor_accuracy"),
    "shortlist_miss_rate",
}
"""Figures that people read in per cent."""


def shown(name: str, value: float | None) -> str:
    """One figure for people."""
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.2f}"
