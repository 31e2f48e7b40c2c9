"""Writes trained parts: a folder is whole or not there at all."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import UserError
from core.exits.adainfer import AdaInferParts
from core.exits.parts import TrainedParts
from core.exits.parts_folder import (
    ADAINFER,
    CARD,
    DRAFTER,
    FILES,
    FORMAT,
    LENS,
    LENS_PREDICTORS,
    PREDICTORS,
    SLIM,
    TRIMMED,
    read_card,
)

if TYPE_CHECKING:
    import torch


def save_parts(folder: Path, parts: TrainedParts, *, drafter_dtype: torch.dtype | None = None) -> None:
    """Write `parts` to `folder`, replacing parts that are there; it is whole or not there at all.

    `drafter_dtype` stores drafter, low-rank head and lens in another number format: float16 halves the files.

    Raises:
        UserError: the folder holds something else, or cannot be written.
    """
    from safetensors.torch import save_file

    _refuse_foreign(folder)
    values = {
        "format": FORMAT,
        "fingerprint": parts.fingerprint,
        "offline_ranking": [int(layer) for layer in parts.offline_ranking],
        "card": dict(parts.card),
    }
    with _written_whole(folder) as partial:
        for file, state in _states(parts, drafter_dtype).items():
            save_file(state, partial / file)
        (partial / CARD).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _states(parts: TrainedParts, dtype: torch.dtype | None) -> dict[str, dict[str, torch.Tensor]]:
    """What each file holds."""
    import torch

    weights = {DRAFTER: parts.drafter, SLIM: parts.slim, TRIMMED: parts.trimmed, LENS: parts.lens}
    arrays = {PREDICTORS: parts.predictors, LENS_PREDICTORS: parts.lens_predictors, ADAINFER: parts.adainfer}
    found = {
        file: {name: _plain(weight, dtype) for name, weight in part.state().items()}
        for file, part in weights.items()
        if part is not None
    }
    for file, bank in arrays.items():
        if bank is not None:
            found[file] = {name: torch.from_numpy(np.array(array)) for name, array in bank.arrays().items()}
    return found


def save_adainfer(source: Path, folder: Path, adainfer: AdaInferParts, quality: Mapping[str, Any]) -> None:
    """Write to `folder` the trained parts of `source`, byte by byte, with these classifiers added or replaced.

    `quality` becomes the card's entry "adainfer". The two folders may be the same.

    Raises:
        UserError: `source` holds no trained parts, or `folder` something else, or it cannot be written.
    """
    values = read_card(source)
    card = values.get("card")
    values["card"] = {**(card if isinstance(card, dict) else {}), "adainfer": dict(quality)}
    _refuse_foreign(folder)
    with _written_whole(folder) as partial:
        for name in FILES:
            if (source / name).exists():
                shutil.copyfile(source / name, partial / name)
        _write_adainfer(partial, adainfer)
        (partial / CARD).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _write_adainfer(folder: Path, adainfer: AdaInferParts) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({name: torch.from_numpy(array) for name, array in adainfer.arrays().items()}, folder / ADAINFER)


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and not (folder / CARD).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists and holds no trained parts; choose another folder.")


def _plain(weight: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    wanted = dtype if dtype is not None and weight.is_floating_point() else weight.dtype
    return weight.detach().to("cpu", wanted, copy=True).contiguous()


@contextlib.contextmanager
def _written_whole(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its place at the end."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as base:
            partial = Path(base) / "new"
            partial.mkdir()
            yield partial
            old = Path(base) / "old"
            if folder.exists():
                folder.rename(old)
            try:
                partial.rename(folder)
            except OSError:
                if old.exists():
                    old.rename(folder)
                raise
    except OSError as error:
        raise UserError(
            f"The trained parts cannot be written to {folder} ({error.strerror or error}); choose another folder."
        ) from error
