"""The `native` format's compiled functions: one decoder layer, and one LM head, over packed weights.

Compiled by numba, an optional dependency: import this module only through `core.model.native`. A function here is
called with the address of one record (`JOB`, `HEAD_JOB`) by every thread of a team at once, and never touches Python.
It computes what `core.model.decoder.run_layer` and `core.model.kv_cache` compute, in float32.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import carray, cfunc, from_dtype, types

from core.model.native_attention import attend, floats
from core.model.native_mixing import lay_down, silu_times
from core.model.native_products import EIGHT_BITS as EIGHT_BITS
from core.model.native_products import FOUR_BITS, ROWS, TOGETHER, group, multiply
from core.model.native_products import PLAIN as PLAIN
from core.model.native_tiles import BLOCK, BYTES_8BIT, tile8_1, tile8_2, tile8_4, tile8_8
from core.model.native_vectors import LANES, ask, compiled, count, pointer, read

TILES = "920c251e1df69c4d"
"""Hash of the modules whose compiled functions are called here, for numba's cache of compiled code, which looks at
changes of this file only."""
NONE = np.int64(0)
"""The address of an array that is not there."""
SPINS = 2000
"""Looks at a barrier before a thread offers its core to others."""

_TEAM = "counters members give_way"
_LAYER = "hidden heads kv_heads head_dim mlp window rotates kind"
_WEIGHTS = "attention_norm q_norm k_norm qkv qkv_bias out out_bias mlp_norm gate_up down"
_CALL = "x y cos sin slots rows span seen keys values present holes capacity"
_ROOM = "normed projected mixed gated private private_size"


def _record(names: str) -> np.dtype[Any]:
    return np.dtype([(name, np.int64) for name in names.split()] + [("eps", np.float64)])


JOB = _record(f"{_LAYER} {_WEIGHTS} {_CALL} {_ROOM} {_TEAM}")
"""One layer over some rows: sizes, addresses of arrays (0 for one that is not there), room to work in, the team.

`kind` says how the products' weights are packed. `slots` are where the rows' keys and values go. A row attends to the
slots up to its own, or, where `seen` is not 0, to those whose byte there [rows, span] is not 0. `counters` are two
int64, zero at the start; `members` and `give_way` are C functions that tell the team's size and offer the core to
others, 0 where one thread works alone.
"""
HEAD_JOB = _record(f"weights x y rows inputs outputs private private_size {_TEAM}")
"""The LM head over some rows."""


@compiled
def _wait(job, stage):  # type: ignore[no-untyped-def]
    """Until the whole team has come here. Returns the next stage's number."""
    if job.members:
        count(job.counters + 8, 1)
        everyone = stage * ask(job.members)
        looks = 0
        while read(job.counters + 8) < everyone:
            looks += 1
            if looks > SPINS:
                ask(job.give_way)
    return stage + 1


@compiled
def _join(job):  # type: ignore[no-untyped-def]
    """The thread's number in the team, and the team's size."""
    if job.members:
        return count(job.counters, 1), np.int64(ask(job.members))
    return np.int64(0), np.int64(1)


@compiled
def _normalise(x, weight, eps, y):  # type: ignore[no-untyped-def]
    """Root-mean-square norm of one row."""
    squares = np.float32(0.0)
    for i in range(len(x)):
        squares += x[i] * x[i]
    scale = np.float32(1.0) / np.sqrt(squares / np.float32(len(x)) + eps)
    for i in range(len(x)):
        y[i] = x[i] * scale * weight[i]


@compiled
def _norm_rows(job, source, weight, me, team):  # type: ignore[no-untyped-def]
    size = job.hidden
    for row in range(me, job.rows, team):
        x, y = floats(source + 4 * size * row, size), floats(job.normed + 4 * size * row, size)
        if weight:
            _normalise(x, floats(weight, size), np.float32(job.eps), y)
        else:
            _copy(x, 0, y, 0, size)


@compiled
def _sum_blocks(x, rows, inputs, sums):  # type: ignore[no-untyped-def]
    """Sums over each block of each row, what an offset m is multiplied by."""
    blocks = inputs // BLOCK
    values, totals = floats(x, rows * inputs), floats(sums, rows * blocks)
    for i in range(rows * blocks):
        total = np.float32(0.0)
        for k in range(BLOCK):
            total += values[i * BLOCK + k]
        totals[i] = total


@compiled
def _private(job, me):  # type: ignore[no-untyped-def]
    """Addresses of the thread's own room: a tile's result, and the rest."""
    own = job.private + job.private_size * me
    return own, own + 4 * TOGETHER * ROWS


@compiled
def _project(job, weights, bias, x, inputs, y, outputs, residual, me, team):  # type: ignore[no-untyped-def]
    """y [rows, outputs] = x [rows, inputs] times the weights, plus bias and residual where they are not 0.

    The residual may be y itself.
    """
    own, sums = _private(job, me)
    if job.kind == FOUR_BITS:
        _sum_blocks(x, job.rows, inputs, sums)
    tiles = (outputs + ROWS - 1) // ROWS
    for tile in range(tiles * me // team, tiles * (me + 1) // team):
        first, width = tile * ROWS, min(ROWS, outputs - tile * ROWS)
        row, rows = np.int64(0), np.int64(0)
        while row < job.rows:
            rows = group(job.rows - row)
            multiply(job.kind, weights, tile, x, inputs, row, rows, sums, own)
            at = 4 * (row * outputs + first)
            added = bias + 4 * first if bias else NONE
            if width == ROWS:
                lay_down(own, rows, y + at, 4 * outputs, added, residual + at if residual else NONE, 0)
            else:
                _lay_down_part(own, rows, y + at, outputs, added, residual + at if residual else NONE, width)
            row += rows


@compiled
def _lay_down_part(result, rows, y, outputs, bias, residual, width):  # type: ignore[no-untyped-def]
    """As `lay_down`, for the last tile, of which only `width` outputs are real."""
    for r in range(rows):
        source, target = floats(result + 4 * ROWS * r, width), floats(y + 4 * outputs * r, width)
        for j in range(width):
            total = source[j]
            if bias:
                total += floats(bias, width)[j]
            if residual:
                total += floats(residual + 4 * outputs * r, width)[j]
            target[j] = total


@compiled
def _copy(source, start, target, at, width):  # type: ignore[no-untyped-def]
    # A slice's assignment would check shapes, and the texts of that complaint take longer to compile than all else.
    for j in range(width):
        target[at + j] = source[start + j]


@compiled
def _gate(job, me, team):  # type: ignore[no-untyped-def]
    """silu(gate)·up; a tile's low half are gate rows and its high half the same up rows."""
    own, sums = _private(job, me)
    if job.kind == FOUR_BITS:
        _sum_blocks(job.normed, job.rows, job.hidden, sums)
    tiles = job.mlp // LANES
    for tile in range(tiles * me // team, tiles * (me + 1) // team):
        row, rows = np.int64(0), np.int64(0)
        while row < job.rows:
            rows = group(job.rows - row)
            multiply(job.kind, job.gate_up, tile, job.normed, job.hidden, row, rows, sums, own)
            silu_times(own, rows, job.gated + 4 * (row * job.mlp + tile * LANES), 4 * job.mlp, 0, 0, 0)
            row += rows


@compiled
def _rotate(x, cos, sin):  # type: ignore[no-untyped-def]
    """As `core.model.rope.rotate`, in place."""
    half = len(x) // 2
    for j in range(half):
        a, b = x[j], x[half + j]
        x[j] = a * cos[j] + b * sin[j]
        x[half + j] = b * cos[half + j] + a * sin[half + j]


@compiled
def _turn(job, row, head):  # type: ignore[no-untyped-def]
    """One head of one row: its norm where the model has one, RoPE, and for keys and values the way into the cache."""
    size, slot = job.head_dim, carray(pointer(job.slots), (job.rows,), np.int64)[row]
    heads = job.heads + 2 * job.kv_heads
    x = floats(job.projected + 4 * size * (heads * row + head), size)
    if head == 0:
        carray(pointer(job.present), (job.capacity,), np.uint8)[slot] = 1
    if head >= job.heads + job.kv_heads:
        place = job.values + 4 * size * ((head - job.heads - job.kv_heads) * job.capacity + slot)
        _copy(x, 0, floats(place, size), 0, size)
        return
    weight = job.q_norm if head < job.heads else job.k_norm
    if weight:
        _normalise(x, floats(weight, size), np.float32(job.eps), x)
    if job.rotates:
        _rotate(x, floats(job.cos + 4 * size * row, size), floats(job.sin + 4 * size * row, size))
    if head >= job.heads:
        place = job.keys + 4 * size * ((head - job.heads) * job.capacity + slot)
        _copy(x, 0, floats(place, size), 0, size)


@compiled
def _run_layer(job):  # type: ignore[no-untyped-def]
    me, team = _join(job)
    heads, width = job.heads + 2 * job.kv_heads, job.heads * job.head_dim
    _norm_rows(job, job.x, job.attention_norm, me, team)
    stage = _wait(job, 1)
    _project(job, job.qkv, job.qkv_bias, job.normed, job.hidden, job.projected, heads * job.head_dim, NONE, me, team)
    stage = _wait(job, stage)
    for item in range(me, job.rows * heads, team):
        _turn(job, item // heads, item % heads)
    if not job.y:
        return  # Only keys and values were wanted.
    stage = _wait(job, stage)
    attend(job, me, team, _private(job, me)[1])
    stage = _wait(job, stage)
    _project(job, job.out, job.out_bias, job.mixed, width, job.y, job.hidden, job.x, me, team)
    stage = _wait(job, stage)
    _norm_rows(job, job.y, job.mlp_norm, me, team)
    stage = _wait(job, stage)
    _gate(job, me, team)
    stage = _wait(job, stage)
    _project(job, job.down, NONE, job.gated, job.mlp, job.y, job.hidden, job.y, me, team)


@compiled
def _run_head(job):  # type: ignore[no-untyped-def]
    me, team = _join(job)
    own, _ = _private(job, me)
    blocks, tiles = job.inputs // BLOCK, (job.outputs + LANES - 1) // LANES
    result, target = floats(own, TOGETHER * ROWS), floats(job.y, job.rows * job.outputs)
    for tile in range(tiles * me // team, tiles * (me + 1) // team):
        place, first = job.weights + tile * blocks * BYTES_8BIT, tile * LANES
        row, rows = np.int64(0), np.int64(0)
        while row < job.rows:
            rows, x = group(job.rows - row), job.x + 4 * job.inputs * row
            if rows == 1:
                tile8_1(place, x, 4 * job.inputs, 0, 0, own, blocks)
            elif rows == 2:
                tile8_2(place, x, 4 * job.inputs, 0, 0, own, blocks)
            elif rows <= 4:
                tile8_4(place, x, 4 * job.inputs, 0, 0, own, blocks)
            else:
                tile8_8(place, x, 4 * job.inputs, 0, 0, own, blocks)
            for r in range(rows):
                _copy(result, r * LANES, target, (row + r) * job.outputs + first, min(LANES, job.outputs - first))
            row += rows


def _layer(job):  # type: ignore[no-untyped-def]
    _run_layer(carray(job, 1)[0])


def _head(job):  # type: ignore[no-untyped-def]
    _run_head(carray(job, 1)[0])


@functools.cache
def functions() -> tuple[Any, Any]:
    """`_run_layer` and `_run_head` as C functions of a record's address; compiled once a machine, in some seconds."""
    layer = cfunc(types.void(types.CPointer(from_dtype(JOB))), cache=True)(_layer)
    return layer, cfunc(types.void(types.CPointer(from_dtype(HEAD_JOB))), cache=True)(_head)
