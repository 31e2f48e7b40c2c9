"""The target model, one layer at a time.

A lean forward pass over the weights of a Llama-like model: `embed`, then `layer` for each index, then `norm` and
`logits`. Rows are tokens of one sequence; there is no batch axis. It computes what transformers computes (tests hold
it to that), with Q, K and V, and gate and up, fused into one product each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from core.errors import UserError
from core.model.config import ModelConfig
from core.model.kv_cache import Branches, KVCache, Rows
from core.model.placement import Placement, on_one
from core.model.rope import RopeTable, rotate

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries, keys and values, each [..., n, heads, head_dim] after RoPE, to attention's result in the queries' shape."""


MANY_ROWS = 8
"""From so many rows on a CPU multiplies the head's float32 rows by them faster than the other way round: 30 rows of the
default model take 12 ms instead of 32, and instead of 26 packed."""
MANY_FOR_PACKED = 28
"""The same beside a packed head, which takes eight rows at once."""
COLUMNS = 4096
"""Logits of so many tokens are turned round while they are still in the cache; all at once took a sixth longer."""


class Linear(Protocol):
    """A product with weights that are not one plain tensor: packed, quantised, or of several modules."""

    def __call__(self, x: Tensor) -> Tensor:
        """Rows [..., in] to rows [..., out], the bias included."""


Weight = Tensor | Linear
"""A product's weights: a tensor [out, in], or an object that knows how to multiply."""


def product(x: Tensor, weight: Weight, bias: Tensor | None = None) -> Tensor:
    """Rows x [..., in] times the weight, [..., out]."""
    return F.linear(x, weight, bias) if isinstance(weight, Tensor) else weight(x)


class Fused:
    """Products of the same rows by several weights, side by side as one."""

    def __init__(self, parts: Sequence[Linear]) -> None:
        self._parts = parts

    def __call__(self, x: Tensor) -> Tensor:
        """Rows [..., in] to rows [..., sum of the parts' out]."""
        return torch.cat([part(x) for part in self._parts], -1)


class FusedLayers(Protocol):
    """All layers in another form than `LayerWeights`, each run at once by one piece of code (`core.model.native`)."""

    def layer(self, index: int, x: Tensor, rows: Rows, cache: KVCache) -> Tensor:
        """As `Decoder.layer`."""

    def write_kv(self, index: int, x: Tensor, rows: Rows, cache: KVCache) -> None:
        """As `Decoder.write_kv`."""


@dataclass(slots=True)
class LayerWeights:
    """One decoder layer."""

    attention_norm: Tensor | None
    """Shape [d]; None where the layer has no norm before attention, as in EAGLE's first."""
    qkv: Weight
    """Shape [(heads + 2 kv_heads) head_dim, d]."""
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    """Shape [head_dim]; Qwen3 only, as is `k_norm`."""
    k_norm: Tensor | None
    out: Weight
    """Shape [d, heads head_dim]."""
    out_bias: Tensor | None
    mlp_norm: Tensor
    gate_up: Weight
    """Shape [2 mlp, d], gate rows first."""
    down: Weight
    """Shape [d, mlp]."""
    rotates: bool = True
    """Whether queries and keys carry their positions; SmolLM3 has layers whose do not."""


def run_layer(w: LayerWeights, config: ModelConfig, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
    """One decoder layer over rows x [..., n, d]; the same code serves cached decoding and batched training."""
    mixed = attend(*project(w, config, x, cos, sin)).flatten(-2)
    x = x + product(mixed, w.out, w.out_bias)
    gate, up = product(F.rms_norm(x, (config.hidden,), w.mlp_norm, config.norm_eps), w.gate_up).chunk(2, -1)
    return x + product(F.silu(gate) * up, w.down)


def project(w: LayerWeights, config: ModelConfig, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of rows x [..., n, d], each [..., n, heads, head_dim], RoPE applied."""
    heads, kv_heads = config.heads, config.kv_heads
    normed = x if w.attention_norm is None else F.rms_norm(x, (config.hidden,), w.attention_norm, config.norm_eps)
    qkv = product(normed, w.qkv, w.qkv_bias).view(*x.shape[:-1], heads + 2 * kv_heads, config.head_dim)
    qk, v = qkv[..., : heads + kv_heads, :], qkv[..., heads + kv_heads :, :]
    if w.q_norm is not None and w.k_norm is not None:
        qk = _norm_heads(qk, w.q_norm, w.k_norm, config)
    if w.rotates:
        qk = rotate(qk, cos, sin)
    return qk[..., :heads, :], qk[..., heads:, :], v


def _norm_heads(qk: Tensor, q_norm: Tensor, k_norm: Tensor, config: ModelConfig) -> Tensor:
    q, k = qk[..., : config.heads, :], qk[..., config.heads :, :]
    shape = (config.head_dim,)
    return torch.cat(
        [F.rms_norm(q, shape, q_norm, config.norm_eps), F.rms_norm(k, shape, k_norm, config.norm_eps)], dim=-2
    )


class Decoder:
    """The target model's weights and the steps of its forward pass."""

    def __init__(
        self,
        config: ModelConfig,
        weights: Mapping[str, Weight],
        dtype: torch.dtype,
        place: torch.device | Placement,
    ) -> None:
        """Take over weights under their Hugging Face names; those of a layer's products may be packed.

        Raises:
            UserError: a weight is missing or has another shape than the config says.
        """
        self.config, self.dtype = config, dtype
        self.place = place if isinstance(place, Placement) else on_one(place, config.depth)
        self.device = self.place.embedding
        """Where token ids go in."""
        self._spread = len(self.place.devices) > 1
        d = config.hidden
        take = _Taker(weights, dtype, self.device)
        self.embedding = take("model.embed_tokens.weight", config.vocabulary, d)
        self.layers = [
            _layer_weights(_Taker(weights, dtype, device), config, index)
            for index, device in enumerate(self.place.layers)
        ]
        self.fused: FusedLayers | None = None
        """What runs the layers instead of `layers`, where it is there."""
        take = _Taker(weights, dtype, self.place.head)
        self.final_norm = take("model.norm.weight", d)
        self.head_weight = self.home(self.embedding) if config.tied else take("lm_head.weight", config.vocabulary, d)
        """W, shape [V, d]; its rows are what candidates are scored by."""
        self.head: Weight = self.head_weight
        """The LM head as a product; another format than `head_weight` where that is faster."""
        self.rope = RopeTable(config, dtype, self.device)

    def new_cache(self, capacity: int) -> KVCache:
        """An empty cache for up to `capacity` positions."""
        return KVCache(self.config, capacity, self.dtype, self.place.layers)

    def rows(self, positions: Sequence[int], span: int) -> Rows:
        """Describe rows at these rising positions, with slots 0…span-1 to attend to."""
        return self.rope.rows(positions, span)

    def tree_rows(self, positions: Tensor, branches: Branches) -> Rows:
        """Describe rows at these positions [n], some or all of them a token tree's."""
        return self.rope.tree_rows(positions, branches)

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids [n] to hidden states [n, d]."""
        return F.embedding(ids, self.embedding)

    def layer(self, index: int, x: Tensor, rows: Rows, cache: KVCache) -> Tensor:
        """Run one layer over hidden states [n, d], storing the rows' K/V in `cache`."""
        if self.fused is not None:
            return self.fused.layer(index, x, rows, cache)
        if self._spread:
            x, rows = self._cross(index, x, rows)
        window = self.config.windows[index]

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            cache.write(index, rows, k, v)
            return cache.attend(index, rows, q, window)

        return run_layer(self.layers[index], self.config, x, rows.cos, rows.sin, attend)

    def write_kv(self, index: int, x: Tensor, rows: Rows, cache: KVCache) -> None:
        """Store the K/V that hidden states [n, d] give in a layer, without running the layer."""
        if self.fused is not None:
            return self.fused.write_kv(index, x, rows, cache)
        if self._spread:
            x, rows = self._cross(index, x, rows)
        _, keys, values = project(self.layers[index], self.config, x, rows.cos, rows.sin)
        cache.write(index, rows, keys, values)

    def _cross(self, index: int, x: Tensor, rows: Rows) -> tuple[Tensor, Rows]:
        """Hidden states and rows on a layer's device; they are copied at a border only."""
        place = self.place.layers[index]
        return x.to(place), rows.on(place)

    def home(self, x: Tensor) -> Tensor:
        """A tensor where the head is."""
        return x.to(self.place.head) if self._spread else x

    def norm(self, x: Tensor) -> Tensor:
        """The model's final norm, [n, d] from any layer to [n, d] where the head is."""
        x = self.home(x)
        return F.rms_norm(x, (self.config.hidden,), self.final_norm, self.config.norm_eps)

    def logits(self, normed: Tensor) -> Tensor:
        """LM head over normed hidden states, [n, d] to [n, V]."""
        many = MANY_ROWS if isinstance(self.head, Tensor) else MANY_FOR_PACKED
        if len(normed) >= many and self.head_weight.dtype is torch.float32 and self.head_weight.is_cpu:
            return self._logits_of_many(normed)
        return product(normed, self.head)

    def _logits_of_many(self, normed: Tensor) -> Tensor:
        turned, logits = normed.t().contiguous(), normed.new_empty(len(normed), self.config.vocabulary)
        for first in range(0, self.config.vocabulary, COLUMNS):
            block = slice(first, first + COLUMNS)
            logits[:, block] = (self.head_weight[block] @ turned).t()
        return logits

    def forward(self, ids: Tensor, first: int, cache: KVCache) -> Tensor:
        """All layers over ids [n] at positions first…; the last layer's hidden states [n, d]."""
        rows = self.rows(range(first, first + len(ids)), first + len(ids))
        x = self.embed(ids)
        for index in range(self.config.depth):
            x = self.layer(index, x, rows, cache)
        return x


class _Taker:
    """Fetches weights by name, checks their shape, and converts them."""

    def __init__(self, weights: Mapping[str, Weight], dtype: torch.dtype, device: torch.device) -> None:
        self._weights, self._dtype, self._device = weights, dtype, device

    def __call__(self, name: str, *shape: int) -> Tensor:
        weight = self._weights.get(name)
        if not isinstance(weight, Tensor):
            raise UserError(f"The model lacks the weight {name}; download it again.")
        if tuple(weight.shape) != shape:
            raise UserError(
                f"The model's weight {name} has shape {list(weight.shape)} where its config.json says {list(shape)}; "
                "download it again."
            )
        return weight.to(self._device, self._dtype)

    def product(
        self, names: Sequence[str], outs: Sequence[int], size: int, biased: bool
    ) -> tuple[Weight, Tensor | None]:
        """The weights of products of the same rows as one, and their bias; packed ones bring their own."""
        found = [self._weights.get(f"{name}.weight") for name in names]
        packed = [weight for weight in found if weight is not None and not isinstance(weight, Tensor)]
        if packed:
            return (packed[0] if len(packed) == 1 else Fused(packed)), None
        weight = self._joined([f"{name}.weight" for name in names], outs, size)
        return weight, self._joined([f"{name}.bias" for name in names], outs) if biased else None

    def _joined(self, names: Sequence[str], outs: Sequence[int], *rest: int) -> Tensor:
        parts = [self(name, out, *rest) for name, out in zip(names, outs, strict=True)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


def _layer_weights(take: _Taker, config: ModelConfig, index: int) -> LayerWeights:
    d, size = config.hidden, config.head_dim
    prefix = f"model.layers.{index}."
    attention = prefix + "self_attn."
    q, kv = config.heads * size, config.kv_heads * size
    biased = config.attention_bias
    qkv, qkv_bias = take.product([f"{attention}{name}_proj" for name in "qkv"], [q, kv, kv], d, biased)
    out_biased = biased and config.architecture != "Qwen2ForCausalLM"
    out, out_bias = take.product([attention + "o_proj"], [d], q, out_biased)
    gate_up, _ = take.product([prefix + f"mlp.{name}_proj" for name in ("gate", "up")], [config.mlp] * 2, d, False)
    down, _ = take.product([prefix + "mlp.down_proj"], [d], config.mlp, False)
    return LayerWeights(
        attention_norm=take(prefix + "input_layernorm.weight", d),
        qkv=qkv,
        qkv_bias=qkv_bias,
        q_norm=take(attention + "q_norm.weight", size) if config.qk_norm else None,
        k_norm=take(attention + "k_norm.weight", size) if config.qk_norm else None,
        out=out,
        out_bias=out_bias,
        mlp_norm=take(prefix + "post_attention_layernorm.weight", d),
        gate_up=gate_up,
        down=down,
        rotates=config.rotary[index],
    )
