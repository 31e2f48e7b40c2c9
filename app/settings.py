"""What the program remembers between launches. Everything read back is checked: the file is the user's to edit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QByteArray, QSettings

from app.desk_settings import DeskSettings
from app.form_values import FormValues
from app.model_form import LoadOptions
from core.choices import DType
from core.config import DEFAULT_MODEL

LAYOUT_VERSION = 3
"""Goes up with each change of the docks, so that an old layout is not restored onto new ones."""
RECENT_MODELS = 6
RECENT_SESSIONS = 8
DEVICE = "auto|cpu|mps|cuda(:[0-9]{1,3})?"
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
        self.desk = DeskSettings(self._store)

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
    def chat_template(self) -> bool:
        return bool(self._store.value("run/chat-template", True, type=bool))

    @chat_template.setter
    def chat_template(self, used: bool) -> None:
        self._store.setValue("run/chat-template", used)

    @property
    def form(self) -> FormValues:
        """What the settings form held last; the defaults before the first time."""
        return FormValues.from_json(self._json("run/form"))

    @form.setter
    def form(self, values: FormValues) -> None:
        self._store.setValue("run/form", json.dumps(values.to_json()))

    @property
    def unfolded(self) -> list[str] | None:
        """The settings form's unfolded sections; None before the first time."""
        keys = self._json("view/unfolded")
        return [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else None

    @unfolded.setter
    def unfolded(self, keys: list[str]) -> None:
        self._store.setValue("view/unfolded", json.dumps(keys))

    @property
    def load_options(self) -> LoadOptions:
        """How models are loaded."""
        dtype, threads, device = (self._text(f"model/{name}") for name in ("dtype", "threads", "device"))
        return LoadOptions(
            dtype=_member(DType, dtype, None),
            threads=int(threads) if re.fullmatch("[1-9][0-9]{0,3}", threads) else None,
            device=device if re.fullmatch(DEVICE, device) else LoadOptions().device,
        )

    @load_options.setter
    def load_options(self, options: LoadOptions) -> None:
        self._store.setValue("model/dtype", options.dtype.value if options.dtype else "")
        self._store.setValue("model/threads", str(options.threads or ""))
        self._store.setValue("model/device", options.device)

    @property
    def model(self) -> str:
        """The model last opened: its name, folder, file or hub id."""
        return self._text("model/last") or DEFAULT_MODEL

    @property
    def recent_models(self) -> list[str]:
        """Opened models other than the default one, newest first."""
        names = self._json("model/recent")
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def remember_model(self, reference: str) -> None:
        """Put `reference` first among the recent models, and open it at the next launch."""
        self._store.setValue("model/last", reference)
        if reference == DEFAULT_MODEL:
            return
        others = [name for name in self.recent_models if name != reference]
        self._store.setValue("model/recent", json.dumps([reference, *others][:RECENT_MODELS]))

    @property
    def recent_sessions(self) -> list[str]:
        """Session files that were opened or saved, newest first."""
        names = self._json("session/recent")
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def remember_session(self, path: str) -> None:
        """Put `path` first among the recent sessions."""
        others = [name for name in self.recent_sessions if name != path]
        self._store.setValue("session/recent", json.dumps([path, *others][:RECENT_SESSIONS]))

    @property
    def session_folder(self) -> str:
        """The newest recent session's folder that is still there; without one the user's home."""
        parents = (Path(name).parent for name in self.recent_sessions)
        return str(next((folder for folder in parents if folder.is_dir()), Path.home()))

    def forget_session(self, path: str) -> None:
        """Take a path that cannot be opened out of the recent sessions."""
        self._store.setValue("session/recent", json.dumps([name for name in self.recent_sessions if name != path]))

    @property
    def replay_speed(self) -> int:
        """Tokens a second at which a recording was played last; 0 where none was, or nobody can tell."""
        text = self._text("replay/speed")
        return int(text) if text.isdecimal() and len(text) < 5 else 0

    @replay_speed.setter
    def replay_speed(self, speed: int) -> None:
        self._store.setValue("replay/speed", str(speed))

    @property
    def breakpoints(self) -> list[object]:
        """What runs stop at, as `core.analysis.breakpoints.Breakpoint.to_json` gives it; unchecked."""
        values = self._json("debug/breakpoints")
        return values if isinstance(values, list) else []

    @breakpoints.setter
    def breakpoints(self, values: Sequence[object]) -> None:
        self._store.setValue("debug/breakpoints", json.dumps(list(values)))

    def _json(self, key: str) -> object:
        """What was stored as JSON; None where that cannot be read."""
        try:
            return json.loads(self._text(key) or "null")
        except (ValueError, RecursionError):
            return None

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
