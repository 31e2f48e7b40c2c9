"""Attention of the `native` format: compiled functions that `core.model.native_kernels` calls for its layers.

Sixteen queries that share a K/V head are taken at once, side by side in lanes, so that each key and each value is read
once for all of them, whether they are the heads of one row or those of several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from core.model.native_mixing import (
    QUERIES_AT_ONCE,
    SLOTS_AT_ONCE,
    WIDE,
    gather_many,
    gather_narrow,
    gather_one,
    score_many,
    score_one,
    soften,
)
from core.model.native_vectors import LANES, compiled, pointer

ALL_SEEN = np.int64(0x0101010101010101)
"""Eight bytes that are not 0, read as one number."""


@compiled
def floats(address, size):  # type: ignore[no-untyped-def]
    """The float32 at an address as an array."""
    return carray(pointer(address), (size,), np.float32)


@compiled
def attend(job, me, team, private):  # type: ignore[no-untyped-def]
    """All rows' queries over the slots that each row sees, in groups of about equal size."""
    queries = job.rows * (job.heads // job.kv_heads)
    groups = (queries + LANES - 1) // LANES
    size = (queries + groups - 1) // groups
    for item in range(me, job.kv_heads * groups, team):
        first = item % groups * size
        _attend(job, item // groups, first, min(size, queries - first), private)


@compiled
def _attend(job, kv_head, query, count, private):  # type: ignore[no-untyped-def]
    """`count` queries from the `query`-th of a K/V head on; the heads of a row come one after the other.

    The room is for the queries, what they find, the sums of their shares, and these: 16·(2·head_dim + 1 + slots).
    """
    size, group = job.head_dim, job.heads // job.kv_heads
    found, totals = private + 4 * LANES * size, private + 8 * LANES * size
    scores = totals + 4 * LANES
    _turn(job, kv_head, query, count, private)
    first, last = _reach(job, query // group, (query + count - 1) // group)
    _score(job.keys + 4 * size * (job.capacity * kv_head + first), private, scores, last - first, size)
    _hide(job, query, count, scores, first, last)
    soften(scores, totals, last - first, 0, 0, 0, 0)
    _gather(job.values + 4 * size * (job.capacity * kv_head + first), scores, found, last - first, count, size)
    sums = floats(totals, LANES)
    for q in range(count):
        row, head = (query + q) // group, kv_head * group + (query + q) % group
        source = floats(found + 4 * size * q, size)
        target = floats(job.mixed + 4 * size * (job.heads * row + head), size)
        for j in range(size):
            target[j] = source[j] / sums[q]


@compiled
def _turn(job, kv_head, query, count, turned):  # type: ignore[no-untyped-def]
    """Queries, scaled, side by side: [head_dim, lanes]; lanes without one hold 0."""
    size, group = job.head_dim, job.heads // job.kv_heads
    scale, target = np.float32(1.0) / np.sqrt(np.float32(size)), floats(turned, size * LANES)
    for i in range(size * LANES):
        target[i] = np.float32(0.0)
    for q in range(count):
        row, head = (query + q) // group, kv_head * group + (query + q) % group
        source = floats(job.projected + 4 * size * ((job.heads + 2 * job.kv_heads) * row + head), size)
        for j in range(size):
            target[j * LANES + q] = source[j] * scale


@compiled
def _score(keys, turned, scores, count, size):  # type: ignore[no-untyped-def]
    """Scores [slots, lanes]."""
    done = np.int64(0)
    while done + SLOTS_AT_ONCE <= count:
        score_many(turned, 4 * LANES, keys + 4 * size * done, 4 * size, scores + 4 * LANES * done, 4 * LANES, size)
        done += SLOTS_AT_ONCE
    for slot in range(done, count):
        score_one(turned, 4 * LANES, keys + 4 * size * slot, 0, scores + 4 * LANES * slot, 0, size)


@compiled
def _gather(values, shares, found, slots, count, size):  # type: ignore[no-untyped-def]
    """What each query finds: found [queries, head_dim] = shares times values."""
    done: Any = np.int64(0)
    while done + WIDE <= size:
        q: Any = np.int64(0)
        while q < count:
            x, y = shares + 4 * q, found + 4 * (size * q + done)
            if q + QUERIES_AT_ONCE <= count:
                gather_many(values + 4 * done, 4 * size, x, 4, y, 4 * size, slots)
                q += QUERIES_AT_ONCE
            else:
                gather_one(values + 4 * done, 4 * size, x, 0, y, 0, slots)
                q += 1
        done += WIDE
    while done + LANES <= size:
        for q in range(count):
            gather_narrow(values + 4 * done, 4 * size, shares + 4 * q, 0, found + 4 * (size * q + done), 0, slots)
        done += LANES
    for j in range(done, size):
        for q in range(count):
            total = np.float32(0.0)
            for slot in range(slots):
                total += floats(shares, slots * LANES)[slot * LANES + q] * floats(values, slots * size)[slot * size + j]
            floats(found, count * size)[q * size + j] = total


@compiled
def _reach(job, first_row, last_row):  # type: ignore[no-untyped-def]
    """The first slot that any of these rows sees, and the one after the last."""
    if job.seen:
        return np.int64(0), job.span
    slots = carray(pointer(job.slots), (job.rows,), np.int64)
    first = max(np.int64(0), slots[first_row] + 1 - job.window) if job.window else np.int64(0)
    return first, min(job.span, slots[last_row] + 1)


@compiled
def _hide(job, query, count, scores, first, last):  # type: ignore[no-untyped-def]
    """Strike out, for each query, the slots that its row does not see or that lack an entry."""
    group = job.heads // job.kv_heads
    for row in range(query // group, (query + count - 1) // group + 1):
        begin, end = max(query, row * group) - query, min(query + count, (row + 1) * group) - query
        if job.seen:
            _hide_unseen(job.seen + job.span * row, scores, first, last, begin, end)
        else:
            own = carray(pointer(job.slots), (job.rows,), np.int64)[row]
            _strike(scores, own + 1 - first, last - first, begin, end)
            if job.window:
                _strike(scores, np.int64(0), own + 1 - job.window - first, begin, end)
    if job.holes:
        there = carray(pointer(job.present), (job.capacity,), np.uint8)
        for slot in range(first, last):
            if not there[slot]:
                _strike(scores, slot - first, slot - first + 1, np.int64(0), count)


@compiled
def _hide_unseen(seen, scores, first, last, begin, end):  # type: ignore[no-untyped-def]
    """The same from a row's bytes, looking at eight at a time: in a tree nearly all are seen."""
    flags, slot = carray(pointer(seen), (last,), np.uint8), first
    while slot < last:
        if slot + 8 <= last and carray(pointer(seen + slot), (1,), np.int64)[0] == ALL_SEEN:
            slot += 8
        else:
            if not flags[slot]:
                _strike(scores, slot - first, slot - first + 1, begin, end)
            slot += 1


@compiled
def _strike(scores, first, last, begin, end):  # type: ignore[no-untyped-def]
    """Let the queries begin…end-1 see nothing of these slots."""
    lanes = floats(scores, max(np.int64(0), last) * LANES)
    for slot in range(first, last):
        for q in range(begin, end):
            lanes[slot * LANES + q] = np.float32(-np.inf)
