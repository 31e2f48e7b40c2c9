"""The engine's settings as a file that can be kept and passed on: written as JSON, read with every value checked."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from app.failure import describe
from app.form_values import FormValues
from core.errors import UserError
from core.plain_values import from_plain
from core.version import version

KIND = "specee-viewer engine settings"
VERSION = 1
LARGEST = 1_000_000
"""Bytes; a file of settings takes about one thousand."""
SUFFIX = ".json"


def write_settings(path: Path, values: FormValues) -> None:
    """Write the settings over whatever file is there; the user's home folder, which is nobody else's, becomes ~.

    Raises:
        UserError: it cannot be written; what was there is as it was.
    """
    values = dataclasses.replace(values, custom=_at_home(values.custom))
    text = json.dumps(
        {"kind": KIND, "version": VERSION, "written by": f"specee-viewer {version()}", "settings": values.to_json()},
        indent=2,
    )
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True) if partial.is_file() else None
        raise UserError(f"{path} cannot be written ({error.strerror or error}); choose another place.") from error


def read_settings(path: Path) -> FormValues:
    """The settings that a file holds; those that it leaves out are the defaults.

    Raises:
        UserError: it cannot be read, is no such file, or holds a value that is none; the sentence names the file and
            what is wrong in it.
    """
    given = _checked(path, _loaded(path))
    known = {field.name for field in dataclasses.fields(FormValues)}
    if unknown := sorted(set(given) - known):
        names = ", ".join(f"“{name:.40}”" for name in unknown)
        raise UserError(f"{path.name} sets {names}, which this version does not know; take that out of the file.")
    try:
        values = from_plain(FormValues, given)
    except (TypeError, ValueError, OverflowError, UserError) as error:
        raise UserError(f"{path.name} cannot be used: {str(error).rstrip('.')}; put that right in the file.") from error
    readable = FormValues.from_json(json.loads(json.dumps(values.to_json())))
    if wrong := [name for name in known if getattr(readable, name) != getattr(values, name)]:
        raise UserError(f"{path.name} cannot be used: {min(wrong)} is out of its range; put that right in the file.")
    return values


def _at_home(reference: str) -> str:
    """A policy's file, which may begin with ~ wherever it is named, without what the home folder is called."""
    home = str(Path.home())
    inside = reference.startswith((f"{home}/", f"{home}{os.sep}"))
    return f"~{reference[len(home) :]}" if inside and len(home) > 1 else reference


def _loaded(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST:
            raise UserError(f"{path.name} is far too large for settings; choose a file that this program has saved.")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or describe(error).sentence}).") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path.name} is no JSON; choose a file of settings that this program has saved.") from error


def _checked(path: Path, loaded: Any) -> dict[str, Any]:
    if not isinstance(loaded, dict) or loaded.get("kind") != KIND or not isinstance(loaded.get("settings"), dict):
        raise UserError(f"{path.name} holds no engine settings; choose a file that this program has saved.")
    if loaded.get("version") != VERSION:
        raise UserError(f"{path.name} was written by another version of this program; save the settings again there.")
    settings: dict[str, Any] = loaded["settings"]
    return settings
