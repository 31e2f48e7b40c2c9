"""The layers below the last one whose states the drafter sees too, as EAGLE-3 does (Li et al., 2025)."""

from __future__ import annotations


def tap_layers(depth: int) -> tuple[int, ...]:
    """The last layer of a model's lower third and of its middle one, 0-based; fewer in a model of one or two layers.

    Both lie below nearly every exit, so what they say is there after an exit too.
    """
    return tuple(sorted({layer for layer in (depth // 3 - 1, 2 * depth // 3 - 1) if layer >= 0}))
