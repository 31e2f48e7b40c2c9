"""The safetensors files of a model folder, looked at without torch.

A safetensors file is eight bytes of header length (little-endian), a JSON header, then raw bytes; the header names
each tensor's dtype, shape and place. Reading it here lets a folder be judged before anything heavy is imported.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import UserError

INDEX = "model.safetensors.index.json"
LENGTH_BYTES = 8
LARGEST_HEADER = 100_000_000
"""What the safetensors library itself accepts, in bytes."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies."""

    file: Path
    dtype: str
    """As safetensors writes it: "F32", "BF16", …"""
    shape: tuple[int, ...]
    start: int
    """First byte, from the file's beginning."""
    length: int
    """In bytes."""


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files that make up the model in `folder`, all present.

    Raises:
        UserError: there are none, only a kind that is never read, or one that the index names is missing.
    """
    index = folder / INDEX
    if index.is_file():
        return _indexed(index)
    files = sorted(folder.glob("*.safetensors"))
    single = folder / "model.safetensors"
    if single in files:
        return [single]
    if not files:
        raise UserError(_why_no_weights(folder))
    return files


def tensors(files: list[Path]) -> dict[str, StoredTensor]:
    """All tensors in `files` by name.

    Raises:
        UserError: a file is truncated or is no safetensors file.
    """
    found: dict[str, StoredTensor] = {}
    for path in files:
        found.update(_read_header(path))
    return found


def _indexed(index: Path) -> list[Path]:
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        files = [index.parent / str(name) for name in names]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{index} cannot be read; download the model again.") from error
    for path in files:
        if path.parent != index.parent or not path.is_file():
            raise UserError(f"{index.parent} lacks {path.name}, which its index names; download the model again.")
    return files


def _why_no_weights(folder: Path) -> str:
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.pth")):
        return (
            f"{folder} holds its weights only in PyTorch's pickle format, which can run code; specee-viewer reads "
            "safetensors and GGUF. Convert them, or choose another copy of the model."
        )
    ggufs = sorted(folder.glob("*.gguf"))
    if ggufs:
        return f"{folder} holds a GGUF file; choose the file itself: {ggufs[0]}."
    return f"{folder} holds no model weights (*.safetensors); choose the folder that a model was saved to."


def _read_header(path: Path) -> dict[str, StoredTensor]:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(LENGTH_BYTES))
            if length > min(size, LARGEST_HEADER):
                raise _damaged(path)
            header = json.loads(file.read(length))
        base = LENGTH_BYTES + length
        found = {name: _entry(path, base, entry) for name, entry in header.items() if name != "__metadata__"}
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the file and its permissions.") from error
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise _damaged(path) from error
    if any(one.start < base or one.length < 0 or one.start + one.length > size for one in found.values()):
        raise _damaged(path)
    return found


def _entry(path: Path, base: int, entry: Any) -> StoredTensor:
    first, end = (int(place) for place in entry["data_offsets"])
    shape = tuple(int(size) for size in entry["shape"])
    return StoredTensor(path, str(entry["dtype"]), shape, base + first, end - first)


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is damaged or incomplete; download the model again.")
