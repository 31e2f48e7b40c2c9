"""The predictors' weights as a session file carries them, so that what-if can score anew without the model."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from core.trace import codec
from core.trace.codec import BadColumn, Reader
from core.trace.events import FloatArray

LARGEST = 2**26
"""Bytes of all weights of one model's predictors, no longer compressed."""
MOST = 64
"""Arrays."""


def pack_weights(weights: Mapping[str, FloatArray]) -> bytes:
    """Named float32 arrays as bytes, in the order of their names."""
    names = sorted(weights)
    arrays = codec.arrays([np.asarray(weights[name], np.float32) for name in names])
    return zlib.compress(codec.number(len(names)) + codec.texts([name.encode() for name in names]) + arrays)


def unpack_weights(packed: bytes) -> dict[str, FloatArray]:
    """The arrays that `pack_weights` was given.

    Raises:
        ValueError: the bytes are none of them.
    """
    inflater = zlib.decompressobj()
    try:
        reader = Reader(inflater.decompress(packed, LARGEST))
    except zlib.error as error:
        raise BadColumn("its predictors do not unpack") from error
    count = reader.number()
    if not inflater.eof or not 0 <= count <= MOST:
        raise BadColumn("its predictors are too many")
    names, arrays = reader.column(count), reader.column(count)
    weights = dict(zip((n.decode() for n in names if isinstance(n, bytes)), _singles(arrays), strict=True))
    if len(weights) != count:
        raise BadColumn("its predictors have no names")
    return weights


def _singles(arrays: codec.Column) -> list[FloatArray]:
    found = [array for array in arrays if isinstance(array, np.ndarray) and array.dtype == np.float32]
    if len(found) != len(arrays):
        raise BadColumn("its predictors are no numbers")
    return found
