"""What the program remembers of keys, layouts and looks. Everything read back is checked, as in `app.settings`."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray

from app.look import Look
from core.choices import Record

if TYPE_CHECKING:
    from PySide6.QtCore import QSettings

RECENT_COMMANDS = 12
MOST_LAYOUTS = 24
LONGEST_NAME = 40


class DeskSettings:
    """A typed face of one `QSettings`; a value that cannot be read is the default."""

    def __init__(self, store: QSettings) -> None:
        self._store = store

    @property
    def keys(self) -> dict[str, str]:
        """Keys that the user gave to actions, by the actions' names; unchecked beyond being text."""
        return self._texts("keys/chosen")

    @keys.setter
    def keys(self, chosen: Mapping[str, str]) -> None:
        self._store.setValue("keys/chosen", json.dumps(dict(chosen)))

    @property
    def recent_commands(self) -> list[str]:
        """Keys of the commands triggered from the palette, newest first."""
        found = self._json("palette/recent")
        return [key for key in found if isinstance(key, str)] if isinstance(found, list) else []

    def remember_command(self, key: str) -> None:
        """Put a command first among the recent ones."""
        others = [other for other in self.recent_commands if other != key]
        self._store.setValue("palette/recent", json.dumps([key, *others][:RECENT_COMMANDS]))

    @property
    def look(self) -> Look:
        return Look.from_json(self._json("view/look"))

    @look.setter
    def look(self, look: Look) -> None:
        self._store.setValue("view/look", json.dumps(look.to_json()))

    @property
    def record(self) -> Record | None:
        """The recording depth to begin with at each launch; None for the one that was used last."""
        text = self._text("run/record-first")
        return Record(text) if text in list(Record) else None

    @record.setter
    def record(self, depth: Record | None) -> None:
        self._store.setValue("run/record-first", depth.value if depth else "")

    @property
    def recoveries(self) -> int | None:
        """How many recordings that crashes left are kept; None for all."""
        text = self._text("session/recoveries")
        return int(text) if re.fullmatch("[1-9][0-9]{0,2}", text) else None

    @recoveries.setter
    def recoveries(self, count: int | None) -> None:
        self._store.setValue("session/recoveries", str(count or ""))

    @property
    def tour_offered(self) -> bool:
        """Whether the tour was offered once."""
        return self._text("help/tour-offered") == "yes"

    @tour_offered.setter
    def tour_offered(self, offered: bool) -> None:
        self._store.setValue("help/tour-offered", "yes" if offered else "")

    def forget_all(self) -> None:
        """Every setting is its default from now on, those of `app.settings.Preferences` too."""
        self._store.clear()

    @property
    def shared_layout(self) -> str:
        """The layout whose shares divided the room; "" where the user had moved something."""
        return self._text("window/shared")

    @shared_layout.setter
    def shared_layout(self, name: str) -> None:
        self._store.setValue("window/shared", name)

    @property
    def layouts(self) -> dict[str, QByteArray]:
        """The user's own layouts by name, in the order in which they were saved."""
        found = {}
        for name, text in self._texts("window/own-layouts").items():
            try:
                state = base64.b64decode(text, validate=True)
            except binascii.Error:
                continue
            if 0 < len(name) <= LONGEST_NAME and state:
                found[name] = QByteArray(state)
        return found

    @layouts.setter
    def layouts(self, layouts: Mapping[str, QByteArray]) -> None:
        coded = {name: base64.b64encode(state.data()).decode() for name, state in layouts.items()}
        self._store.setValue("window/own-layouts", json.dumps(coded))

    def _texts(self, key: str) -> dict[str, str]:
        found = self._json(key)
        pairs = found.items() if isinstance(found, dict) else ()
        return {name: text for name, text in pairs if isinstance(text, str)}

    def _text(self, key: str) -> str:
        value = self._store.value(key, "")
        return value if isinstance(value, str) else ""

    def _json(self, key: str) -> object:
        try:
            return json.loads(self._text(key) or "null")
        except (ValueError, RecursionError):
            return None
