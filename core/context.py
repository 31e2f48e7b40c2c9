"""What a run has fed to the target model: its K/V, and the rows that skipped layers (`specee.md` §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import torch
from torch import Tensor

from core.config import KVPolicy
from core.exits.pending import Group, Pending, merge
from core.model.decoder import Decoder
from core.model.kv_cache import Rows


class Context:
    """The target's side of one run: prefill, then one pass a token, layer by layer."""

    def __init__(self, decoder: Decoder, capacity: int, kv_policy: KVPolicy) -> None:
        self.decoder, self.kv_policy = decoder, kv_policy
        self.cache = decoder.new_cache(capacity)
        self.length = 0
        """Context positions fed so far."""
        self.recomputed: list[tuple[int, int, int]] = []
        """What the pass caught up: (position, first layer, last layer + 1)."""
        self._pending = Pending()
        self._joined: dict[int, int] = {}
        self._group = Group([], torch.empty(0))
        self._rows: Rows | None = None

    def prefill_layer(self, layer: int, x: Tensor, rows: Rows) -> Tensor:
        """One layer over a chunk of the prompt, [n, d] to [n, d]."""
        return self.decoder.layer(layer, x, rows, self.cache)

    def begin(self, token_id: int) -> None:
        """Start a pass that feeds this token at the next position."""
        ids = torch.tensor([token_id], device=self.decoder.device)
        self._group = Group([self.length], self.decoder.embed(ids))
        self._rows = None
        self._joined = {}
        self.recomputed = []
        self.length += 1

    def run(self, layer: int) -> Tensor:
        """Run one layer for the fed token and for the rows that wait there; the fed token's hidden state [d]."""
        if self._pending.waits_at(layer):
            self._join(layer)
        self._group.hidden = self._run_group(layer, self._group)
        return self._group.hidden[-1]

    @property
    def share_of_waiting(self) -> float:
        """The fraction of the pass's rows that are being caught up, 0…1."""
        rows = len(self._group.positions)
        return (rows - 1) / rows

    def end(self, layers_run: int) -> None:
        """End the pass after `layers_run` layers and see to the K/V that this leaves missing."""
        self.recomputed = [(position, first, layers_run) for position, first in self._joined.items()]
        if layers_run == self.decoder.config.depth:
            return
        match self.kv_policy:
            case KVPolicy.RECOMPUTE:
                self._pending.wait(layers_run, self._group)
            case KVPolicy.PROPAGATE:
                self._propagate(layers_run)
            case KVPolicy.HOLE:
                self.cache.skip(layers_run)
            case _:
                assert_never(self.kv_policy)

    def finish(self, layers_run: int) -> Iterator[Tensor]:
        """What the fed token's hidden state [d] would be after each layer from `layers_run`, the layers run so far, on.

        Decoding is left as it was, also where the iterator is left halfway: the rows that wait are looked at, not
        moved, and the entries written here are struck from the cache again. Slots without an entry are never read
        before they are written.
        """
        group, rows = self._group, self._rows
        for layer in range(layers_run, self.decoder.config.depth):
            if self._pending.waits_at(layer):
                group, rows = merge(self._pending.at(layer), group), None
            rows = rows or self.decoder.rows(group.positions, self.length)
            group = Group(group.positions, self.decoder.layer(layer, group.hidden, rows, self.cache))
            self.cache.strike(layer, rows)
            yield self.decoder.home(group.hidden[-1])

    def flush(self) -> None:
        """Catch up every waiting row to full depth."""
        group: Group | None = None
        self._rows = None
        for layer in range(self._pending.shallowest if self._pending else 0, self.decoder.config.depth):
            if self._pending.waits_at(layer):
                group = self._pending.join(layer, group)
                self._rows = None
            if group is not None:
                group.hidden = self._run_group(layer, group)

    def _propagate(self, layers_run: int) -> None:
        """CALM's way: the state that the token left with stands in for the layers it skipped."""
        if self._rows is None:
            self._rows = self.decoder.rows(self._group.positions, self.length)
        for layer in range(layers_run, self.decoder.config.depth):
            self.decoder.write_kv(layer, self._group.hidden, self._rows, self.cache)

    def _join(self, layer: int) -> None:
        before = set(self._group.positions)
        self._group = self._pending.join(layer, self._group)
        self._joined |= {position: layer for position in self._group.positions if position not in before}
        self._rows = None

    def _run_group(self, layer: int, group: Group) -> Tensor:
        if self._rows is None:
            self._rows = self.decoder.rows(group.positions, self.length)
        return self.decoder.layer(layer, group.hidden, self._rows, self.cache)
