"""Tokens that left early and wait to be caught up (KV policy *recompute*, `docs/rules.md`)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(slots=True)
class Group:
    """Rows that have all run the same number of layers."""

    positions: list[int]
    """Rising context positions."""
    hidden: Tensor
    """Shape [n, d], hidden states after the layers run."""


class Pending:
    """Groups of waiting rows by the first layer they have not run.

    When a pass reaches such a layer, its group joins the pass's batch, so skipped K/V become exactly what a full-depth
    pass would have written.
    """

    def __init__(self) -> None:
        self._groups: dict[int, Group] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    @property
    def shallowest(self) -> int:
        """The first layer that any waiting row has not run."""
        return min(self._groups)

    def waits_at(self, layer: int) -> bool:
        """Whether a group must join before `layer` is run."""
        return layer in self._groups

    def at(self, layer: int) -> Group:
        """The rows that wait at `layer`, left waiting."""
        return self._groups[layer]

    def join(self, layer: int, group: Group | None) -> Group:
        """`group` and the rows that wait at `layer`, by rising position."""
        waiting = self._groups.pop(layer)
        return waiting if group is None else merge(waiting, group)

    def wait(self, layer: int, group: Group) -> None:
        """Let `group`, which has run the layers below `layer`, wait there."""
        self._groups[layer] = self.join(layer, group) if layer in self._groups else group


def merge(first: Group, second: Group) -> Group:
    """Both groups' rows, by rising position."""
    positions = first.positions + second.positions
    order = sorted(range(len(positions)), key=positions.__getitem__)
    hidden = torch.cat([first.hidden, second.hidden])
    if order != list(range(len(order))):
        hidden = hidden[order]
    return Group([positions[i] for i in order], hidden)
