"""What the `native` format computes between its products: weighted sums of rows, a softmax whose lanes are queries, and
what becomes of a tile's result."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils

from core.model.native_vectors import F32, I32, LANES, Writer, function, number, vector

SMALLEST, LARGEST = -87.0, 88.0
"""Between them e^x is a normal number."""
POWERS = (1.9875691e-4, 1.3981999e-3, 8.3334519e-3, 4.1665796e-2, 1.6666665e-1, 5.0000001e-1)
"""Cephes' polynomial for e^x, from the highest power on."""


def _mix(rows: int, vectors: int, step: int) -> Any:
    """mix(weights, stride, x, x_stride, y, y_stride, count): y[r] = Σ_k x[r, k]·weights[k] over 16·`vectors` lanes.

    Addresses, and strides in bytes; x[r, k + 1] lies `step` bytes behind x[r, k], and `count` is the number of weights.
    """

    def write(builder: Any, args: Any) -> None:
        weights, stride, x, x_stride, y, y_stride, count = args
        writer = Writer(builder)
        totals = [[writer.variable() for _ in range(vectors)] for _ in range(rows)]
        with cgutils.for_range(builder, count) as loop:
            place, at = writer.at(weights, loop.index, stride), writer.at(x, loop.index, number(step))
            found = [writer.load(place, 4 * LANES * part, vector(F32), 4) for part in range(vectors)]
            for row in range(rows):
                factor = writer.spread(writer.load(writer.at(at, number(row), x_stride), 0, F32, 4))
                for part, total in zip(found, totals[row], strict=True):
                    builder.store(writer.fma(part, factor, builder.load(total)), total)
        for row in range(rows):
            for part, total in enumerate(totals[row]):
                writer.store(builder.load(total), writer.at(y, number(row), y_stride), 4 * LANES * part)

    return function(f"specee_mix_{rows}_{vectors}_{step}", write)


SLOTS_AT_ONCE, QUERIES_AT_ONCE, WIDE = 8, 4, 4 * LANES
"""Rows of `score_many`, rows of `gather_many`, and lanes of `gather_many` and `gather_one`."""
score_many, score_one = (_mix(rows, 1, 4) for rows in (SLOTS_AT_ONCE, 1))
"""Weights are queries side by side in lanes, and x the keys: y[slot] has a score for each query."""
gather_many, gather_one = (_mix(rows, WIDE // LANES, 4 * LANES) for rows in (QUERIES_AT_ONCE, 1))
"""Weights are values, and x the shares of some queries, slot by slot; y is what each query gathers."""
gather_narrow = _mix(1, 1, 4 * LANES)


def _soften(builder: Any, args: Any) -> None:
    scores, totals, count, *_ = args
    writer = Writer(builder)
    top, total = writer.variable(float("-inf")), writer.variable()
    with cgutils.for_range(builder, count) as loop:
        score, best = writer.load(writer.at(scores, loop.index, number(64)), 0, vector(F32), 4), builder.load(top)
        builder.store(builder.select(builder.fcmp_ordered(">", score, best), score, best), top)
    with cgutils.for_range(builder, count) as loop:
        place = writer.at(scores, loop.index, number(64))
        power = _exp(writer, builder.fsub(writer.load(place, 0, vector(F32), 4), builder.load(top)))
        writer.store(power, place, 0)
        builder.store(builder.fadd(builder.load(total), power), total)
    writer.store(builder.load(total), totals, 0)


def _exp(writer: Writer, x: Any) -> Any:
    """e^x to float32's precision; 0 below -87, and from 88 on e^88. A NaN comes through."""
    b = writer.b
    gone, huge = b.fcmp_ordered("<", x, vector(F32, SMALLEST)), b.fcmp_ordered(">", x, vector(F32, LARGEST))
    bounded = b.select(huge, vector(F32, LARGEST), b.select(gone, vector(F32, SMALLEST), x))
    power = writer.floor(writer.fma(bounded, vector(F32, 1.44269504), vector(F32, 0.5)))
    r = writer.fma(power, vector(F32, -0.693359375), bounded)
    r = writer.fma(power, vector(F32, 2.12194440e-4), r)
    p = vector(F32, POWERS[0])
    for coefficient in POWERS[1:]:
        p = writer.fma(p, r, vector(F32, coefficient))
    value = b.fadd(writer.fma(b.fmul(p, r), r, r), vector(F32, 1.0))
    exponent = b.add(b.fptosi(power, vector(I32)), vector(I32, 127))
    two = b.bitcast(b.shl(exponent, vector(I32, 23)), vector(F32))
    return b.select(gone, vector(F32, 0.0), b.fmul(value, two))


soften = function("specee_soften", _soften)
"""soften(scores, totals, count, 0, 0, 0, 0): e^(score - its lane's largest) in place of scores [count, 16]; sums."""


def _silu_times(builder: Any, args: Any) -> None:
    result, rows, y, y_stride, *_ = args
    writer, one = Writer(builder), vector(F32, 1.0)
    with cgutils.for_range(builder, rows) as loop:
        place = writer.at(result, loop.index, number(8 * LANES))
        gate, up = (writer.load(place, 4 * LANES * half, vector(F32), 4) for half in range(2))
        share = builder.fdiv(gate, builder.fadd(one, _exp(writer, builder.fneg(gate))))
        writer.store(builder.fmul(share, up), writer.at(y, loop.index, y_stride), 0)


silu_times = function("specee_silu_times", _silu_times)
"""silu_times(result, rows, y, y_stride, 0, 0, 0): of rows of 16 gates and 16 ups, silu(gate)·up."""


def _lay_down(builder: Any, args: Any) -> None:
    result, rows, y, y_stride, bias, residual, _ = args
    writer, nothing = Writer(builder), number(0)
    with cgutils.for_range(builder, rows) as loop:
        for half in range(2):
            total, offset = writer.variable(), 4 * LANES * half
            builder.store(writer.load(writer.at(result, loop.index, number(8 * LANES)), offset, vector(F32), 4), total)
            for more, place in ((bias, bias), (residual, writer.at(residual, loop.index, y_stride))):
                with builder.if_then(builder.icmp_signed("!=", more, nothing)):
                    addend = writer.load(place, offset, vector(F32), 4)
                    builder.store(builder.fadd(builder.load(total), addend), total)
            writer.store(builder.load(total), writer.at(y, loop.index, y_stride), offset)


lay_down = function("specee_lay_down", _lay_down)
"""lay_down(result, rows, y, y_stride, bias, residual, 0): rows of 32 to their places in y, plus bias and residual where
these are not 0; the residual lies as y does and may be y itself."""
