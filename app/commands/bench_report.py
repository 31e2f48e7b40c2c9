"""What a contest measured, as a JSON object and as a table."""

from __future__ import annotations

import dataclasses
import os
import platform
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from app.commands.bench_contest import GENERATE, SameTokens, Turn, Turns
from core.config import Policy
from core.model.config import ModelConfig
from core.model.loading import LoadedModel

PROBE_BYTES = 1 << 30
"""Larger than a processor's caches, so that reading it means reading memory."""
_PROBES = 5


def result(model: LoadedModel, turns: Turns, same: SameTokens) -> dict[str, Any]:
    """The JSON object of `bench --json`."""
    medians = {name: _median_speed(its) for name, its in turns.items()}
    rows = [_row(name, model.info.dtype, its, medians) for name, its in turns.items()]
    bandwidth = memory_bandwidth(PROBE_BYTES)
    token_bytes = bytes_per_token(model.config, getattr(torch, model.info.dtype).itemsize)
    return {
        "rows": rows,
        "floor_tokens_per_second": bandwidth / token_bytes,
        "bytes_per_token": token_bytes,
        "memory_bytes_per_second": bandwidth,
        "float32_tokens": dataclasses.asdict(same),
        "model": model.info.name,
        "machine": machine(model),
    }


def _row(name: str, dtype: str, turns: Sequence[Turn], medians: dict[str, float | None]) -> dict[str, Any]:
    layers = [layer for turn in turns for layer in turn.exit_layers[1:]]
    return {
        "name": name,
        "recording": "off" if name == GENERATE else "live",
        "dtype": dtype,
        "tokens_per_second": medians[name],
        "tokens_per_second_quartiles": _quartiles(_speeds(turns)),
        "ratio_to_generate": _ratio(medians[name], medians.get(GENERATE)),
        "ratio_to_dense": _ratio(medians[name], medians.get(Policy.DENSE)),
        "mean_exit_layer": statistics.fmean(layers) if layers else None,
        # Needs every pass finished to full depth, which a live run does not do (`specee.md` §0).
        "agreement": None,
    }


def _speeds(turns: Sequence[Turn]) -> list[float]:
    return [turn.tokens_per_second for turn in turns if turn.tokens_per_second is not None]


def _median_speed(turns: Sequence[Turn]) -> float | None:
    speeds = _speeds(turns)
    return statistics.median(speeds) if speeds else None


def _quartiles(values: Sequence[float]) -> list[float] | None:
    if len(values) < 2:
        return None
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return [low, high]


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def bytes_per_token(config: ModelConfig, item: int) -> int:
    """Bytes of weights that one dense token reads at least: every layer and the head; one row of the embedding, K/V
    and norms are left out as too small to matter."""
    attention = config.hidden * config.head_dim * 2 * (config.heads + config.kv_heads)
    layer = attention + 3 * config.hidden * config.mlp
    return item * (config.depth * layer + config.vocabulary * config.hidden)


def memory_bandwidth(size: int) -> float:
    """Bytes a second that all of torch's threads together read, the best of a few sums over `size` bytes."""
    values = torch.ones(size // 4, dtype=torch.float32)
    best = min(_seconds_to_sum(values) for _ in range(_PROBES))
    return values.nbytes / best


def _seconds_to_sum(values: torch.Tensor) -> float:
    start = time.perf_counter()
    values.sum()
    return time.perf_counter() - start


def machine(model: LoadedModel) -> dict[str, Any]:
    """What the figures hold for."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": model.info.threads,
        "device": model.info.device,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def _processor() -> str:
    # `platform.processor` is empty or says only "x86_64" on Linux.
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def table(measured: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{'':<14}{'dtype':<10}{'tokens/s':>9}  {'quartiles':<15}{'to generate':>11}{'mean exit layer':>17}"]
    lines += [_table_row(row) for row in measured["rows"]]
    lines += ["", _floor_line(measured), same_line(measured["float32_tokens"]), _machine_line(measured["machine"])]
    return "\n".join(lines)


def _table_row(row: dict[str, Any]) -> str:
    quartiles = row["tokens_per_second_quartiles"]
    spread = f"{quartiles[0]:.1f}–{quartiles[1]:.1f}" if quartiles else "–"
    return (
        f"{row['name']:<14}{row['dtype']:<10}{_figure(row['tokens_per_second'], '.1f'):>9}  {spread:<15}"
        f"{_figure(row['ratio_to_generate'], '.2f') + '×':>11}{_figure(row['mean_exit_layer'], '.2f'):>17}"
    )


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _floor_line(measured: dict[str, Any]) -> str:
    return (
        f"Reading a token's {measured['bytes_per_token'] / 1e6:.3g} MB of weights at the "
        f"{measured['memory_bytes_per_second'] / 1e9:.1f} GB/s that this machine's memory gives allows "
        f"{measured['floor_tokens_per_second']:.0f} tokens/s."
    )


def same_line(same: dict[str, Any]) -> str:
    """Whether dense and generate agree, for people."""
    if same["same"]:
        return f"In float32, dense emits generate's tokens: all {same['tokens']} of {same['answers']} answers."
    return f"In float32, dense and generate DIFFER, first at token {same['first_difference'] + 1} of an answer."


def _machine_line(on: dict[str, Any]) -> str:
    return (
        f"{on['processor']}, {on['threads']} threads on {on['device']}, torch {on['torch']}, "
        f"transformers {on['transformers']}; medians over turns taken one after the other in one process."
    )
