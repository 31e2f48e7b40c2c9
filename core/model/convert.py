"""A GGUF file made into a folder that loads fast."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

from core.errors import UserError
from core.model.child import OUT_OF_MEMORY_CODES, run_watched
from core.model.files import disk_full
from core.progress import Report

Converter = Callable[[Path, Path, str, Report, threading.Event | None], None]
"""(GGUF file, folder to fill, the model's name for the user, report, cancel); raises as `convert_gguf`."""

REFUSED = 3
"""Exit status of the child that printed, last, a sentence for the user."""


class ConversionFailed(Exception):
    """What the child printed, for the details of an error."""


def convert_gguf(gguf: Path, folder: Path, name: str, report: Report, cancel: threading.Event | None) -> None:
    """Dequantise `gguf` into `folder`: safetensors in float32, config, tokenizer; some 20–35 s for the default model.

    Raises:
        Cancelled: the child was killed.
        UserError: an architecture that we do not run, a damaged file, too little memory or disk.
    """
    status, output = run_watched(
        [sys.executable, "-m", "core.model.gguf_child", str(gguf.resolve()), str(folder)],
        watch=folder,
        message=f"Unpacking the weights of {name} (once)",
        total=0,
        report=report,
        cancel=cancel,
        environment={"PYTHONPATH": str(Path(__file__).parents[2]), "HF_HUB_OFFLINE": "1"},
    )
    if status:
        raise _explain(gguf, folder, status, output) from ConversionFailed(output)


def _explain(gguf: Path, folder: Path, status: int, output: str) -> UserError:
    lines = output.strip().splitlines()
    if status == REFUSED and lines:
        return UserError(lines[-1])
    if status in OUT_OF_MEMORY_CODES or "MemoryError" in output or "can't allocate memory" in output:
        return UserError(
            f"There is not enough memory to convert {gguf.name}; close other programs or take a smaller model."
        )
    if "No space left on device" in output:
        return disk_full(folder)
    return UserError(f"{gguf.name} cannot be read as a GGUF model; it may be damaged, so download it again.")
