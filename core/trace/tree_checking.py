"""Whether the events of one target pass over a token tree fit each other."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from core.trace.events import ModelInfo, TreeAccepted, TreeDrafted, TreeEvent, TreeLayerRun, TreeVerified
from core.trace.ranges import MOST_NUMBER, Unfit, all_within, counted, known_ids, listed, shaped, within

MOST_NODES = 10_000
"""Of a token tree; the engine's own has far fewer."""


class TreeCheck:
    """Looks at what is told of one tree, from its `TreeDrafted` on."""

    def __init__(self, drafted: TreeDrafted, model: ModelInfo) -> None:
        """Raises `Unfit` where the tree is none."""
        _check_drafted(drafted, model)
        self._model = model
        self._token, self._nodes = drafted.token, len(drafted.parents)
        self._paths = self._nodes - len(np.unique(drafted.parents[drafted.parents >= 0]))
        """Leaves, of each of which one path comes."""
        self.emits = 0
        """τ, the tokens that the pass emits; 0 while it runs."""

    def check(self, event: TreeEvent) -> None:
        """Take the next event; raises `Unfit`."""
        if event.token != self._token:
            raise Unfit(f"it is of the tree of token {event.token} amid that of token {self._token}")
        match event:
            case TreeLayerRun():
                self._check_layer(event)
            case TreeVerified():
                self._check_walk(event)
            case TreeAccepted():
                listed("accepted", event.accepted)
                all_within("accepted", event.accepted, 1, self._nodes - 1)
                known_ids("bonus_id", event.bonus_id, self._model)
                within("exit_layer", event.exit_layer, 1, self._model.depth)
                within("rows_checked", event.rows_checked, 0, MOST_NUMBER)
                self.emits = event.acceptance_length
            case TreeDrafted():
                raise Unfit("its pass has a tree already")
            case _:
                assert_never(event)

    def _check_layer(self, event: TreeLayerRun) -> None:
        within("layer", event.layer, 0, self._model.depth - 1)
        for name, size in (("scores", self._nodes), ("path_scores", self._paths), ("proposed", self._paths)):
            if listed(name, getattr(event, name)):
                counted(name, getattr(event, name), size)
        if event.features is not None and (event.features.ndim != 2 or len(event.features) != self._nodes):
            raise Unfit("its features are no table with a row a node")

    def _check_walk(self, event: TreeVerified) -> None:
        within("layer", event.layer, 0, self._model.depth - 1)
        size = listed("walk", event.walk)
        if not size or event.walk[0] != 0:
            raise Unfit("its walk does not begin at the root")
        all_within("walk", event.walk, 0, self._nodes - 1)
        shaped("argmax_ids", event.argmax_ids, (size,))
        shaped("margins", event.margins, (size,))
        counted("argmax_bytes", event.argmax_bytes, size)
        known_ids("argmax_ids", event.argmax_ids, self._model)


def _check_drafted(event: TreeDrafted, model: ModelInfo) -> None:
    nodes = listed("node_ids", event.node_ids)
    within("number of nodes", nodes, 1, MOST_NODES)
    for name in ("parents", "probabilities", "from_ngram"):
        shaped(name, getattr(event, name), (nodes,))
    if event.parents[0] != -1 or (event.parents[1:] < 0).any() or (event.parents >= np.arange(nodes)).any():
        raise Unfit("its parents do not come before their children")
    if event.candidate_ids.ndim != 2:
        raise Unfit("its candidate_ids are no table with a row a node")
    shape = (nodes, event.candidate_ids.shape[1])
    shaped("candidate_ids", event.candidate_ids, shape)
    shaped("candidate_probabilities", event.candidate_probabilities, shape)
    counted("node_bytes", event.node_bytes, nodes)
    counted("candidate_bytes", event.candidate_bytes, shape[0] * shape[1])
    known_ids("node_ids", event.node_ids, model)
    known_ids("candidate_ids", event.candidate_ids, model)
