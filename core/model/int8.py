"""Weights as int8 with one scale a row, through torchao; activations stay floating-point."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from core.errors import UserError
from core.model.decoder import Decoder

Quantise = Callable[[nn.Module], None]
"""Replaces a module's weight by its int8 form, in place."""

LOUD = ("torchao", "torch.utils._pytree")
"""Loggers that complain, when torchao is imported, about kernels for hardware that is not there."""


def to_int8(decoder: Decoder, quantise: Quantise | None = None) -> None:
    """Turn every product of a decoder to int8, in place. `head_weight` stays: candidates are scored by its rows.

    Raises:
        UserError: torchao is not installed.
    """
    quantise = quantise or _torchao()
    for layer in decoder.layers:
        for name, bias in (("qkv", layer.qkv_bias), ("out", layer.out_bias), ("gate_up", None), ("down", None)):
            setattr(layer, name, _linear(getattr(layer, name), bias, quantise))
        layer.qkv_bias = layer.out_bias = None
    decoder.head = _linear(decoder.head_weight, None, quantise)


def _linear(weight: Tensor, bias: Tensor | None, quantise: Quantise) -> nn.Linear:
    out, size = weight.shape
    linear = nn.Linear(size, out, bias=bias is not None, device="meta")
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        linear.bias = nn.Parameter(bias, requires_grad=False)
    quantise(linear)
    return linear


def _torchao() -> Quantise:
    try:
        with hushed():
            from torchao.quantization import Int8WeightOnlyConfig, quantize_
    except ImportError as error:
        raise UserError(
            "int8 weights need torchao; install it with `pip install 'specee-viewer[quantised]'`, or choose another "
            "dtype."
        ) from error
    # By default it also rewrites the settings of torch.compile, which is not used here.
    return lambda module: quantize_(module, Int8WeightOnlyConfig(set_inductor_config=False))


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Keep torchao quiet about what it does not find."""
    loggers = [logging.getLogger(name) for name in LOUD]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def rows_of(linear: Callable[[Tensor], Tensor], size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The rows [out, size] that a product without a bias multiplies by, whatever form it keeps them in."""
    return linear(torch.eye(size, dtype=dtype, device=device)).T.contiguous()
