"""What the figures of a bench hold for: the machine, and what its memory allows."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

import torch
import transformers

from core.model.config import ModelConfig
from core.model.loading import LoadedModel

PROBE_BYTES = 1 << 30
"""Larger than a processor's caches, so that reading it means reading memory."""
_PROBES = 5


def bytes_per_token(config: ModelConfig, layer: float, head: float) -> float:
    """Bytes of weights that one dense token reads at least, given the bytes of a weight in the layers and in the head.

    One row of the embedding, K/V and norms are left out as too small to matter.
    """
    attention = config.hidden * config.head_dim * 2 * (config.heads + config.kv_heads)
    weights = attention + 3 * config.hidden * config.mlp
    return config.depth * weights * layer + config.vocabulary * config.hidden * head


def memory_bandwidth() -> float:
    """Bytes a second that all of torch's threads together read, the best of a few sums over `PROBE_BYTES`."""
    values = torch.ones(PROBE_BYTES // 4, dtype=torch.float32)
    best = min(_seconds_to_sum(values) for _ in range(_PROBES))
    return values.nbytes / best


def _seconds_to_sum(values: torch.Tensor) -> float:
    start = time.perf_counter()
    values.sum()
    return time.perf_counter() - start


def machine(model: LoadedModel) -> dict[str, Any]:
    """Processor, threads and versions."""
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
