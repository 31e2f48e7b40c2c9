"""What a report of a fault says: the fault, versions, settings and the last of the log; nobody's home folder."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from app.failure import Failure
from app.form_values import FormValues
from core.version import version

PACKAGES = ("PySide6-Essentials", "torch", "transformers", "numpy", "pyqtgraph", "tokenizers", "safetensors", "numba")
"""Whose versions matter; they are looked up without being imported."""
LOG_LINES = 40


def bug_report(failure: Failure, model: str = "", settings: FormValues | None = None, log: Sequence[str] = ()) -> str:
    """Everything that helps whoever looks into a fault, as plain text; prompts and answers are in none of it.

    Args:
        failure: what went wrong.
        model: the loaded model in words; "" where none is.
        settings: what is entered in the Engine panel.
        log: lines of the log, the newest last.
    """
    parts = [failure.sentence, "", f"specee-viewer {version()}", *_surroundings()]
    parts.append(f"model: {model or 'none loaded'}")
    if settings is not None:
        parts.append(f"settings: {json.dumps(settings.to_json(), ensure_ascii=False)}")
    if log:
        parts += ["", "log:", *log[-LOG_LINES:]]
    if failure.details:
        parts += ["", failure.details.rstrip()]
    return without_home("\n".join(parts)) + "\n"


def without_home(text: str) -> str:
    """The text with the user's home folder written as ~, however it is spelt."""
    home = Path.home()
    spellings = {str(home), os.path.realpath(home), home.as_posix(), str(home).replace("\\", "\\\\")}
    for one in sorted((one for one in spellings if len(one) > 1), key=len, reverse=True):
        text = text.replace(one, "~")
    return text


def _surroundings() -> list[str]:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return [
        f"Python {platform.python_version()} on {platform.system()} {platform.release()} ({platform.machine()})",
        ", ".join(found),
    ]
