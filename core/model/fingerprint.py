"""A model's fingerprint: what tells whether trained parts belong to it.

SHA-256 over a version mark, the facts of its shape, and for every tensor in the order of names: name, shape, stored
dtype and `SAMPLES` pieces of `PIECE` bytes spread evenly over its data (all of it where it is smaller). It is read
from the files, so neither the dtype chosen at load nor the sharding enters it. A fine-tune changes every tensor and
so every sample; that is the difference it is for, it does not guard against forgery.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from core.errors import UserError
from core.model.config import ModelConfig
from core.model.weights import StoredTensor, tensors, weight_files

VERSION = "specee-viewer model fingerprint 1"
SAMPLES = 64
PIECE = 64

FACTS = (
    "architecture", "depth", "hidden", "heads", "kv_heads", "head_dim", "mlp", "vocabulary", "norm_eps", "rope_theta",
    "tied", "attention_bias", "qk_norm", "windows",
)  # fmt: skip
"""Fields of `ModelConfig` that enter; a list of its own, so that a new field leaves old fingerprints alone."""

TIED_HEAD = "lm_head.weight"
"""Some files repeat the embedding under this name; a tied model is the same with and without it."""


def fingerprint(folder: Path, config: ModelConfig) -> str:
    """64 hex digits; takes some hundredths of a second.

    Raises:
        UserError: the weights are missing or damaged.
    """
    digest = hashlib.sha256(VERSION.encode())
    values = dataclasses.asdict(config)
    digest.update(json.dumps({name: values[name] for name in FACTS}, sort_keys=True).encode())
    found = tensors(weight_files(folder))
    if config.tied:
        found.pop(TIED_HEAD, None)
    samples = _samples(found.values())
    for name in sorted(found):
        one = found[name]
        digest.update(json.dumps([name, one.dtype, one.shape]).encode())
        digest.update(samples[id(one)])
    return digest.hexdigest()


def _samples(stored: Iterable[StoredTensor]) -> dict[int, bytes]:
    """The sampled bytes of each tensor, by identity; each file is opened once."""
    by_file: dict[Path, list[StoredTensor]] = {}
    for one in stored:
        by_file.setdefault(one.file, []).append(one)
    found: dict[int, bytes] = {}
    for path, entries in by_file.items():
        try:
            with path.open("rb", buffering=0) as file:
                found.update((id(one), b"".join(_pieces(file, one))) for one in entries)
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror}); check the file.") from error
    return found


def _pieces(file: IO[bytes], one: StoredTensor) -> Iterator[bytes]:
    if one.length <= SAMPLES * PIECE:
        file.seek(one.start)
        yield file.read(one.length)
        return
    for place in range(SAMPLES):
        file.seek(one.start + place * (one.length - PIECE) // (SAMPLES - 1))
        yield file.read(PIECE)
