"""A few numbers a token, as columns over a whole run, so that no view must touch every record to draw an overview.

A session file stores the same columns beside the packed events. Layers are 0-based, an exit layer is a count, 1…L.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.trace.events import BoolArray, ExitReason, IntArray, TokenEmitted
from core.trace.growing import Growing
from core.trace.records import TokenRecord

UNKNOWN = -1
"""Where a whole number was not recorded."""
NO_CANDIDATE = -2
"""In `Overview.final_ranks`: the full-depth token was none of the candidates."""
REASONS = tuple(ExitReason)
"""`Overview.reasons` holds places in this."""


class CellState(IntFlag):
    """What happened at one (token, layer) of the scheduler map."""

    NONE = 0
    OFFLINE = 1
    """In the offline set."""
    ONLINE = 2
    """Within r of an exit in the ring."""
    EVALUATED = 4
    PROPOSED = 8
    REFUSED = 16
    EXITED = 32
    """The last layer that the token ran."""
    WRONG = 64
    """It was, and full depth gives another token; only an audit can tell."""


def cell_states(record: TokenRecord) -> NDArray[np.uint8]:
    """Flags of `CellState` for each layer of one token. Shape [L]."""
    states = record.evaluated * _EVALUATED + record.proposed * _PROPOSED
    if record.schedule:
        online = record.schedule.active & (record.schedule.counters > 0)
        states |= record.schedule.offline * _OFFLINE + online * _ONLINE
    for layer, check in record.checks.items():
        states[layer] |= 0 if check.accepted else CellState.REFUSED
    if record.emitted:
        states[record.emitted.exit_layer - 1] |= CellState.EXITED | (CellState.WRONG if is_wrong(record) else 0)
    return states


_OFFLINE, _ONLINE, _EVALUATED, _PROPOSED = (
    np.uint8(state) for state in (CellState.OFFLINE, CellState.ONLINE, CellState.EVALUATED, CellState.PROPOSED)
)


def is_wrong(record: TokenRecord) -> bool:
    """Whether an audit found that full depth gives another token."""
    return record.audit is not None and record.audit.full_depth_id != emitted_of(record).token_id


def refusals(record: TokenRecord) -> int:
    """How many exits were proposed and refused by the full vocabulary."""
    return sum(not v.accepted for v in record.checks.values())


def emitted_of(record: TokenRecord) -> TokenEmitted:
    """How an emitted token left."""
    assert record.emitted is not None, "only emitted tokens have an outcome"
    return record.emitted


def final_rank(record: TokenRecord) -> int:
    """0-based place of the full-depth token among the token's candidates, `NO_CANDIDATE` or `UNKNOWN`."""
    candidates = candidates_of(record)
    if record.audit is None or candidates is None:
        return UNKNOWN
    places = np.flatnonzero(candidates == record.audit.full_depth_id)
    return int(places[0]) if len(places) else NO_CANDIDATE


def candidates_of(record: TokenRecord) -> IntArray | None:
    """S of a token: the drafter's guesses for it, of a tree those of the node after which it comes. Shape [k]; None
    where nothing was drafted or the tree's pass has not ended."""
    if record.tree is None:
        return record.draft.candidate_ids if record.draft else None
    nodes, at = record.tree.nodes_by_token, record.token - record.tree.drafted.token
    found: IntArray | None = record.tree.drafted.candidate_ids[nodes[at]] if at < len(nodes) else None
    return found


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One emitted token's entries in an `Overview`, whose properties say what they mean."""

    text: bytes
    token_id: int
    special: bool
    exit_layer: int
    reason: ExitReason
    refusals: int
    full_depth_id: int
    final_rank: int
    active: int
    seconds: float
    first: int
    states: NDArray[np.uint8]

    @classmethod
    def of(cls, record: TokenRecord) -> TokenRow:
        """The row of an emitted token."""
        emitted = emitted_of(record)
        return cls(
            text=emitted.token_bytes,
            token_id=emitted.token_id,
            special=emitted.special,
            exit_layer=emitted.exit_layer,
            reason=emitted.reason,
            refusals=refusals(record),
            full_depth_id=record.audit.full_depth_id if record.audit else UNKNOWN,
            final_rank=final_rank(record),
            active=int(np.count_nonzero(record.schedule.active)) if record.schedule else UNKNOWN,
            seconds=emitted.times.total,
            first=record.tree.drafted.token if record.tree else record.token,
            states=cell_states(record),
        )


NUMBERS: dict[str, type[np.generic]] = {
    "token_id": np.int64,
    "special": np.bool_,
    "exit_layer": np.int64,
    "reason": np.uint8,
    "refusals": np.int64,
    "full_depth_id": np.int64,
    "final_rank": np.int64,
    "active": np.int64,
    "seconds": np.float64,
    "first": np.int64,
}
"""Those fields of a `TokenRow` that are columns of numbers."""


class Overview:
    """The rows of a run's emitted tokens, one after the other, as columns of shape [n].

    Any thread may read the first `len(overview)` entries while another one adds to them: the length grows last.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        """L, the number of decoder layers."""
        self.texts: list[bytes] = []
        """The tokens' bytes."""
        self._numbers = {name: Growing(dtype) for name, dtype in NUMBERS.items()}
        self._states = Growing(np.uint8, (depth,))

    def __len__(self) -> int:
        return len(self.texts)

    def put(self, first: int, rows: Sequence[TokenRow]) -> None:
        """Put `rows` in the place of all rows from `first` on."""
        for name, column in self._numbers.items():
            column.replace(first, [_number(getattr(row, name)) for row in rows])
        self._states.replace(first, [row.states for row in rows] if rows else self._states.values[:0])
        self.texts[first:] = [row.text for row in rows]

    def fill(self, texts: list[bytes], numbers: Mapping[str, NDArray[Any]], states: NDArray[np.uint8]) -> None:
        """Put whole columns, named as in `NUMBERS`, in the place of everything; `states` is shaped [n, L]."""
        for name, column in self._numbers.items():
            column.replace(0, numbers[name])
        self._states.replace(0, states)
        self.texts = texts

    def numbers(self, name: str) -> NDArray[Any]:
        """The column of a field of `NUMBERS`."""
        return self._numbers[name].values

    @property
    def token_ids(self) -> IntArray:
        return self._numbers["token_id"].values

    @property
    def special(self) -> BoolArray:
        """Control tokens of the model, which are no part of the text."""
        return self._numbers["special"].values

    @property
    def exit_layers(self) -> IntArray:
        """Layers run, 1…L."""
        return self._numbers["exit_layer"].values

    @property
    def reasons(self) -> NDArray[np.uint8]:
        """Why the token's pass ended there: places in `REASONS`."""
        return self._numbers["reason"].values

    @property
    def refusals(self) -> IntArray:
        """Proposed exits that the check refused."""
        return self._numbers["refusals"].values

    @property
    def full_depth_ids(self) -> IntArray:
        """The token that full depth gives; `UNKNOWN` where it was not audited."""
        return self._numbers["full_depth_id"].values

    @property
    def final_ranks(self) -> IntArray:
        """As `final_rank` says."""
        return self._numbers["final_rank"].values

    @property
    def active_layers(self) -> IntArray:
        """Size of the active set; `UNKNOWN` where there was no schedule."""
        return self._numbers["active"].values

    @property
    def seconds(self) -> NDArray[np.float64]:
        """`StageTimes.total`."""
        return self._numbers["seconds"].values

    @property
    def passes(self) -> IntArray:
        """The first token of each token's target pass; the token itself without trees."""
        return self._numbers["first"].values

    @property
    def states(self) -> NDArray[np.uint8]:
        """Shape [n, L], flags of `CellState`."""
        return self._states.values

    @property
    def audited(self) -> BoolArray:
        """Whether the full-depth token is known."""
        known: BoolArray = self.full_depth_ids[: len(self)] != UNKNOWN
        return known

    @property
    def wrong(self) -> BoolArray:
        """Whether an audit found that full depth gives another token."""
        audited = self.audited
        count = len(audited)
        found: BoolArray = audited & (self.full_depth_ids[:count] != self.token_ids[:count])
        return found

    @property
    def text_bytes(self) -> bytes:
        """The generated text, without control tokens."""
        return b"".join(text for text, special in zip(self.texts, self.special, strict=True) if not special)


def _number(value: Any) -> Any:
    return REASONS.index(value) if isinstance(value, ExitReason) else value
