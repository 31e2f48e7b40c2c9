"""The target's layers with their products the other way round, which a CPU computes sooner for many float32 rows."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from core.model.decoder import MANY_ROWS, Decoder, LayerWeights, Weight


class _Turned:
    """A product as the weight times the rows' transpose."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        product = (self._weight @ x.t()).t()
        return product if self._bias is None else product + self._bias


def turned_layers(decoder: Decoder, rows: int) -> list[LayerWeights]:
    """The layers for batches of so many rows: as they are where turning gains nothing."""
    if rows < MANY_ROWS or decoder.dtype is not torch.float32 or decoder.device.type != "cpu":
        return list(decoder.layers)

    def turn(weight: Weight, bias: Tensor | None = None) -> Weight:
        return _Turned(weight, bias) if isinstance(weight, Tensor) else weight

    return [
        replace(
            layer,
            qkv=turn(layer.qkv, layer.qkv_bias),
            out=turn(layer.out, layer.out_bias),
            gate_up=turn(layer.gate_up),
            down=turn(layer.down),
        )
        for layer in decoder.layers
    ]
