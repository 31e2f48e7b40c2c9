"""What a run has fed to the target model: its K/V, and the rows that skipped layers (`docs/rules.md`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import torch
import torch.nn.functional as F
from torch import Tensor

from core.choices import KVPolicy
from core.exits.pending import Group, Pending, merge
from core.model.decoder import Decoder
from core.model.kv_cache import Branches, Rows


@dataclass(frozen=True, slots=True)
class Fan:
    """How the nodes of a token tree lie and see each other. On the CPU."""

    positions: Tensor
    """Shape [n], int64: the root's position, and that of each node at its depth below it."""
    seen: Tensor
    """Shape [n, n], bool: each node sees itself and its ancestors."""


class Context:
    """The target's side of one run: prefill, then one pass a token or a tree, layer by layer."""

    def __init__(self, decoder: Decoder, capacity: int, kv_policy: KVPolicy, scratch: int = 0) -> None:
        """Room for `capacity` positions, and for trees of up to `scratch` nodes after them."""
        self.decoder, self.kv_policy, self.capacity = decoder, kv_policy, capacity
        self.cache = decoder.new_cache(capacity + scratch)
        self.length = 0
        """Context positions fed so far."""
        self.recomputed: list[tuple[int, int, int]] = []
        """What the pass caught up: (position, first layer, last layer + 1)."""
        self._pending = Pending()
        self._joined: dict[int, int] = {}
        self._group = Group([], torch.empty(0))
        """The pass's rows by slot: those that wait, then those that were fed."""
        self._rows: Rows | None = None
        self._fed = 0
        """Rows that the pass feeds."""
        self._fan: Fan | None = None

    def prefill_layer(self, layer: int, x: Tensor, rows: Rows) -> Tensor:
        """One layer over a chunk of the prompt, [n, d] to [n, d]."""
        return self.decoder.layer(layer, x, rows, self.cache)

    def begin(self, token_id: int) -> None:
        """Start a pass that feeds this token at the next position."""
        self._start(torch.tensor([token_id], device=self.decoder.device), None)
        self.length += 1

    def begin_tree(self, ids: Tensor, fan: Fan) -> None:
        """Start a pass that feeds a tree's tokens ids [n], the root at the next position; `keep` must follow."""
        self._start(ids, fan)

    def _start(self, ids: Tensor, fan: Fan | None) -> None:
        self._group = Group(list(range(self.length, self.length + len(ids))), self.decoder.embed(ids))
        self._fed, self._fan, self._rows, self._joined, self.recomputed = len(ids), fan, None, {}, []

    def run(self, layer: int) -> Tensor:
        """Run one layer for the fed token and for the rows that wait there; the fed token's hidden state [d]."""
        return self.run_rows(layer)[-1]

    def run_rows(self, layer: int) -> Tensor:
        """The same for all tokens that were fed, [n, d]."""
        if self._pending.waits_at(layer):
            self._join(layer)
        self._group.hidden = self._run_group(layer, self._group)
        return self._group.hidden[-self._fed :]

    @property
    def share_of_waiting(self) -> float:
        """The fraction of the pass's rows that are being caught up, 0…1."""
        rows = len(self._group.positions)
        return (rows - self._fed) / rows

    def keep(self, nodes: Sequence[int], layers_run: int) -> None:
        """Make the tree's path of `nodes`, the root first, the context's next positions, and drop its other rows."""
        waiting = len(self._group.positions) - self._fed
        self.cache.keep(self.length, self._fed, nodes, layers_run)
        kept = range(self.length, self.length + len(nodes))
        rows = [*range(waiting), *(waiting + node for node in nodes)]
        self._group = Group([*self._group.positions[:waiting], *kept], self._group.hidden[rows])
        self.length += len(nodes)
        self._fed, self._fan, self._rows = len(nodes), None, None

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
        for states in self.finish_rows(layers_run):
            yield states[-1]

    def finish_rows(self, layers_run: int) -> Iterator[Tensor]:
        """The same for all tokens that were fed, [n, d]; of a tree, for the path that was kept."""
        group, rows = self._group, self._rows
        for layer in range(layers_run, self.decoder.config.depth):
            if self._pending.waits_at(layer):
                group, rows = merge(self._pending.at(layer), group), None
            rows = rows or self._make_rows(group)
            group = Group(group.positions, self.decoder.layer(layer, group.hidden, rows, self.cache))
            self.cache.strike(layer, rows)
            yield self.decoder.home(group.hidden[-self._fed :])

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
        self._rows = self._rows or self._make_rows(self._group)
        for layer in range(layers_run, self.decoder.config.depth):
            self.decoder.write_kv(layer, self._group.hidden, self._rows, self.cache)

    def _join(self, layer: int) -> None:
        before = set(self._group.positions)
        self._group = self._pending.join(layer, self._group)
        self._joined |= {position: layer for position in self._group.positions if position not in before}
        self._rows = None

    def _run_group(self, layer: int, group: Group) -> Tensor:
        self._rows = self._rows or self._make_rows(group)
        return self.decoder.layer(layer, group.hidden, self._rows, self.cache)

    def _make_rows(self, group: Group) -> Rows:
        if self._fan is None:
            return self.decoder.rows(group.positions, self.length)
        waiting = len(group.positions) - self._fed
        slots = torch.tensor(group.positions)
        seen = F.pad(self._fan.seen, (0, 0, waiting, 0))
        branches = Branches(slots, self.length, self._fan.positions, seen)
        return self.decoder.tree_rows(torch.cat([slots[:waiting], self._fan.positions]), branches)
