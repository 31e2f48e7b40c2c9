"""One run's events, gathered into a record a token, in memory.

Everything a view shows is computed from this (see `core.analysis`), whether the run is still going on or long over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from core.trace.events import (
    Audited,
    BoolArray,
    DraftProposed,
    Event,
    FloatArray,
    IntArray,
    KVUpdated,
    LayerRun,
    PrefillAdvanced,
    RunEnded,
    RunStarted,
    ScheduleChosen,
    TokenEmitted,
    TreeAccepted,
    TreeDrafted,
    TreeLayerRun,
    TreeVerified,
    Verified,
)


@dataclass(slots=True)
class TreePass:
    """All that is known of one target pass over a token tree."""

    drafted: TreeDrafted
    layers: dict[int, TreeLayerRun] = field(default_factory=dict)
    verified: dict[int, TreeVerified] = field(default_factory=dict)
    accepted: TreeAccepted | None = None

    @property
    def nodes_by_token(self) -> list[int]:
        """The node after which each emitted token comes, the root first; empty while the pass runs."""
        return [0, *map(int, self.accepted.accepted)] if self.accepted else []


@dataclass(slots=True)
class TokenRecord:
    """All that is known of one generated token; of the token in flight, all that is known so far."""

    token: int
    depth: int
    layers_run: int = 0
    """How many layers have been run for it so far, 0…L."""
    draft: DraftProposed | None = None
    schedule: ScheduleChosen | None = None
    features: FloatArray = field(init=False)
    """Shape [L, 3k]; NaN where the layer's predictor was not evaluated."""
    scores: FloatArray = field(init=False)
    """Shape [L]; NaN where the layer's predictor was not evaluated."""
    proposed: BoolArray = field(init=False)
    """Shape [L]."""
    verified: dict[int, Verified] = field(default_factory=dict)
    """Checks against the full vocabulary, by layer."""
    audit: Audited | None = None
    """What every layer would have said; only where the run was recorded in audit depth."""
    kv: KVUpdated | None = None
    """Of the position that was fed in; in a tree's pass, of the node after which the token comes."""
    emitted: TokenEmitted | None = None
    tree: TreePass | None = None
    """The pass that the token came from, shared by all its tokens; None without a tree."""

    def __post_init__(self) -> None:
        self.features = np.full((self.depth, 0), np.nan, np.float32)
        self.scores = np.full(self.depth, np.nan, np.float32)
        self.proposed = np.zeros(self.depth, np.bool_)

    @property
    def evaluated(self) -> BoolArray:
        """Shape [L], True where the layer's predictor was evaluated."""
        return ~np.isnan(self.scores)

    def add_layer(self, event: LayerRun) -> None:
        self.layers_run = event.layer + 1
        self.scores[event.layer] = event.score
        self.proposed[event.layer] = event.proposed
        if event.features is None:
            return
        if self.features.shape[1] == 0:
            self.features = np.full((self.depth, len(event.features)), np.nan, np.float32)
        self.features[event.layer] = event.features


class Trace:
    """The events of one run in the order they came, and a `TokenRecord` for each token.

    Appending is O(1); records are updated in place, so a view keeps what it drew of finished tokens and asks again
    only for those from its last seen token on.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.started: RunStarted | None = None
        self.prefill: PrefillAdvanced | None = None
        self.ended: RunEnded | None = None
        self.records: list[TokenRecord] = []
        """One a token; the last one may be in flight (its `emitted` is None)."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Trace:
        """The trace that these events make."""
        trace = cls()
        for event in events:
            trace.append(event)
        return trace

    @property
    def depth(self) -> int:
        """L, the number of decoder layers; 0 before the run started."""
        return self.started.model.depth if self.started else 0

    @property
    def emitted_count(self) -> int:
        """How many tokens have been emitted."""
        in_flight = bool(self.records) and self.records[-1].emitted is None
        return len(self.records) - in_flight

    @property
    def emitted(self) -> list[TokenRecord]:
        """The records of the emitted tokens."""
        return self.records[: self.emitted_count]

    @property
    def exit_layers(self) -> IntArray:
        """Shape [emitted tokens], layers run, 1…L."""
        return np.array([r.emitted.exit_layer for r in self.emitted if r.emitted], np.int64)

    @property
    def text_bytes(self) -> bytes:
        """The generated text so far, as bytes, without control tokens."""
        return b"".join(r.emitted.token_bytes for r in self.emitted if r.emitted and not r.emitted.special)

    def append(self, event: Event) -> None:
        """Take in the next event of the run."""
        self.events.append(event)
        match event:
            case RunStarted():
                self.started = event
            case PrefillAdvanced():
                self.prefill = event
            case DraftProposed():
                self._record(event.token).draft = event
            case ScheduleChosen():
                self._record(event.token).schedule = event
            case LayerRun():
                self._record(event.token).add_layer(event)
            case Verified():
                self._record(event.token).verified[event.layer] = event
            case TreeDrafted():
                self._record(event.token).tree = TreePass(event)
            case TreeLayerRun():
                self._record(event.token).layers_run = event.layer + 1
                self._tree(event.token).layers[event.layer] = event
            case TreeVerified():
                self._tree(event.token).verified[event.layer] = event
            case TreeAccepted():
                self._tree(event.token).accepted = event
            case Audited():
                self._record(event.token).audit = event
            case TokenEmitted():
                record = self._record(event.token)
                record.emitted = event
                record.layers_run = event.exit_layer
            case KVUpdated():
                self._record(event.token).kv = event
            case RunEnded():
                self.ended = event
            case _:
                assert_never(event)

    def _tree(self, token: int) -> TreePass:
        tree = self._record(token).tree
        assert tree is not None, "a tree's events follow its TreeDrafted"
        return tree

    def _record(self, token: int) -> TokenRecord:
        while len(self.records) <= token:
            self.records.append(TokenRecord(len(self.records), self.depth, tree=self._tree_around(len(self.records))))
        return self.records[token]

    def _tree_around(self, token: int) -> TreePass | None:
        """The tree of the token before, where its pass emits this one too."""
        tree = self.records[token - 1].tree if token else None
        accepted = tree.accepted if tree else None
        return tree if accepted and token < accepted.token + accepted.acceptance_length else None
