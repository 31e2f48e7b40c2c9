"""Some fields of a stored run's events, many tokens at a time: analyses of whole runs need no object for each event.

What is read is checked as `core.trace.checking` does, but only that. A token about which anything is unusual or does
not fit is left out (`Swept.whole`): its record, read by itself, then tells, or tells of the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.trace.codec import Reader
from core.trace.events import BoolArray, IntArray, ModelInfo, TokenEmitted
from core.trace.fields import DTYPES, KINDS, NUMBERS, fields_of
from core.trace.packing import Layout, inflated
from core.trace.stacking import Shape, Stack, Taken, Values

PORTION = 512
"""Tokens that are best read at once: about a megabyte."""
TOKEN = "token"
Wanted = Mapping[type[Any], Mapping[str, Shape | None]]
"""By class of events, the fields that are read of each beside its token, with their arrays' shape; None for numbers."""
Stretches = Callable[[int, int], Iterable[tuple[int, bytes]]]
"""Gives the packed stretches that tell of the tokens first…last - 1, each with the token that it ends with; raises
`UserError`."""
_IDS = frozenset(("candidate_ids", "token_ids", "argmax_id"))


@dataclass(frozen=True, slots=True)
class Rows:
    """The events of one class, in the order they came; m of them."""

    tokens: IntArray
    """Shape [m]."""
    fields: Mapping[str, Values]

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A field's values, shape [m, …]; fewer where some are missing."""
        return self.fields[name].values

    def kept(self, which: BoolArray) -> Rows:
        """Only those; shape [m]."""
        return Rows(self.tokens[which], {name: one.kept(which) for name, one in self.fields.items()})


@dataclass(frozen=True, slots=True)
class Swept:
    """Events of n tokens from `first` on."""

    first: int
    whole: BoolArray
    """Shape [n]: the tokens whose events are here."""
    rows: Mapping[type[Any], Rows]
    """By class, for each that was wanted."""


class Sweep:
    """Reads what is wanted of any stretch of a run. Not for runs of trees, whose passes tell of several tokens."""

    def __init__(self, stretches: Stretches, layout: Layout, model: ModelInfo, wanted: Wanted) -> None:
        """Of a run of `model`, whose `stretches` were packed by `layout`."""
        self._stretches, self._layout, self._model = stretches, layout, model
        self._wanted: Wanted = {TokenEmitted: {}, **wanted}

    @property
    def is_possible(self) -> bool:
        """Whether all that is wanted was written; some of it came later than this program's first files."""
        written = {KINDS[name]: {TOKEN, *paths} for name, paths in self._layout.kinds}
        return all({TOKEN, *fields} <= written.get(kind, set()) for kind, fields in self._wanted.items())

    def read(self, first: int, last: int) -> Swept:
        """The emitted tokens first…last - 1.

        Raises:
            UserError: the file cannot be read.
        """
        stacks = _Stacks(self._layout, self._wanted)
        for token, packed in self._stretches(first, last):
            stacks.take(token - first, packed)
        return self._swept(first, last - first, stacks)

    def _swept(self, first: int, count: int, stacks: _Stacks) -> Swept:
        """What is told of a token stands in its own stretch or in the next one."""
        whole, rows = np.ones(count + 1, np.bool_), {}
        _leave_out(whole, np.array(sorted(stacks.odd), np.int64))
        for kind in self._wanted:
            places, rows[kind] = stacks.rows(kind, count + 1)
            behind = places - (rows[kind].tokens - first)
            _leave_out(whole, places[(behind < 0) | (behind > 1) | ~self._fits(rows[kind])])
        emitted = rows[TokenEmitted].tokens - first
        emitted = emitted[(emitted >= 0) & (emitted < count)]
        whole = whole[:count] & (np.bincount(emitted, minlength=count) == 1)
        return Swept(first, whole, {kind: one.kept(_among(one.tokens - first, whole)) for kind, one in rows.items()})

    def _fits(self, rows: Rows) -> BoolArray:
        """Whether ids are of the vocabulary and layers of the model. Shape [m]."""
        model, fits = self._model, np.ones(len(rows.tokens), np.bool_)
        for name in rows.fields.keys() & {*_IDS, "layer"}:
            values = rows[name].reshape(len(fits), -1) if len(fits) else rows[name].reshape(0, 0)
            fits &= ((values >= 0) & (values < (model.depth if name == "layer" else model.vocabulary))).all(1)
        return fits


def _leave_out(whole: BoolArray, places: IntArray) -> None:
    """Take nothing of these places, nor of the tokens before, of which their stretches may tell."""
    whole[places] = False
    whole[np.maximum(places - 1, 0)] = False


def _among(own: IntArray, whole: BoolArray) -> BoolArray:
    """Which events are of a token that is whole; `own` are the tokens' places. Shape [m]."""
    within: BoolArray = (own >= 0) & (own < len(whole))
    within[within] = whole[own[within]]
    return within


class _Stacks:
    """The columns that are wanted, of many stretches."""

    def __init__(self, layout: Layout, wanted: Wanted) -> None:
        self.odd: set[int] = set()
        """Places of stretches that are not as usual."""
        self._stacks = {
            kind: {TOKEN: Stack(np.int64, None), **_stacks(kind, fields)} for kind, fields in wanted.items()
        }
        self._counts: dict[type[Any], list[tuple[int, int]]] = {kind: [] for kind in wanted}
        """By class, places of stretches and how many events each has."""
        kinds = [(KINDS[name], paths) for name, paths in layout.kinds]
        self._plan = [(kind, [self._stacks.get(kind, {}).get(path) for path in paths]) for kind, paths in kinds]
        self._last = max(number for number, (kind, _) in enumerate(kinds) if kind in wanted)
        """Nothing beyond is wanted."""

    def take(self, place: int, packed: bytes) -> None:
        """Add a stretch."""
        try:
            counts, found = self._look(packed)
        except (ValueError, TypeError, ArithmeticError, LookupError):
            self.odd.add(place)
            return
        for kind, count in counts:
            self._counts[kind].append((place, count))
        for stack, one in found:
            stack.take(place, one)

    def rows(self, kind: type[Any], places: int) -> tuple[IntArray, Rows]:
        """The place of each event's stretch, shape [m], and the events; there are so many places."""
        counts = np.zeros(places, np.int64)
        for place, count in self._counts[kind]:
            counts[place] = count
        starts, total = np.cumsum(counts) - counts, int(counts.sum())
        fields = {path: stack.values(starts, total) for path, stack in self._stacks[kind].items()}
        return np.repeat(np.arange(places), counts), Rows(fields.pop(TOKEN).values, fields)

    def _look(self, packed: bytes) -> tuple[list[tuple[type[Any], int]], list[tuple[Stack, Taken]]]:
        """A stretch's events by class, and what is wanted of them."""
        reader = Reader(inflated(packed))
        order = reader.take(reader.number())
        counts, found = [], []
        for number in sorted(set(order)):
            if number > self._last:
                break
            (kind, stacks), count = self._plan[number], order.count(number)
            if kind in self._counts:
                counts.append((kind, count))
            for stack in stacks:
                size = reader.number()
                if stack is None:
                    reader.skip(size)
                else:
                    found.append((stack, stack.look(count, reader.take(size))))
        return counts, found


def _stacks(kind: type[Any], wanted: Mapping[str, Shape | None]) -> dict[str, Stack]:
    hints = {field.path: field.hint for field in fields_of(kind)}
    return {path: _stack(hints[path], shape) for path, shape in wanted.items()}


def _stack(hint: Any, shape: Shape | None) -> Stack:
    """For a field of this type."""
    if hint in NUMBERS:
        return Stack(NUMBERS[hint], shape)
    dtype = next(dtype for array, dtype in DTYPES.items() if hint in (array, array | None))
    return Stack(dtype, shape, optional=hint not in DTYPES)
