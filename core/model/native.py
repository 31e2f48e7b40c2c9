"""The weight format `native`: the model's own 4-bit grid, multiplied as it is, one compiled function a layer.

On a CPU a token's time is the time to read the weights. A model dequantised from a 4-bit GGUF lies on a grid that takes
a sixth of float32's bytes; `core.model.native_grid` finds it again, exactly, and `core.model.native_kernels` computes
with it in float32. So logits equal the float32 model's but for the order of additions.
"""

from __future__ import annotations

import importlib
import threading
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.errors import UserError
from core.model.config import ModelConfig
from core.model.decoder import Decoder, LayerWeights
from core.model.kv_cache import KVCache, Rows
from core.model.native_grid import (
    BLOCK,
    LANES,
    eight_bit_grid,
    four_bit_grid,
    gate_up_order,
    nearest_eight_bits,
    pack_eight_bit,
    pack_four_bit,
    pack_plain,
    pack_wide_eight_bit,
)
from core.model.native_team import Room, Team
from core.progress import Progress, Report, check, quiet

PRODUCTS = ("qkv", "out", "gate_up", "down")
ALIGNED = 64
"""Bytes of a cache line."""


def make_native(decoder: Decoder, report: Report = quiet, cancel: threading.Event | None = None) -> None:
    """Turn a float32 decoder into one that runs packed layers, and drop its dense ones.

    The LM head is packed where it lies on an 8-bit grid, and stays float32 where not.

    Raises:
        Cancelled: `cancel` was set.
        UserError: numba is not installed, or the layers' weights are on no 4-bit grid.
    """
    kernels = _kernels()
    packed = []
    for index, layer in enumerate(decoder.layers):
        check(cancel)
        report(Progress("Packing the layers", index, len(decoder.layers), "layers"))
        packed.append({name: _packed(getattr(layer, name), name, decoder.config.mlp) for name in PRODUCTS})
    head = eight_bit_grid(decoder.head_weight)
    packed.append({} if head is None else {"head": pack_eight_bit(head)})
    packed = _side_by_side(packed)
    check(cancel)
    report(Progress("Compiling the native layers, once for this machine"))
    team, config = Team(), decoder.config
    weights = [_by_name(layer) | more for layer, more in zip(decoder.layers, packed, strict=False)]
    decoder.fused = NativeLayers(config, weights, config.windows, config.rotary, kernels, team, kernels.FOUR_BITS)
    decoder.layers = []
    if head is not None:
        decoder.head = NativeHead(packed[-1]["head"], len(head.q), kernels, team)


def make_fused(decoder: Decoder, report: Report = quiet, cancel: threading.Event | None = None) -> bool:
    """Let the same code run a float32 decoder's layers with the weights that they have, and drop these one by one.

    The LM head is packed where it lies on an 8-bit grid.

    Returns:
        Whether it could be done: numba is there, and the sizes come in whole blocks.

    Raises:
        Cancelled: `cancel` was set, and the decoder is of no more use.
    """
    config, kernels = decoder.config, _kernels_if_any()
    if kernels is None or any(size % BLOCK for size in (config.hidden, config.mlp, config.heads * config.head_dim)):
        return False
    head = eight_bit_grid(decoder.head_weight)
    stretch = _Stretch([size for layer in decoder.layers for size in _plain_sizes(layer)])
    weights = []
    for index in range(config.depth):
        check(cancel)
        report(Progress("Arranging the layers", index, config.depth, "layers"))
        weights.append(_plain(decoder.layers.pop(0), config.mlp, stretch))
    report(Progress("Compiling the native layers, once for this machine"))
    team = Team()
    decoder.fused = NativeLayers(config, weights, config.windows, config.rotary, kernels, team, kernels.PLAIN)
    if head is not None:
        decoder.head = NativeHead(pack_eight_bit(head), len(head.q), kernels, team)
    return True


def _plain_sizes(layer: LayerWeights) -> list[int]:
    """Bytes of a layer's products as `pack_plain` arranges them."""
    shapes = [getattr(layer, name).shape for name in PRODUCTS]
    return [4 * inputs * (outputs + -outputs % (2 * LANES)) for outputs, inputs in shapes]


def _plain(layer: LayerWeights, mlp: int, stretch: _Stretch) -> dict[str, Tensor]:
    """A layer's weights by name, its products arranged in the stretch."""
    products = {name: getattr(layer, name) for name in PRODUCTS}
    products["gate_up"] = products["gate_up"][gate_up_order(mlp)]
    return _by_name(layer) | {name: stretch.take(pack_plain(weight)) for name, weight in products.items()}


class _Stretch:
    """One stretch of memory, which numpy asks the system to hold in large pages.

    Read from small pages here and there, a layer took a sixth longer.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        """Room for tensors of so many bytes each."""
        room = torch.from_numpy(np.empty(sum(sizes) + ALIGNED * (len(sizes) + 1), np.uint8))
        self._room, self._next = room[-room.data_ptr() % ALIGNED :], 0

    def take(self, tensor: Tensor) -> Tensor:
        """A copy of a tensor of bytes, at the next free place."""
        first, size = self._next, tensor.numel()
        self._next += size + -size % ALIGNED
        return self._room[first : first + size].copy_(tensor.flatten())


def _side_by_side(packed: list[dict[str, Tensor]]) -> list[dict[str, Tensor]]:
    """The same tensors of bytes in one stretch of memory."""
    stretch = _Stretch([tensor.numel() for group in packed for tensor in group.values()])
    return [{name: stretch.take(tensor) for name, tensor in group.items()} for group in packed]


def _packed(weights: Tensor, name: str, mlp: int) -> Tensor:
    rows = weights[gate_up_order(mlp)] if name == "gate_up" else weights
    grid = four_bit_grid(rows) if mlp % 32 == 0 else None
    if grid is None:
        raise UserError(
            "This model's weights are on no 4-bit grid (blocks of 32, as in GGUF's Q4_0 and Q4_1), which the format "
            "native needs; choose float32 or bfloat16."
        )
    return pack_four_bit(grid)


def _kernels_if_any() -> ModuleType | None:
    """The compiled functions; None where numba is not installed."""
    try:
        return importlib.import_module("core.model.native_kernels")
    except ImportError:
        return None


def _kernels() -> ModuleType:
    kernels = _kernels_if_any()
    if kernels is None:
        raise UserError(
            "The format native needs numba, which is not installed; run `pip install 'specee-viewer[native]'`, or "
            "choose float32 or bfloat16."
        )
    return kernels


class NativeLayers:
    """Decoder layers as compiled code; see `core.model.decoder.FusedLayers`. One thread may use it at a time."""

    def __init__(
        self,
        config: ModelConfig,
        weights: list[dict[str, Tensor]],
        windows: Sequence[int | None],
        rotary: Sequence[bool],
        kernels: ModuleType,
        team: Team,
        kind: int,
    ) -> None:
        """Take over each layer's norms, biases and products by name, the latter in tiles of one kind."""
        self._config, self._weights, self._windows = config, weights, windows
        self._kernels, self._team = kernels, team
        self._entry = kernels.functions()[0]
        """Kept, as the code lives as long as this does."""
        self._function = int(self._entry.address)
        self._jobs = np.zeros(len(weights), kernels.JOB)
        self._first, self._size = self._jobs.ctypes.data, self._jobs.itemsize
        self._x, self._y, self._holes = (self._jobs[name] for name in ("x", "y", "holes"))
        self._room, self._most_rows, self._most_slots, self._members = Room(), 0, 0, 0
        self._cache: Callable[[], KVCache | None] = lambda: None
        """The cache whose entries the records point at, if it is still there."""
        self._rows: Rows | None = None
        self._describe(rotary, kind)
        team.enlist(self._jobs)

    def _describe(self, rotary: Sequence[bool], kind: int) -> None:
        config, jobs = self._config, self._jobs
        for name in ("hidden", "heads", "kv_heads", "head_dim", "mlp"):
            jobs[name] = getattr(config, name)
        jobs["eps"], jobs["kind"], jobs["rotates"] = config.norm_eps, kind, rotary
        jobs["window"] = [window or 0 for window in self._windows]
        for job, weights in zip(jobs, self._weights, strict=True):
            for name, weight in weights.items():
                job[name] = weight.data_ptr()

    def beside(self, layers: Sequence[LayerWeights]) -> NativeLayers:
        """Other layers of the same sizes, whose products are rounded to eight bits, for the same threads."""
        order = gate_up_order(self._config.mlp)
        weights = []
        for layer in layers:
            products = {name: getattr(layer, name) for name in PRODUCTS}
            products["gate_up"] = products["gate_up"][order]
            packed = {name: pack_wide_eight_bit(nearest_eight_bits(weight)) for name, weight in products.items()}
            weights.append(_by_name(layer) | packed)
        windows, rotary = [None] * len(layers), [layer.rotates for layer in layers]
        kernels = self._kernels
        return NativeLayers(self._config, weights, windows, rotary, kernels, self._team, kernels.EIGHT_BITS)

    def product(self, weights: Tensor) -> NativeHead:
        """A product with weights [out, in], rounded likewise, for the same threads."""
        packed = pack_eight_bit(nearest_eight_bits(weights))
        return NativeHead(packed, len(weights), self._kernels, self._team)

    def layer(self, index: int, x: Tensor, rows: Rows, cache: KVCache) -> Tensor:
        """Run one layer over hidden states [n, d], storing the rows' K/V in `cache`."""
        y = torch.empty_like(x)
        self._run(index, x, y, rows, cache)
        return y

    def write_kv(self, index: int, x: Tensor, rows: Rows, cache: KVCache) -> None:
        """Store the K/V that hidden states [n, d] give in a layer, without running the layer."""
        self._run(index, x, None, rows, cache)

    def _run(self, index: int, x: Tensor, y: Tensor | None, rows: Rows, cache: KVCache) -> None:
        x = x.contiguous()
        if cache is not self._cache():
            self._take_cache(cache)
        if rows is not self._rows:
            self._take_rows(rows)
        self._x[index], self._y[index] = x.data_ptr(), 0 if y is None else y.data_ptr()
        self._holes[index] = cache.has_holes[index]
        self._team.run(self._function, self._first + index * self._size)

    def _take_cache(self, cache: KVCache) -> None:
        """Write into every layer's record where the cache's entries are."""
        self._cache = weakref.ref(cache)
        for name, entries in (("keys", cache.keys), ("values", cache.values), ("present", cache.present)):
            stride = entries.stride(0) * entries.element_size()
            self._jobs[name] = entries.data_ptr() + stride * np.arange(len(entries))
        self._jobs["capacity"] = cache.capacity

    def _take_rows(self, rows: Rows) -> None:
        """Write into every layer's record what the layers of a pass share."""
        self._rows, n = rows, len(rows.positions)
        if n > self._most_rows or rows.span > self._most_slots or self._team.size > self._members:
            self._make_room(n, rows.span)
        for name, tensor in (("cos", rows.cos), ("sin", rows.sin), ("slots", rows.slots)):
            self._jobs[name] = tensor.data_ptr()
        self._jobs["rows"], self._jobs["span"] = n, rows.span
        # Rows keep their masks, and this keeps the rows.
        masks = [rows.mask(window) for window in self._windows] if rows.branches else []
        self._jobs["seen"] = [mask.data_ptr() for mask in masks if mask is not None] or 0

    def _make_room(self, n: int, span: int) -> None:
        """Room for so many rows, rounded up to whole groups, and slots."""
        c, jobs = self._config, self._jobs
        self._members = self._team.size
        self._most_rows, self._most_slots = max(self._most_rows, n + -n % 4), max(self._most_slots, 2 * span)
        heads = c.heads + 2 * c.kv_heads
        widths = {"normed": c.hidden, "projected": heads * c.head_dim, "mixed": c.heads * c.head_dim, "gated": c.mlp}
        for name, width in widths.items():
            jobs[name] = self._room(name, self._most_rows * width)
        attention = 16 * (self._most_slots + 2 * c.head_dim + 1)
        own = 8 * 32 + max(attention, self._most_rows * max(widths.values()) // 32)
        own += -own % 16
        jobs["private"], jobs["private_size"] = self._room("private", self._members * own), 4 * own


def _by_name(layer: LayerWeights) -> dict[str, Tensor]:
    """The layer's vectors: norms and biases."""
    names = ("attention_norm", "mlp_norm", "q_norm", "k_norm", "qkv_bias", "out_bias")
    return {name: weight.contiguous() for name in names if (weight := getattr(layer, name)) is not None}


class NativeHead:
    """The LM head over packed weights [V, d]: a `core.model.decoder.Linear`."""

    def __init__(self, packed: Tensor, outputs: int, kernels: ModuleType, team: Team) -> None:
        self._packed, self._outputs, self._kernels, self._team = packed, outputs, kernels, team
        self._entry = kernels.functions()[1]
        self._function = int(self._entry.address)
        self._job = np.zeros(1, kernels.HEAD_JOB)
        self._room, self._members = Room(), 0
        blocks = packed.numel() // (-(-outputs // LANES) * kernels.BYTES_8BIT)
        self._inputs = BLOCK * blocks
        self._job["weights"], self._job["outputs"] = packed.data_ptr(), outputs
        team.enlist(self._job)

    def beside(self, weights: Tensor) -> NativeHead:
        """Another head over weights [V, r], rounded to eight bits, for the same threads; it takes rows [n, r]."""
        return NativeHead(pack_eight_bit(nearest_eight_bits(weights)), len(weights), self._kernels, self._team)

    def __call__(self, x: Tensor) -> Tensor:
        """Normed hidden states [n, d] to logits [n, V]."""
        n, inputs = len(x), self._inputs
        # Rows are read in whole blocks, and a group of them whole.
        columns, row = inputs - x.shape[1], n % 4 == 3
        x = F.pad(x, (0, columns, 0, row)) if columns or row else x.contiguous()
        y = torch.empty(n, self._outputs)
        job = self._job[0]
        if self._team.size > self._members:
            self._members = self._team.size
            job["private"], job["private_size"] = self._room("private", self._members * 256), 1024
        job["x"], job["y"], job["rows"], job["inputs"] = x.data_ptr(), y.data_ptr(), n, inputs
        self._team.run(self._function, self._job.ctypes.data)
        return y
