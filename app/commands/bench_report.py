"""What a contest measured, as a JSON object."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from app.commands import bench_machine
from app.commands.bench_contest import GENERATE, Label, Pass, SameTokens, Turn, Turns, compare_tokens
from app.commands.bench_costs import Unit, budget, stages
from app.commands.bench_field import Field
from app.commands.recording import Keep
from core.choices import DType, Policy

WEIGHT_BYTES = {
    "float32": (4.0, 4.0),
    "bfloat16": (2.0, 2.0),
    "float16": (2.0, 2.0),
    "int8": (1.0, 1.0),
    # Blocks of 32: four bits each with scale and offset in float16; the head eight bits with a scale.
    "native": (20 / 32, 34 / 32),
}
"""Bytes a weight takes up in a layer, and in the LM head."""


def result(found: Field, turns: Turns, run: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of `bench --json`; `run` says how much was measured."""
    report = _Report(found, turns)
    bandwidth = bench_machine.memory_bandwidth()
    dtypes = [dtype for dtype in dict.fromkeys(label.dtype for label in turns) if dtype in WEIGHT_BYTES]
    floors = {
        dtype: bandwidth / bench_machine.bytes_per_token(found.model.config, *WEIGHT_BYTES[dtype]) for dtype in dtypes
    }
    same = report.same_tokens()
    return {
        "rows": [report.row(label) for label in found.order],
        "generate_dtype": report.base.dtype if report.base else None,
        "floor_tokens_per_second": floors.get(found.model.info.dtype),
        "floors_by_dtype": floors,
        "memory_bytes_per_second": bandwidth,
        "float32_tokens": dataclasses.asdict(same) if same else None,
        "run": dict(run),
        "model": found.model.info.name,
        "machine": bench_machine.machine(found.model),
    }


class _Report:
    """Rows that know what they are compared with."""

    def __init__(self, found: Field, turns: Turns) -> None:
        self._found, self._turns = found, turns
        self._speeds = {label: _median(_speeds(its)) for label, its in turns.items()}
        plain = [label for label in turns if label.name == GENERATE and self._speeds[label]]
        self.base = max(plain, key=lambda label: self._speeds[label] or 0.0, default=None)
        """Plain `generate` in the faster of its number formats."""

    def row(self, label: Label) -> dict[str, Any]:
        """One contender's figures; what was not measured is None."""
        its, passes = self._turns.get(label, {}), self._passes(label)
        layers = [layer for turn in its.values() for layer in turn.exit_layers[1:]]
        mean_exit = statistics.fmean(layers) if layers else None
        speed, unit = self._speeds.get(label), self._unit(label)
        return {
            "name": label.name,
            "recording": label.recording,
            "dtype": label.dtype,
            "kv_policy": label.kv_policy,
            "tokens_per_second": speed,
            "tokens_per_second_quartiles": _quartiles(_speeds(its)),
            "ratio_to_generate": _ratio(speed, self._speeds.get(self.base) if self.base else None),
            "ratio_to_dense": _ratio(speed, self._dense_speed(label)),
            "mean_exit_layer": mean_exit,
            "acceptance_length": _acceptance_length(its),
            "agreement": _agreement(passes),
            "turns": len(its),
            "stages": stages(passes),
            "budget": budget(passes, mean_exit, unit) if unit and mean_exit is not None else None,
            "note": self._found.absent.get(label),
        }

    def same_tokens(self) -> SameTokens | None:
        """Whether dense and generate agree in float32; None where one of them was not measured."""
        exact = [label for label in self._turns if label.dtype == DType.FLOAT32]
        dense = [label for label in exact if label.name == Policy.DENSE and label.recording == Keep.OFF]
        generate = [label for label in exact if label.name == GENERATE]
        if not dense or not generate:
            return None
        return compare_tokens(self._turns[generate[0]], self._turns[dense[0]])

    def _passes(self, label: Label) -> list[Pass]:
        return [one for turn in self._turns.get(label, {}).values() for one in turn.passes]

    def _dense_speed(self, label: Label) -> float | None:
        """The dense loop's under the same recording, and where that has none, without any."""
        dense = {
            other.recording: speed
            for other, speed in self._speeds.items()
            if other.name == Policy.DENSE and other.dtype == label.dtype
        }
        return dense.get(label.recording, dense.get(Keep.OFF.value))

    def _unit(self, label: Label) -> Unit | None:
        dense = [
            other
            for other in self._turns
            if (other.name, other.recording, other.dtype) == (Policy.DENSE, Keep.OFF, label.dtype)
        ]
        return Unit.of(self._passes(dense[0]), self._found.model.info.depth) if dense else None


def _acceptance_length(its: Mapping[int, Turn]) -> float | None:
    """τ, tokens a pass of the target; None where passes were not told."""
    passes = sum(turn.target_passes for turn in its.values())
    return sum(len(turn.passes) for turn in its.values()) / passes if passes else None


def _speeds(its: Mapping[int, Turn]) -> list[float]:
    return [turn.tokens_per_second for turn in its.values() if turn.tokens_per_second is not None]


def _median(speeds: Sequence[float]) -> float | None:
    return statistics.median(speeds) if speeds else None


def _quartiles(values: Sequence[float]) -> list[float] | None:
    if len(values) < 2:
        return None
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return [low, high]


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def _agreement(passes: Sequence[Pass]) -> float | None:
    audited = [one.agrees for one in passes if one.agrees is not None]
    return statistics.fmean(audited) if audited else None
