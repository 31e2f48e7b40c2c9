"""The drafter on its own outputs, for whole sequences at once (EAGLE-3's training-time test, Li et al. 2025).

In a run the drafter sees the target's feature once, and goes on from its own f̂ until the target has verified. Step j
here is the j-th token of such a chain, at every place at once: slot s takes in its token with the f̂ that step j - 1
gave at slot s - 1, and sees the first step's entries up to slot s - j + 1, where its chain left the target's features,
then its own chain's, one of each step.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from core.drafting.head import DraftHead


def unroll(
    head: DraftHead, embedded: Tensor, states: Tensor, steps: int, going_on: Tensor | None = None
) -> list[Tensor]:
    """f̂ of each step, [b, n, d] each; step j's are true from slot j - 1 on.

    Args:
        head: the drafter.
        embedded: the tokens' embeddings, [b, n, d].
        states: the target's states before them as `DraftHead.fuse` takes them, [b, n, (t + 1) d].
        steps: how many tokens a chain has.
        going_on: the sequences [c] that have more than a first step, whose f̂ are [c, n, d] from the second on; all of
            them where it is None.
    """
    n = embedded.shape[1]
    rows = head.decoder.rows(range(n), n).on(head.decoder.place.head)
    features, found = head.fuse(states), []
    chain = _Chain(n, head.decoder.config.group)
    for _ in range(steps):
        predicted = head.through(head.combine(embedded, features), rows.cos, rows.sin, chain.attend)
        found.append(predicted)
        if chain.step == 1 and steps > 1 and going_on is not None:
            predicted, embedded = predicted[going_on], embedded[going_on]
            chain.narrow(going_on)
        features = _later(predicted, 1)
        chain.step += 1
    return found


class _Chain:
    """Entries of the steps so far, and who sees which."""

    def __init__(self, slots: int, group: int) -> None:
        self.step = 1
        self._slots, self._group = slots, group
        self._entries: dict[int, list[tuple[Tensor, Tensor]]] = {}

    def narrow(self, sequences: Tensor) -> None:
        """Keep the entries of these sequences only."""
        for entries in self._entries.values():
            entries[:] = [(k[sequences], v[sequences]) for k, v in entries]

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attention of queries [b, n, heads, size]; keys and values [b, n, kv_heads, size] are kept for later steps."""
        entries = self._entries.setdefault(layer, [])
        entries.append((k, v))
        keys, values = (each.transpose(1, 2) for each in entries[0])
        if self.step == 1:
            keys, values = (each.repeat_interleave(self._group, 1) for each in (keys, values))
            return F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, is_causal=True).transpose(1, 2)
        b, n, heads, size = q.shape
        grouped = q.view(b, n, heads // self._group, self._group, size) * size**-0.5
        rows = grouped.transpose(1, 2).reshape(b, heads // self._group, n * self._group, size)
        far = torch.matmul(rows, keys.transpose(2, 3)).add_(self._mask(q))
        near = [(grouped * self._own(key, m)).sum(-1) for m, (key, _) in self._later_steps(layer)]
        share = torch.cat([far, *(self._flat(each)[..., None] for each in near)], -1).softmax(-1)
        mixed = torch.matmul(share[..., :n], values)
        mixed = mixed.view(b, heads // self._group, n, self._group, size).transpose(1, 2)
        for at, (m, (_, value)) in enumerate(self._later_steps(layer)):
            weight = share[..., n + at].view(b, heads // self._group, n, self._group).transpose(1, 2)
            mixed = mixed + weight[..., None] * self._own(value, m)
        return mixed.reshape(b, n, heads, size)

    def _later_steps(self, layer: int) -> list[tuple[int, tuple[Tensor, Tensor]]]:
        return list(enumerate(self._entries[layer], 1))[1:]

    def _own(self, entry: Tensor, step: int) -> Tensor:
        """For each slot its chain's entry of that step, [b, n, kv_heads, 1, size]."""
        return _later(entry, self.step - step)[:, :, :, None]

    def _flat(self, scores: Tensor) -> Tensor:
        """[b, n, kv_heads, group] as the rows of `far`, [b, kv_heads, n group]."""
        return scores.transpose(1, 2).flatten(2)

    def _mask(self, q: Tensor) -> Tensor:
        """What is added to scores of the first step's entries, [n group, n]."""
        slots = torch.arange(self._slots, device=q.device)
        seen = slots[None] <= slots[:, None] - self.step + 1
        mask = torch.zeros(seen.shape, dtype=q.dtype, device=q.device).masked_fill_(~seen, -torch.inf)
        return mask.repeat_interleave(self._group, 0)


def _later(values: Tensor, slots: int) -> Tensor:
    """Values [b, n, …] moved `slots` slots on, zeros before them."""
    if not slots:
        return values
    return torch.cat([torch.zeros_like(values[:, :slots]), values[:, :-slots]], 1)
