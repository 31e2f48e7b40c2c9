"""The drafter: EAGLE-1's head, which guesses the next token from the target's last features.

x_t = fc([embedding(token_{t+1}); f_t]), one decoder layer with K/V of its own, output f̂_{t+1}; logits = LM head(f̂)
(EAGLE, Li et al. 2024; `docs/rules.md`). f_t is the target's normed hidden state norm(h) at the layer it left from; a
head with taps mixes into it, by one more product, the normed states of two lower layers (EAGLE-3, Li et al. 2025). When
the head goes on from its own output, f̂ takes the place of f.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from core.drafting.packed import PackedHead, pack_head
from core.drafting.taps import tap_layers
from core.errors import UserError
from core.model.config import ModelConfig
from core.model.decoder import Decoder, LayerWeights, run_layer
from core.model.kv_cache import KVCache, Rows

TAPS = "taps.weight"
"""Name of the weight that mixes taps and feature; a head that has it has taps."""


@dataclass(frozen=True, slots=True)
class Draft:
    """k speculative tokens for the next position."""

    ids: Tensor
    """Shape [k], int64, most likely first."""
    probabilities: Tensor
    """Shape [k], float32: shares of the whole vocabulary, or of those tokens that a trimmed head has."""


class DraftHead:
    """The drafter's weights; they share the target's embedding, LM head and RoPE."""

    def __init__(
        self,
        decoder: Decoder,
        fc: Tensor,
        fc_bias: Tensor | None,
        layers: Sequence[LayerWeights],
        mixing: Tensor | None = None,
    ) -> None:
        """`mixing` [d, (t + 1) d] turns t taps and the feature into one; None is a head without taps."""
        self.decoder, self.fc, self.fc_bias = decoder, fc, fc_bias
        self.layers, self.mixing = tuple(layers), mixing
        self.taps = () if mixing is None else tap_layers(decoder.config.depth)
        """The layers, 0-based, whose normed states the head wants before the feature."""
        self.packed: PackedHead | None = None
        """What `advance` and `run` compute with instead, where it is there."""

    def new_cache(self, capacity: int) -> KVCache:
        """An empty cache of the head's layers; slot i belongs to the pair (token i + 1, feature i)."""
        return KVCache(self.decoder.config, capacity, self.decoder.dtype, [self.decoder.place.head] * len(self.layers))

    def advance(self, ids: Tensor, states: Tensor, first: int, cache: KVCache) -> Tensor:
        """Take in tokens ids [n] with the states of the positions before them, as `fuse` takes them; f̂ [n, d]."""
        rows = self.decoder.rows(range(first, first + len(ids)), first + len(ids))
        return self.run(ids, self.packed.fuse(states) if self.packed else self.fuse(states), rows, cache)

    def run(self, ids: Tensor, features: Tensor, rows: Rows, cache: KVCache) -> Tensor:
        """The same for rows that may be a tree's, with features [n, d], fused or f̂."""
        if self.packed is not None:
            return self.packed.run(self.decoder.embed(ids), features, rows, cache)
        rows = rows.on(self.decoder.place.head)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            cache.write(layer, rows, k, v)
            return cache.attend(layer, rows, q, None)

        return self.through(self.combine(self.decoder.embed(ids), features), rows.cos, rows.sin, attend)

    def through(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Callable[..., Tensor]) -> Tensor:
        """The head's layers over x [..., n, d]; `attend` takes the layer's number before queries, keys and values."""
        for number, layer in enumerate(self.layers):
            x = run_layer(layer, self.decoder.config, x, cos, sin, partial(attend, number))
        return x

    def fuse(self, states: Tensor) -> Tensor:
        """The normed states of the taps and the feature, side by side [..., (t + 1) d], as one feature [..., d]."""
        return states if self.mixing is None else F.linear(states, self.mixing)

    def combine(self, embedded: Tensor, features: Tensor) -> Tensor:
        """fc over embeddings and features, [..., d] each to [..., d]."""
        return F.linear(torch.cat([self.decoder.home(embedded), features], -1), self.fc, self.fc_bias)

    def state(self) -> dict[str, Tensor]:
        """The head's own weights by name; `from_state` takes them back."""
        named = {"fc.weight": self.fc, "fc.bias": self.fc_bias, TAPS: self.mixing}
        for prefix, layer in zip(_PREFIXES, self.layers, strict=False):
            named |= {f"{prefix}{name}": getattr(layer, name) for name in _LAYER_TENSORS}
        return {name: weight for name, weight in named.items() if weight is not None}

    @classmethod
    def from_state(cls, decoder: Decoder, state: Mapping[str, Tensor]) -> DraftHead:
        """A head over `decoder` with these weights, in its dtype and on its device.

        Raises:
            UserError: a weight is missing or does not fit the target model.
        """
        layers = 1 + any(name.startswith(_PREFIXES[1]) for name in state)
        shapes = _shapes(decoder.config, layers)
        for name in shapes.keys() - _OPTIONAL - state.keys():
            raise UserError(f"The drafter lacks its weight {name}; train it again.")
        for name, weight in state.items():
            if shapes.get(name) != tuple(weight.shape):
                raise UserError(f"The drafter's weight {name} does not fit this model; train it again.")
        placed = {name: weight.to(decoder.place.head, decoder.dtype) for name, weight in state.items()}
        weights = [{name: placed.get(prefix + name) for name in _LAYER_TENSORS} for prefix in _PREFIXES[:layers]]
        found = [LayerWeights(**one) for one in weights]  # type: ignore[arg-type]
        head = cls(decoder, placed["fc.weight"], placed.get("fc.bias"), found, placed.get(TAPS))
        head.packed = pack_head(decoder.fused, head.fc, head.fc_bias, found, head.mixing)
        return head

    @classmethod
    def random(cls, decoder: Decoder, generator: torch.Generator, *, taps: bool = False, layers: int = 1) -> DraftHead:
        """An untrained head: small normal weights, norms at one, and taps that do not count yet."""
        state = {
            name: torch.ones(shape) if name.endswith("norm") else torch.randn(shape, generator=generator) * 0.02
            for name, shape in _shapes(decoder.config, layers).items()
            if name not in _OPTIONAL or name.endswith("attention_norm")
        }
        if taps:
            d = decoder.config.hidden
            state[TAPS] = torch.cat([torch.zeros(d, d * len(tap_layers(decoder.config.depth))), torch.eye(d)], 1)
        return cls.from_state(decoder, state)


_LAYER_TENSORS = tuple(name for name in LayerWeights.__slots__ if name != "rotates")
_PREFIXES = ("layer.", "second.")
_OPTIONAL = frozenset(
    f"{prefix}{name}" for prefix in _PREFIXES for name in ("attention_norm", "qkv_bias", "q_norm", "k_norm", "out_bias")
) | {"fc.bias", TAPS}


def _shapes(config: ModelConfig, layers: int) -> dict[str, tuple[int, ...]]:
    d, size = config.hidden, config.head_dim
    rows = (config.heads + 2 * config.kv_heads) * size
    layer = {
        "attention_norm": (d,),
        "qkv": (rows, d),
        "qkv_bias": (rows,),
        "q_norm": (size,),
        "k_norm": (size,),
        "out": (d, config.heads * size),
        "out_bias": (d,),
        "mlp_norm": (d,),
        "gate_up": (2 * config.mlp, d),
        "down": (d, config.mlp),
    }
    mixed = (len(tap_layers(config.depth)) + 1) * d
    shapes: dict[str, tuple[int, ...]] = {"fc.weight": (d, 2 * d), "fc.bias": (d,), TAPS: (d, mixed)}
    return shapes | {f"{prefix}{name}": shape for prefix in _PREFIXES[:layers] for name, shape in layer.items()}
