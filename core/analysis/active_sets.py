"""What deciding a recording anew shares between single tokens and trees: settings, active sets, and doubts."""

from __future__ import annotations

import dataclasses
from collections import deque
from enum import IntFlag

import numpy as np

from core.choices import Policy
from core.config import RunSettings
from core.errors import UserError
from core.trace.events import BoolArray, IntArray

TOLERANCE = 1e-5
"""How far scores computed here and by the engine may lie apart; decisions nearer to their limit are in doubt."""

DECIDED_ANEW = ("policy", "threshold", "layer_thresholds", "gate", "scheduler")
"""The settings that may differ from the recording's."""


class Doubt(IntFlag):
    """Why a decision may differ from the engine's although nothing changed before it."""

    NONE = 0
    SCORE = 1
    """A score lies within `TOLERANCE` of its threshold."""
    MARGIN = 2
    """The margin at a check lies within `TOLERANCE` of the gate."""
    PREDICTOR = 4
    """Another active set changes the variations, but the recording holds no predictors to score them with."""
    SHORTLIST = 8
    """The low-rank head checks exits, and whether its shortlist holds the token here was not recorded."""


def check_settings(recorded: RunSettings, asked: RunSettings, depth: int, ranking: IntArray) -> None:
    """Refuse what cannot be decided anew. `ranking` lists the offline layers that are known, best first.

    Raises:
        UserError: the settings differ in more than `DECIDED_ANEW`, or need what was not recorded.
    """
    kept = {name: getattr(asked, name) for name in DECIDED_ANEW}
    if dataclasses.replace(recorded, **kept) != asked or not asked.policy.needs_parts:
        raise UserError(
            "Only the threshold, the margin gate, the scheduler and T1 or T1+T2 can be decided anew; "
            "run again to see what another setting does."
        )
    asked.check_against(depth)
    if asked.policy is Policy.SPECEE_T1T2 and asked.scheduler.offline_layers > len(ranking):
        raise UserError(
            f"The recording keeps the {len(ranking)} best offline layers; choose M up to {len(ranking)}, or run again."
        )


class ActiveSets:
    """T1's or T2's active sets from pass to pass, as `core.exits.scheduling` makes them, each as one number whose
    lowest bit is layer 0: unions cost nothing then. Equal exits in the ring change counters, never the sets."""

    def __init__(self, settings: RunSettings, depth: int, ranking: IntArray) -> None:
        """With an empty ring; `ranking` lists offline layers, best first."""
        predictors = (1 << (depth - 1)) - 1
        scheduler = settings.scheduler
        self._fixed = predictors
        self._around = [0] * depth
        if settings.policy is Policy.SPECEE_T1T2:
            self._fixed = sum(1 << int(layer) for layer in ranking[: scheduler.offline_layers])
            self._around = [_near(layer, scheduler.radius, depth) & predictors for layer in range(depth)]
        self._ring: deque[int] = deque(maxlen=scheduler.window)

    def next(self) -> int:
        """The layers watched for the next pass."""
        active = self._fixed
        for near in self._ring:
            active |= near
        return active

    def record(self, layer: int) -> None:
        """Enter the 0-based last layer that a token ran."""
        self._ring.append(self._around[layer])


def _near(layer: int, radius: int, depth: int) -> int:
    return sum(1 << at for at in range(max(0, layer - radius), min(depth, layer + radius + 1)))


def as_masks(rows: BoolArray) -> list[int]:
    """Each row as one number, layer 0 its lowest bit. Shape [n, L]."""
    packed = np.packbits(rows, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def as_rows(masks: list[int], depth: int) -> BoolArray:
    """What `as_masks` packed. Shape [n, depth]."""
    width = (depth + 7) // 8
    packed = np.frombuffer(b"".join(mask.to_bytes(width, "little") for mask in masks), np.uint8)
    return np.unpackbits(packed.reshape(-1, width), axis=1, count=depth, bitorder="little").astype(np.bool_)


def layers_in(mask: int) -> list[int]:
    """The layers of a set, from the lowest on."""
    return [layer for layer in range(mask.bit_length()) if mask >> layer & 1]
