"""A model and its trained parts, made ready for a command."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.choices import DType
from core.progress import Report

if TYPE_CHECKING:
    from core.exits.parts import TrainedParts
    from core.model.loading import LoadedModel


@dataclass(frozen=True, slots=True)
class Opened:
    """What `open_model` found."""

    folder: Path
    """Where the weights and the tokenizer lie."""
    model: LoadedModel
    parts: TrainedParts | None
    """None where none were trained for this model: it runs dense."""


def open_model(
    ref: str,
    *,
    dtype: str | None,
    device: str = "cpu",
    threads: int | None,
    parts: Path | None,
    report: Report,
    cancel: threading.Event | None,
) -> Opened:
    """Find, fetch if need be, and load a model; `parts` overrides the search for trained parts.

    Raises:
        UserError: the model or the parts cannot be had; the sentence says what to do.
    """
    from core.exits.parts_folder import find_parts
    from core.exits.parts_reading import load_parts
    from core.model.loading import load_model
    from core.model.store import ModelStore

    folder = ModelStore().resolve(ref, report, cancel)
    model = load_model(
        folder,
        dtype=DType(dtype) if dtype else None,
        device=device,
        threads=threads,
        fuse=True,
        report=report,
        cancel=cancel,
    )
    found = find_parts(model.info, parts) or parts
    return Opened(folder, model, load_parts(found, model) if found else None)
