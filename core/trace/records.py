"""One generated token with all that is known of it, and the rule by which events become such records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from core.trace.events import (
    Audited,
    BoolArray,
    DraftProposed,
    FloatArray,
    KVUpdated,
    LayerRun,
    ScheduleChosen,
    TokenEmitted,
    TokenEvent,
    TreeAccepted,
    TreeDrafted,
    TreeEvent,
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
    def judged_layers(self) -> list[int]:
        """Layers whose predictors were asked, in order."""
        return sorted(layer for layer, run in self.layers.items() if len(run.scores) or len(run.path_scores))

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
    """In a tree's pass, the one for all its tokens."""
    features: FloatArray = field(init=False)
    """Shape [L, 3k]; NaN where the layer's predictor was not evaluated."""
    scores: FloatArray = field(init=False)
    """Shape [L]; NaN where the layer's predictor was not evaluated."""
    proposed: BoolArray = field(init=False)
    """Shape [L]; in a tree's pass, where any of its paths was."""
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
        """Shape [L], True where the layer's predictor was evaluated, in a tree's pass for any of its nodes."""
        found = ~np.isnan(self.scores)
        if self.tree:
            found[self.tree.judged_layers] = True
        return found

    @property
    def checks(self) -> Mapping[int, Verified | TreeVerified]:
        """Checks against the full vocabulary, by layer; of a tree's pass, its walks."""
        return self.tree.verified if self.tree else self.verified

    def add_layer(self, event: LayerRun) -> None:
        """Take in what one layer of the token's pass told."""
        self.layers_run = event.layer + 1
        self.scores[event.layer] = event.score
        self.proposed[event.layer] = event.proposed
        if event.features is None:
            return
        if self.features.shape[1] == 0:
            self.features = np.full((self.depth, len(event.features)), np.nan, np.float32)
        self.features[event.layer] = event.features


A_TEXT = 64
"""Bytes that a short text takes, about."""


def size_of(event: TokenEvent) -> int:
    """About how many bytes the arrays and texts of an event take."""
    values = [getattr(event, name) for name in event.__slots__]
    return sum(len(one) * A_TEXT if isinstance(one, tuple) else getattr(one, "nbytes", 0) for one in values)


class RecordBook:
    """Records of consecutive tokens, made and filled by the events that come.

    Taking an event is O(1); a record is updated in place.
    """

    def __init__(self, depth: int, first: int = 0) -> None:
        """Take in token `first`, which begins a pass, and those after it; `depth` is L."""
        self.depth, self.first = depth, first
        self.records: list[TokenRecord] = []
        """Of the tokens first, first + 1, …"""

    def take(self, event: TokenEvent) -> None:
        """Put the event into its token's record."""
        match event:
            case DraftProposed():
                self._record(event.token).draft = event
            case ScheduleChosen():
                self._record(event.token).schedule = event
            case LayerRun():
                self._record(event.token).add_layer(event)
            case Verified():
                self._record(event.token).verified[event.layer] = event
            case Audited():
                self._record(event.token).audit = event
            case TokenEmitted():
                record = self._record(event.token)
                record.emitted = event
                record.layers_run = event.exit_layer
            case KVUpdated():
                self._record(event.token).kv = event
            case _:
                self._take_tree(event)

    def _take_tree(self, event: TreeEvent) -> None:
        match event:
            case TreeDrafted():
                self._record(event.token).tree = TreePass(event)
            case TreeLayerRun():
                record = self._record(event.token)
                record.layers_run = event.layer + 1
                record.proposed[event.layer] = event.proposed.any()
                self._tree(event.token).layers[event.layer] = event
            case TreeVerified():
                self._tree(event.token).verified[event.layer] = event
            case TreeAccepted():
                self._tree(event.token).accepted = event
            case _:
                assert_never(event)

    def drop_before(self, token: int) -> None:
        """Forget the records before `token`, which begins a pass."""
        self.records = self.records[token - self.first :]
        self.first = token

    def _tree(self, token: int) -> TreePass:
        tree = self._record(token).tree
        assert tree is not None, "a tree's events follow its TreeDrafted"
        return tree

    def _record(self, token: int) -> TokenRecord:
        assert token >= self.first, "the records start with a pass"
        while (following := self.first + len(self.records)) <= token:
            self.records.append(self._begin(following))
        return self.records[token - self.first]

    def _begin(self, token: int) -> TokenRecord:
        """A new record. What was decided for a tree's pass was decided for each of its tokens."""
        tree = self._tree_around(token)
        record = TokenRecord(token, self.depth, tree=tree)
        if tree is not None:
            record.schedule, record.proposed = self.records[-1].schedule, self.records[-1].proposed
        return record

    def _tree_around(self, token: int) -> TreePass | None:
        """The tree of the token before, where its pass emits this one too."""
        tree = self.records[-1].tree if self.records else None
        accepted = tree.accepted if tree else None
        return tree if accepted and token < accepted.token + accepted.acceptance_length else None
