"""Where a token's time goes, and what it should cost by counting (`docs/rules.md`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from app.commands.bench_contest import Pass
from core.trace.events import StageTimes

STAGES = tuple(field.name for field in dataclasses.fields(StageTimes) if field.name != "total")
OTHER, TOTAL = "other", "total"


def stages(passes: Sequence[Pass]) -> dict[str, float] | None:
    """Mean seconds a token by stage, what no stage holds as `other`, and their sum as `total`; None without tokens."""
    if not passes:
        return None
    found = {name: fmean(getattr(one.times, name) for one in passes) for name in STAGES}
    total = fmean(one.times.total for one in passes)
    return {**found, OTHER: total - sum(found.values()), TOTAL: total}


@dataclass(frozen=True, slots=True)
class Unit:
    """What things cost on this machine in one number format, taken from the dense loop."""

    layer: float
    """Seconds for one layer over one token."""
    head: float
    """Seconds for one product with the whole LM head."""
    depth: int

    @classmethod
    def of(cls, dense: Sequence[Pass], depth: int) -> Unit | None:
        """From dense passes; None where there are none."""
        times = stages(dense)
        if times is None or times["layers"] <= 0:
            return None
        return cls(times["layers"] / depth, times["verification"], depth)


def budget(passes: Sequence[Pass], mean_exit_layer: float, unit: Unit) -> dict[str, float] | None:
    """One token in layer-times: layers + LM heads + drafter + predictors, beside what dense and this one really took.

    `layers` counts layers run, `head` the heads at the dense loop's price; drafter and predictors are as measured, and
    so are the layers of a tree, as what many rows cost beside one is the machine's affair.
    What the sum leaves out (rows caught up, K/V filled, Python between the stages) is the difference to `measured`,
    which leaves recording out.
    """
    times = stages(passes)
    if times is None:
        return None
    parts = {
        "layers": times["layers"] / unit.layer if any(one.in_tree for one in passes) else mean_exit_layer,
        "head": fmean(one.heads for one in passes) * unit.head / unit.layer,
        "draft": times["draft"] / unit.layer,
        "predictor": times["predictor"] / unit.layer,
    }
    total, dense = sum(parts.values()), unit.depth + unit.head / unit.layer
    return {
        **parts,
        "total": total,
        "dense": dense,
        "ratio_to_dense": dense / total,
        "measured": (times[TOTAL] - times["recording"]) / unit.layer,
        "layer_seconds": unit.layer,
    }
