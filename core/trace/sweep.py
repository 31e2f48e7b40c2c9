"""Some fields of a stored run's events, many tokens at a time: analyses of whole runs need no object for each event.

What is read is checked as `core.trace.checking` does, but only that. A token about which anything is unusual or does
not fit is left out (`Swept.whole`), with all of its pass: its record, read by itself, then tells, or tells of damage.
The same holds of what would take more memory than `MOST_MEMORY`, whatever a file promises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from core.trace.codec import BadColumn, Reader
from core.trace.events import BoolArray, IntArray, ModelInfo, TokenEmitted, TreeDrafted
from core.trace.fields import DTYPES, KINDS, NUMBERS, fields_of
from core.trace.packing import Layout, inflated
from core.trace.ragged import Ragged
from core.trace.stacking import MOST_VALUES, Shape, Stack, Taken, Values

PORTION = 512
"""Tokens that are best read at once: about a megabyte."""
MOST_BYTES, LARGEST = 2**27, 2**22
"""Bytes that the stretches of one reading, and one of them, may hold once they are no longer compressed."""
MOST_MEMORY = 2**28
"""Bytes that one reading takes at most by the bounds above, whatever is read."""
TOKEN = "token"
ANY = -1
"""A length that differs from event to event; the field's numbers then come one after the other."""
Wanted = Mapping[type[Any], Mapping[str, Shape | None]]
"""By class of events, the fields that are read of each beside its token, with their arrays' shape; None for plain
numbers and for texts."""
Stretches = Callable[[int, int], Iterable[tuple[int, bytes]]]
"""Gives the packed stretches that tell of the tokens first…last - 1, each with the token that it ends with; raises
`UserError`."""
_IDS = frozenset(("candidate_ids", "token_ids", "argmax_id", "node_ids", "argmax_ids"))


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

    def among(self, which: BoolArray) -> Swept:
        """Without the tokens that are not among these; shape [n]."""
        whole = self.whole & which
        kept = {kind: one.kept(_among(one.tokens - self.first, whole)) for kind, one in self.rows.items()}
        return Swept(self.first, whole, kept)


class Sweep:
    """Reads what is wanted of any stretch of a run."""

    def __init__(
        self, stretches: Stretches, layout: Layout, model: ModelInfo, passes: IntArray, wanted: Wanted
    ) -> None:
        """Of a run.

        Args:
            stretches: gives what is stored of it.
            layout: by which that was packed.
            model: what it ran.
            passes: shape [n], the first token of each emitted token's pass.
            wanted: what is read.
        """
        self._stretches, self._layout, self._model = stretches, layout, model
        self._begins = np.flatnonzero(passes == np.arange(len(passes)))
        """First tokens of passes."""
        self._count = len(passes)
        self._wanted: Wanted = {TokenEmitted: {}, **wanted}

    @property
    def is_possible(self) -> bool:
        """Whether all that is wanted was written; some of it came later than this program's first files."""
        written = {KINDS[name]: {TOKEN, *paths} for name, paths in self._layout.kinds}
        return all({TOKEN, *fields} <= written.get(kind, set()) for kind, fields in self._wanted.items())

    def around(self, first: int, last: int) -> tuple[int, int]:
        """The least stretch of whole passes that holds the emitted tokens first…last - 1."""
        begin = np.searchsorted(self._begins, first, "right") - 1
        return int(self._begins[begin]), int(self._end(np.array([max(last - 1, first)]))[0])

    def read(self, first: int, last: int) -> Swept:
        """The emitted tokens first…last - 1, which are whole passes.

        Raises:
            UserError: the file cannot be read.
        """
        stacks = _Stacks(self._layout, self._wanted)
        for token, packed in self._stretches(first, last):
            stacks.take(token - first, packed)
        return self._swept(first, last - first, stacks)

    def _end(self, tokens: IntArray) -> IntArray:
        """The first token after the pass of each. Shape [m]."""
        following = np.searchsorted(self._begins, tokens, "right")
        ends: IntArray = np.append(self._begins, self._count)[following]
        return np.maximum(ends, tokens + 1)

    def _swept(self, first: int, count: int, stacks: _Stacks) -> Swept:
        """What is told of a token stands in a stretch from its own to the one after its pass."""
        odd, rows = [np.array(sorted(stacks.odd), np.int64)], {}
        for kind in self._wanted:
            places, rows[kind] = stacks.rows(kind, count + 1)
            tokens = rows[kind].tokens
            astray = (tokens > places + first) | (places + first > self._end(tokens))
            odd.append(places[astray | ~self._fits(rows[kind])])
        emitted = rows[TokenEmitted].tokens - first
        emitted = emitted[(emitted >= 0) & (emitted < count)]
        whole = self._whole(first, np.bincount(emitted, minlength=count) == 1, np.concatenate(odd))
        return Swept(first, whole, rows).among(whole)

    def _whole(self, first: int, sound: BoolArray, odd: IntArray) -> BoolArray:
        """The tokens of passes that are all sound, without those of which a stretch at an odd place may tell: it tells
        of its own token's pass, and of the one that ends right before. Shape [n], as `sound`."""
        for places in (odd, odd - 1):
            sound[places[(places >= 0) & (places < len(sound))]] = False
        inside = self._begins[(self._begins > first) & (self._begins < first + len(sound))] - first
        starts = np.append(0, inside)[: len(sound)]
        whole: BoolArray = np.repeat(np.logical_and.reduceat(sound, starts), np.diff(starts, append=len(sound)))
        return whole

    def _fits(self, rows: Rows) -> BoolArray:
        """Whether ids are of the vocabulary and layers of the model. Shape [m]."""
        fits = np.ones(len(rows.tokens), np.bool_)
        for name in rows.fields.keys() & {*_IDS, "layer"}:
            most = self._model.depth if name == "layer" else self._model.vocabulary
            outside = (rows[name] < 0) | (rows[name] >= most)
            fits[rows.fields[name].owners[outside.ravel()]] = False
        return fits


def swept_of(sweep: Sweep | None, first: int, last: int) -> Swept | None:
    """As `Sweep.read`; None where nothing can be read together: the records know whom to tell of damage."""
    if sweep is None:
        return None
    try:
        return sweep.read(first, last)
    except UserError:
        return None


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
        self._left, self._bytes = MOST_VALUES, MOST_BYTES
        """How many values and bytes may yet be taken."""
        self._counts: dict[type[Any], list[tuple[int, int]]] = {kind: [] for kind in wanted}
        """By class, places of stretches and how many events each has."""
        kinds = [(KINDS[name], paths) for name, paths in layout.kinds]
        self._plan = [(kind, _steps([self._stacks.get(kind, {}).get(path) for path in paths])) for kind, paths in kinds]
        """By number, the class of events and how its columns are gone through."""
        self._last = max(number for number, (kind, _) in enumerate(kinds) if kind in wanted)
        """Nothing beyond is wanted."""
        unasked = [number for number, (kind, _) in enumerate(kinds) if kind is TreeDrafted and kind not in wanted]
        self._trees = bytes(unasked)
        """The numbers of trees where nobody asks for them: another engine's run may have some that no setting tells."""

    def take(self, place: int, packed: bytes) -> None:
        """Add a stretch."""
        try:
            counts, found = self._look(packed)
        except (ValueError, TypeError, ArithmeticError, LookupError):
            self.odd.add(place)
            return
        self._left -= sum(one.like.places + one.like.numbers for _, one in found)
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

    def _look(self, packed: bytes) -> tuple[list[tuple[type[Any], int]], list[tuple[Stack | Ragged, Taken]]]:
        """A stretch's events by class, and what is wanted of them."""
        reader, left = Reader(self._inflated(packed)), self._left
        order = reader.take(reader.number())
        if any(number in order for number in self._trees):
            raise BadColumn("it tells of a tree")
        counts, found = [], []
        for number in sorted(set(order)):
            if number > self._last:
                break
            (kind, steps), count = self._plan[number], order.count(number)
            if kind in self._counts:
                counts.append((kind, count))
            for skipped, stack in steps:
                reader.skip_framed(skipped)
                if stack is None:
                    continue
                _spare(left - count)
                one = stack.look(count, reader.take(reader.number()))
                left -= one.like.places + one.like.numbers
                _spare(left)
                found.append((stack, one))
        return counts, found

    def _inflated(self, packed: bytes) -> bytes:
        """Counts a stretch that does not unpack as the largest: it may have taken as long."""
        most = min(LARGEST, self._bytes)
        _spare(most - 1)
        self._bytes -= most
        data = inflated(packed, most)
        self._bytes += most - len(data)
        return data


def _steps(stacks: Sequence[Stack | Ragged | None]) -> list[tuple[int, Stack | Ragged | None]]:
    """How many columns are left out before each that is wanted, and before None, in the end."""
    wanted = [at for at, stack in enumerate(stacks) if stack is not None]
    gaps = [at - before - 1 for before, at in zip([-1, *wanted], [*wanted, len(stacks)], strict=True)]
    return list(zip(gaps, [*(stacks[at] for at in wanted), None], strict=True))


def _spare(values: int) -> None:
    if values < 0:
        raise BadColumn("it is more than is read at once")


def _stacks(kind: type[Any], wanted: Mapping[str, Shape | None]) -> dict[str, Stack | Ragged]:
    hints = {field.path: field.hint for field in fields_of(kind)}
    return {path: _stack(hints[path], shape) for path, shape in wanted.items()}


def _stack(hint: Any, shape: Shape | None) -> Stack | Ragged:
    """For a field of this type."""
    if hint in NUMBERS:
        return Stack(NUMBERS[hint], shape)
    if shape is None:
        return Ragged(np.uint8, 1)
    dtype, optional = (
        next(dtype for array, dtype in DTYPES.items() if hint in (array, array | None)),
        hint not in DTYPES,
    )
    return Ragged(dtype, len(shape), optional=optional) if ANY in shape else Stack(dtype, shape, optional=optional)
