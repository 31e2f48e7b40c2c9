"""The layers below the last one whose states the drafter sees too, as EAGLE-3 does (Li et al., 2025)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def tap_layers(depth: int) -> tuple[int, ...]:
    """The last layer of a model's lower third and of its middle one, 0-based; fewer in a model of one or two layers.

    Both lie below nearly every exit, so what they say is there after an exit too.
    """
    return tuple(sorted({layer for layer in (depth // 3 - 1, 2 * depth // 3 - 1) if layer >= 0}))


def with_taps(
    norm: Callable[[Tensor], Tensor], hidden: Sequence[Tensor], normed: Tensor, taps: Sequence[int]
) -> Tensor:
    """What a drafter with these taps sees of positions [...], as `DraftHead.fuse` takes it, [..., (t + 1) d].

    Args:
        norm: the model's final norm.
        hidden: what layer 0, 1, … left, [..., d] each, as far as the pass went.
        normed: the normed state that it left with, [..., d]; it stands in for taps that the pass did not come to.
        taps: layers, 0-based.
    """
    import torch

    if not taps:
        return normed
    lower = [norm(hidden[tap]) if tap < len(hidden) else normed for tap in taps]
    return torch.cat([*lower, normed], -1)
