"""What the program remembers between launches. Everything read back is checked: the file is the user's to edit."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TypeVar

from PySide6.QtCore import QByteArray, QSettings

from core.config import DEFAULT_MODEL, DType, RunSettings
from core.errors import UserError

LAYOUT_VERSION = 1
"""Goes up with each change of the docks, so that an old layout is not restored onto new ones."""
RECENT_MODELS = 6
FIRST_PROMPT = "Explain why the sky is blue in two sentences."

Kind = TypeVar("Kind", bound=StrEnum)
Default = TypeVar("Default")


class ThemeMode(StrEnum):
    """Which theme the user wants."""

    SYSTEM = "system"
    DARK = "dark"
    LIGHT = "light"


class Preferences:
    """A typed face of one `QSettings`; a value that cannot be read is the default."""

    def __init__(self, store: QSettings | None = None) -> None:
        self._store = store if store is not None else QSettings()

    @property
    def theme(self) -> ThemeMode:
        return _member(ThemeMode, self._text("view/theme"), ThemeMode.SYSTEM)

    @theme.setter
    def theme(self, mode: ThemeMode) -> None:
        self._store.setValue("view/theme", mode.value)

    @property
    def geometry(self) -> QByteArray:
        return self._bytes("window/geometry")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._store.setValue("window/geometry", value)

    @property
    def layout(self) -> QByteArray:
        """Where the docks were."""
        return self._bytes(f"window/layout-{LAYOUT_VERSION}")

    @layout.setter
    def layout(self, value: QByteArray) -> None:
        self._store.setValue(f"window/layout-{LAYOUT_VERSION}", value)

    @property
    def prompt(self) -> str:
        return self._text("run/prompt") or FIRST_PROMPT

    @prompt.setter
    def prompt(self, text: str) -> None:
        self._store.setValue("run/prompt", text)

    @property
    def run_settings(self) -> RunSettings | None:
        """The settings last used; None before the first time."""
        text = self._text("run/settings")
        try:
            return RunSettings.from_json(json.loads(text)) if text else None
        except (ValueError, TypeError, UserError):
            return None

    @run_settings.setter
    def run_settings(self, settings: RunSettings) -> None:
        self._store.setValue("run/settings", json.dumps(settings.to_json()))

    @property
    def dtype(self) -> DType | None:
        """None chooses by what the machine does well."""
        text = self._text("model/dtype")
        return _member(DType, text, None) if text else None

    @dtype.setter
    def dtype(self, dtype: DType | None) -> None:
        self._store.setValue("model/dtype", dtype.value if dtype else "")

    @property
    def threads(self) -> int | None:
        """None leaves the number to torch."""
        text = self._text("model/threads")
        return int(text) if text.isdecimal() and int(text) > 0 else None

    @threads.setter
    def threads(self, threads: int | None) -> None:
        self._store.setValue("model/threads", str(threads or ""))

    @property
    def model(self) -> str:
        """The model last opened: its name, folder, file or hub id."""
        return self._text("model/last") or DEFAULT_MODEL

    @property
    def recent_models(self) -> list[str]:
        """Opened models other than the default one, newest first."""
        try:
            names = json.loads(self._text("model/recent") or "[]")
        except ValueError:
            return []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def remember_model(self, reference: str) -> None:
        """Put `reference` first among the recent models, and open it at the next launch."""
        self._store.setValue("model/last", reference)
        if reference == DEFAULT_MODEL:
            return
        others = [name for name in self.recent_models if name != reference]
        self._store.setValue("model/recent", json.dumps([reference, *others][:RECENT_MODELS]))

    def _text(self, key: str) -> str:
        value = self._store.value(key, "")
        return value if isinstance(value, str) else ""

    def _bytes(self, key: str) -> QByteArray:
        value = self._store.value(key, QByteArray())
        return value if isinstance(value, QByteArray) else QByteArray()


def _member(kind: type[Kind], text: str, default: Default) -> Kind | Default:
    try:
        return kind(text)
    except ValueError:
        return default
