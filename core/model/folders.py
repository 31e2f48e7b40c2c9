"""A model's folder as we keep it: config.json, safetensors, tokenizer, and a note of where they came from."""

from __future__ import annotations

import json
from pathlib import Path

from core.errors import UserError
from core.model.config import read_config
from core.model.weights import tensors, weight_files

NOTE = "specee-viewer.json"
"""Beside the weights: the model's name for the user, its source and licence."""

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")


def is_ready(folder: Path) -> bool:
    """Whether `folder` holds a whole model: config, every safetensors file untruncated, a tokenizer."""
    if not (folder / "config.json").is_file() or not any((folder / name).is_file() for name in TOKENIZERS):
        return False
    try:
        return bool(tensors(weight_files(folder)))
    except UserError:
        return False


def model_name(folder: Path) -> str:
    """A model's name for the user: as it was fetched, else its folder's."""
    try:
        return str(json.loads((folder / NOTE).read_text(encoding="utf-8"))["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.resolve().name


def check_folder(folder: Path) -> Path:
    """`folder`, once it is known to hold a model that we run.

    Raises:
        UserError: it does not.
    """
    read_config(folder)
    tensors(weight_files(folder))
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise UserError(f"{folder} has no tokenizer (tokenizer.json); download the model with all its files.")
    return folder


def write_note(folder: Path, name: str, source: str, licence: str) -> None:
    """Leave a note for `model_name` and for whoever looks into the folder."""
    note = {"name": name, "source": source, "licence": licence}
    (folder / NOTE).write_text(json.dumps(note, indent=2), encoding="utf-8")
