"""The drafter: EAGLE-1's head, which guesses the next token from the target's last features.

x_t = fc([embedding(token_{t+1}); f_t]), one decoder layer with K/V of its own, output f̂_{t+1}; logits = LM head(f̂)
(EAGLE, Li et al. 2024; `specee.md` §5). f_t is the target's normed hidden state norm(h) at the layer it left from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.errors import UserError
from core.model.config import ModelConfig
from core.model.decoder import Decoder, LayerWeights, run_layer
from core.model.kv_cache import KVCache, Rows

Logits = Callable[[Tensor], Tensor]
"""An LM head: normed states or predicted features [n, d] to logits [n, V]."""


@dataclass(frozen=True, slots=True)
class Draft:
    """k speculative tokens for the next position."""

    ids: Tensor
    """Shape [k], int64, most likely first."""
    probabilities: Tensor
    """Shape [k], float32, over the whole vocabulary."""


class DraftHead:
    """The drafter's weights; they share the target's embedding, LM head and RoPE."""

    def __init__(self, decoder: Decoder, fc: Tensor, fc_bias: Tensor | None, layer: LayerWeights) -> None:
        self.decoder, self.fc, self.fc_bias, self.layer = decoder, fc, fc_bias, layer

    def new_cache(self, capacity: int) -> KVCache:
        """An empty one-layer cache; slot i belongs to the pair (token i + 1, feature i)."""
        return KVCache(self.decoder.config, capacity, self.decoder.dtype, [self.decoder.place.head])

    def advance(self, ids: Tensor, features: Tensor, first: int, cache: KVCache) -> Tensor:
        """Take in tokens ids [n] with the features [n, d] of the positions before them; f̂ [n, d]."""
        return self.run(ids, features, self.decoder.rows(range(first, first + len(ids)), first + len(ids)), cache)

    def run(self, ids: Tensor, features: Tensor, rows: Rows, cache: KVCache) -> Tensor:
        """The same for rows that may be a tree's."""
        rows = rows.on(self.decoder.place.head)
        x = self.combine(self.decoder.embed(ids), features)

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            cache.write(0, rows, k, v)
            return cache.attend(0, rows, q, None)

        return run_layer(self.layer, self.decoder.config, x, rows.cos, rows.sin, attend)

    def combine(self, embedded: Tensor, features: Tensor) -> Tensor:
        """fc over embeddings and features, [..., d] each to [..., d]."""
        return F.linear(torch.cat([self.decoder.home(embedded), features], -1), self.fc, self.fc_bias)

    def propose(self, predicted: Tensor, k: int, head: Logits | None = None) -> Draft:
        """The k best tokens after a predicted feature f̂ [d], by the target's LM head where no other is given."""
        logits = (head or self.decoder.logits)(predicted[None])[0].float()
        top = logits.topk(k)
        return Draft(top.indices, (top.values - logits.logsumexp(-1)).exp())

    def forward_batch(self, embedded: Tensor, features: Tensor) -> Tensor:
        """Whole sequences at once, [b, n, d] each to f̂ [b, n, d]; what training differentiates."""
        rows = self.decoder.rows(range(embedded.shape[1]), embedded.shape[1]).on(self.decoder.place.head)
        group = self.decoder.config.group

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = (t.repeat_interleave(group, -2).transpose(-3, -2) for t in (k, v))
            mixed = F.scaled_dot_product_attention(q.transpose(-3, -2), keys, values, is_causal=True)
            return mixed.transpose(-3, -2)

        x = self.combine(embedded, features)
        return run_layer(self.layer, self.decoder.config, x, rows.cos, rows.sin, attend)

    def state(self) -> dict[str, Tensor]:
        """The head's own weights by name; `from_state` takes them back."""
        named = {"fc.weight": self.fc, "fc.bias": self.fc_bias}
        named |= {f"layer.{name}": getattr(self.layer, name) for name in _LAYER_TENSORS}
        return {name: weight for name, weight in named.items() if weight is not None}

    @classmethod
    def from_state(cls, decoder: Decoder, state: Mapping[str, Tensor]) -> DraftHead:
        """A head over `decoder` with these weights, in its dtype and on its device.

        Raises:
            UserError: a weight is missing or does not fit the target model.
        """
        shapes = _shapes(decoder.config)
        for name in shapes.keys() - _OPTIONAL - state.keys():
            raise UserError(f"The drafter lacks its weight {name}; train it again.")
        for name, weight in state.items():
            if shapes.get(name) != tuple(weight.shape):
                raise UserError(f"The drafter's weight {name} does not fit this model; train it again.")
        placed = {name: weight.to(decoder.place.head, decoder.dtype) for name, weight in state.items()}
        layer = LayerWeights(**{name: placed.get(f"layer.{name}") for name in _LAYER_TENSORS})  # type: ignore[arg-type]
        return cls(decoder, placed["fc.weight"], placed.get("fc.bias"), layer)

    @classmethod
    def random(cls, decoder: Decoder, generator: torch.Generator) -> DraftHead:
        """An untrained head: small normal weights, norms at one."""
        state = {
            name: torch.ones(shape) if name.endswith("norm") else torch.randn(shape, generator=generator) * 0.02
            for name, shape in _shapes(decoder.config).items()
            if name not in _OPTIONAL or name == "layer.attention_norm"
        }
        return cls.from_state(decoder, state)


_LAYER_TENSORS = tuple(name for name in LayerWeights.__slots__ if name != "rotates")
_OPTIONAL = frozenset(f"layer.{name}" for name in ("attention_norm", "qkv_bias", "q_norm", "k_norm", "out_bias")) | {
    "fc.bias"
}


def _shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    d, size = config.hidden, config.head_dim
    rows = (config.heads + 2 * config.kv_heads) * size
    return {
        "fc.weight": (d, 2 * d),
        "fc.bias": (d,),
        "layer.attention_norm": (d,),
        "layer.qkv": (rows, d),
        "layer.qkv_bias": (rows,),
        "layer.q_norm": (size,),
        "layer.k_norm": (size,),
        "layer.out": (d, config.heads * size),
        "layer.out_bias": (d,),
        "layer.mlp_norm": (d,),
        "layer.gate_up": (2 * config.mlp, d),
        "layer.down": (d, config.mlp),
    }
