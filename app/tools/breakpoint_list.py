"""The user's breakpoints: a list that is remembered between launches and that live runs are held at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.live_watch import LiveWatch
from app.settings import Preferences
from core.analysis.breakpoints import Breakpoint
from core.analysis.conditions import Condition
from core.errors import UserError

MOST = 50
"""Breakpoints; each is looked for after every token of a live run."""


class BreakpointList(QObject):
    """Never holds the same condition twice."""

    changed = Signal()

    def __init__(self, preferences: Preferences, watch: LiveWatch, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences, self._watch = preferences, watch
        self._items = list(_readable(preferences.breakpoints))[:MOST]
        self._tell_watch()

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, row: int) -> Breakpoint:
        return self._items[row]

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(self._items)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Of all breakpoints, enabled or not."""
        return tuple(one.condition for one in self._items)

    @property
    def enabled(self) -> tuple[Condition, ...]:
        """What runs and searches stop at."""
        return tuple(one.condition for one in self._items if one.enabled)

    def row_of(self, condition: Condition) -> int | None:
        """Where a condition stands; None where it is none of the breakpoints'."""
        return self.conditions.index(condition) if condition in self.conditions else None

    def add(self, condition: Condition) -> int:
        """Break on this from now on; the row where it stands, which may have been there before.

        Raises:
            UserError: there are too many.
        """
        row = self.row_of(condition)
        if row is None and len(self._items) >= MOST:
            raise UserError(f"There are {MOST} breakpoints already; remove one first.")
        if row is None:
            self._items.append(Breakpoint(condition))
        else:
            self._items[row] = Breakpoint(condition)
        self._keep()
        return len(self._items) - 1 if row is None else row

    def change(self, row: int, condition: Condition) -> None:
        """Put another condition in the place of a breakpoint's.

        Raises:
            UserError: another breakpoint waits for the same.
        """
        if self.row_of(condition) not in (None, row):
            raise UserError(f"There is a breakpoint on “{condition.label}” already; change that one.")
        self._items[row] = replace(self._items[row], condition=condition)
        self._keep()

    def enable(self, row: int, enabled: bool) -> None:
        """Stop at this breakpoint, or pass over it."""
        self._items[row] = replace(self._items[row], enabled=enabled)
        self._keep()

    def remove(self, row: int) -> None:
        """Forget a breakpoint."""
        del self._items[row]
        self._keep()

    @Slot()
    def clear(self) -> None:
        """Forget all breakpoints."""
        self._items.clear()
        self._keep()

    def _keep(self) -> None:
        self._preferences.breakpoints = [one.to_json() for one in self._items]
        self._tell_watch()
        self.changed.emit()

    def _tell_watch(self) -> None:
        self._watch.watch_for(self.enabled)


def _readable(listed: Iterable[object]) -> Iterator[Breakpoint]:
    """What was remembered, without what is no breakpoint or stands there twice: the file is the user's to edit."""
    seen: set[Condition] = set()
    for values in listed:
        made = _made(values)
        if made is not None and made.condition not in seen:
            seen.add(made.condition)
            yield made


def _made(values: object) -> Breakpoint | None:
    try:
        return Breakpoint.from_json(values)
    except UserError:
        return None
