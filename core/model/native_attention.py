"""Attention of the `native` format: compiled functions that `core.model.native_kernels` calls for its layers.

A K/V head's query heads are taken together, so that what is read of the cache is used for all of them. Where many rows
attend at once the keys are turned over first, and lanes are slots then: no lane is ever summed across.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from core.model.native_tiles import (
    LANES,
    TOGETHER_HEADS,
    WIDE,
    compiled,
    exp,
    mix1,
    mix2,
    mix3,
    mix4,
    mix_narrow,
    pointer,
)

MANY = 4
"""From so many rows on it pays to turn the keys over."""


@compiled
def floats(address, size):  # type: ignore[no-untyped-def]
    """The float32 at an address as an array."""
    return carray(pointer(address), (size,), np.float32)


@compiled
def turn_keys(job, me, team):  # type: ignore[no-untyped-def]
    """The keys of all slots, [kv_heads, head_dim, slots] instead of [kv_heads, slots, head_dim]."""
    size, pad = job.head_dim, job.turned_slots
    blocks = (job.span + LANES - 1) // LANES
    for item in range(me, job.kv_heads * blocks, team):
        head, first = item // blocks, item % blocks * LANES
        count = min(LANES, job.span - first)
        source = floats(job.keys + 4 * size * (head * job.capacity + first), count * size)
        target = floats(job.turned + 4 * (head * size * pad + first), size * pad - first)
        for j in range(size):
            for slot in range(count):
                target[j * pad + slot] = source[slot * size + j]


@compiled
def attend(job, item, private):  # type: ignore[no-untyped-def]
    """One row's query heads that share a K/V head, some of them at a time, over the slots that the row sees."""
    row, kv_head, group = item // job.kv_heads, item % job.kv_heads, job.heads // job.kv_heads
    first, last = _reach(job, row)
    for at in range(0, group, TOGETHER_HEADS):
        heads = min(TOGETHER_HEADS, group - at)
        _attend(job, row, kv_head, kv_head * group + at, heads, first, last, private)


@compiled
def _reach(job, row):  # type: ignore[no-untyped-def]
    """The first slot that a row may see, and the one after the last."""
    if job.seen:
        return np.int64(0), job.span
    own = carray(pointer(job.slots), (job.rows,), np.int64)[row]
    return (max(np.int64(0), own + 1 - job.window) if job.window else np.int64(0)), min(job.span, own + 1)


@compiled
def _attend(job, row, kv_head, head, heads, first, last, private):  # type: ignore[no-untyped-def]
    size, stride = job.head_dim, job.turned_slots
    query = job.projected + 4 * size * ((job.heads + 2 * job.kv_heads) * row + head)
    if job.rows >= MANY:
        _scores_turned(job, kv_head, query, heads, first, last, private)
    else:
        _scores(job, kv_head, query, heads, first, last, private)
    y = job.mixed + 4 * size * (job.heads * row + head)
    for h in range(heads):
        scores = floats(private + 4 * stride * h, stride)
        _hide(job, row, scores, first, last)
        _shares(scores, first, last, np.float32(1.0) / np.sqrt(np.float32(size)))
    values = job.values + 4 * size * (job.capacity * kv_head + first)
    _mix(values, 4 * size, private + 4 * first, 4 * stride, y, 4 * size, last - first, heads, size)


@compiled
def _scores(job, kv_head, query, heads, first, last, private):  # type: ignore[no-untyped-def]
    """Queries times keys."""
    size, stride = job.head_dim, job.turned_slots
    for slot in range(first, last):
        key = floats(job.keys + 4 * size * (job.capacity * kv_head + slot), size)
        for h in range(heads):
            floats(private + 4 * stride * h, stride)[slot] = _dot(floats(query + 4 * size * h, size), key)


@compiled
def _scores_turned(job, kv_head, query, heads, first, last, private):  # type: ignore[no-untyped-def]
    """The same from keys that were turned over, for whole blocks of slots; what lies beyond the last is not read."""
    size, stride = job.head_dim, job.turned_slots
    start = first // WIDE * WIDE
    width = min((last - start + WIDE - 1) // WIDE * WIDE, stride - start)
    keys = job.turned + 4 * (kv_head * size * stride + start)
    _mix(keys, 4 * stride, query, 4 * size, private + 4 * start, 4 * stride, size, heads, width)


@compiled
def _mix(weights, stride, x, x_stride, y, y_stride, count, heads, width):  # type: ignore[no-untyped-def]
    """y[h, :width] = Σ_k x[h, k]·weights[k, :width]; strides in bytes."""
    done = np.int64(0)
    while done + WIDE <= width:
        _mix_wide(weights + 4 * done, stride, x, x_stride, y + 4 * done, y_stride, count, heads)
        done += WIDE
    while done + LANES <= width:
        for h in range(heads):
            mix_narrow(weights + 4 * done, stride, x + x_stride * h, 0, y + y_stride * h + 4 * done, 0, count)
        done += LANES
    for j in range(done, width):
        for h in range(heads):
            total = np.float32(0.0)
            for k in range(count):
                total += floats(x + x_stride * h, count)[k] * floats(weights + stride * k, width)[j]
            floats(y + y_stride * h, width)[j] = total


@compiled
def _mix_wide(weights, stride, x, x_stride, y, y_stride, count, heads):  # type: ignore[no-untyped-def]
    if heads == 1:
        mix1(weights, stride, x, x_stride, y, y_stride, count)
    elif heads == 2:
        mix2(weights, stride, x, x_stride, y, y_stride, count)
    elif heads == 3:
        mix3(weights, stride, x, x_stride, y, y_stride, count)
    else:
        mix4(weights, stride, x, x_stride, y, y_stride, count)


@compiled
def _hide(job, row, scores, first, last):  # type: ignore[no-untyped-def]
    """Strike out slots that lack an entry, or that the row does not see."""
    there = carray(pointer(job.present), (job.capacity,), np.uint8)
    seen = carray(pointer(job.seen + job.span * row), (job.span,), np.uint8)
    if job.holes or job.seen:
        for slot in range(first, last):
            if (job.holes and not there[slot]) or (job.seen and not seen[slot]):
                scores[slot] = np.float32(-np.inf)


@compiled
def _shares(scores, first, last, scale):  # type: ignore[no-untyped-def]
    """Softmax of the scaled scores, in place."""
    top, total = np.float32(-np.inf), np.float32(0.0)
    for i in range(first, last):
        top = max(top, scores[i])
    for i in range(first, last):
        scores[i] = exp((scores[i] - top) * scale)
        total += scores[i]
    share = np.float32(1.0) / total
    for i in range(first, last):
        scores[i] *= share


@compiled
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for j in range(len(a)):
        total += a[j] * b[j]
    return total
