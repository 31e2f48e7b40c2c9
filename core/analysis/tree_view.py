"""Makes the tree view's figure from a trace: nodes, hyper-token paths, walks and counts (`docs/rules.md`).

n is the number of nodes, p of paths, m of layers whose predictors were asked.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.analysis.texts import visible
from core.analysis.tree_counts import TreeCounts, tree_counts
from core.analysis.tree_figure import TreeFigure, TreeNodes, TreePaths, Walk
from core.config import RunSettings
from core.trace.events import FloatArray, IntArray, TreeDrafted, TreeVerified, WalkEnd
from core.trace.reading import ReadableTrace
from core.trace.trace import TreePass


def tree_figure(trace: ReadableTrace, token: int) -> TreeFigure | None:
    """The tree that a token came from; None where its pass had none or nothing is known of it."""
    tree = trace.records[token].tree if 0 <= token < len(trace.records) else None
    if tree is None or trace.started is None:
        return None
    settings = trace.started.settings
    drafted, accepted = tree.drafted, tree.accepted
    bonus = _bonus(trace, tree)
    layers = np.array(tree.judged_layers, np.int64)
    thresholds = np.array([settings.threshold_at(int(layer)) for layer in layers], np.float32)
    paths = _paths(tree, layers, thresholds)
    nodes = _nodes(tree, layers, thresholds, paths)
    return TreeFigure(
        token=drafted.token,
        depth=trace.depth,
        mapping=settings.tree.mapping,
        nodes=nodes,
        paths=_with_exits(paths, nodes.exits),
        layers=layers,
        thresholds=thresholds,
        walks=_walks(tree, bonus),
        layers_run=accepted.exit_layer if accepted else max(tree.layers, default=-1) + 1,
        exit_layer=accepted.exit_layer if accepted else 0,
        accepted=accepted.accepted if accepted else np.zeros(0, np.int64),
        bonus=bonus,
        rows_checked=accepted.rows_checked if accepted else 0,
        counts=_counts(drafted, len(paths.leaves), settings),
    )


def levels_of(parents: IntArray) -> IntArray:
    """How many steps each node is from the root. Shape [n] to [n]; a parent comes before its children."""
    levels = np.zeros(len(parents), np.int64)
    for node in range(1, len(parents)):
        levels[node] = levels[parents[node]] + 1
    return levels


def leaves_of(parents: IntArray) -> IntArray:
    """Nodes without children, in order. Shape [n] to [p]."""
    return np.setdiff1d(np.arange(len(parents)), parents)


def _chains(parents: IntArray) -> list[list[int]]:
    """Of each node, the nodes from the root to it."""
    made: list[list[int]] = []
    for node, parent in enumerate(parents.tolist()):
        made.append([*(made[parent] if parent >= 0 else []), node])
    return made


def _nodes(tree: TreePass, layers: IntArray, thresholds: FloatArray, paths: TreePaths) -> TreeNodes:
    drafted = tree.drafted
    parents, n = drafted.parents, len(drafted.parents)
    shares = drafted.probabilities.astype(np.float32)
    along = np.ones(n, np.float32)
    for node in range(1, n):
        along[node] = along[parents[node]] * shares[node]
    scores = _stacked(n, [tree.layers[int(layer)].scores for layer in layers])
    accepted = np.zeros(n, np.bool_)
    accepted[tree.nodes_by_token] = True
    has_own = bool((~np.isnan(scores)).any())
    return TreeNodes(
        texts=tuple(map(visible, drafted.node_bytes)),
        parents=parents,
        levels=levels_of(parents),
        probabilities=shares,
        path_probabilities=along,
        from_ngram=drafted.from_ngram,
        accepted=accepted,
        scores=scores,
        exits=first_crossings(scores, thresholds, layers) if has_own else _first_through(paths, n),
    )


def first_crossings(scores: FloatArray, thresholds: FloatArray, layers: IntArray) -> IntArray:
    """Layers run where each row is first above the threshold, 0 where it never is. Shape [n, m] to [n]."""
    above = scores > thresholds
    if not above.shape[1]:
        return np.zeros(len(scores), np.int64)
    return np.where(above.any(1), layers[above.argmax(1)] + 1, 0)


def _first_through(paths: TreePaths, n: int) -> IntArray:
    """The first layer at which a path through each node was proposed."""
    exits = np.zeros(n, np.int64)
    for nodes, first in zip(paths.nodes, paths.first_proposed.tolist(), strict=True):
        if first:
            exits[nodes] = np.where(exits[nodes] == 0, first, np.minimum(exits[nodes], first))
    return exits


def _paths(tree: TreePass, layers: IntArray, thresholds: FloatArray) -> TreePaths:
    leaves, chains = leaves_of(tree.drafted.parents), _chains(tree.drafted.parents)
    events = [tree.layers[int(layer)] for layer in layers]
    p = len(leaves)
    proposed = np.zeros((p, len(layers)), np.bool_)
    for column, event in enumerate(events):
        if len(event.proposed) == p:
            proposed[:, column] = event.proposed
    return TreePaths(
        leaves=leaves,
        nodes=tuple(np.array(chains[leaf], np.int64) for leaf in leaves.tolist()),
        scores=_stacked(p, [event.path_scores for event in events]),
        proposed=proposed,
        first_proposed=first_crossings(proposed.astype(np.float32), np.full(len(thresholds), 0.5, np.float32), layers),
        exits=np.zeros(p, np.int64),
    )


def _with_exits(paths: TreePaths, node_exits: IntArray) -> TreePaths:
    """The paths with the rearmost exit of each one's nodes."""
    of_nodes = [node_exits[nodes] for nodes in paths.nodes]
    return replace(paths, exits=np.array([int(own.max()) if own.all() else 0 for own in of_nodes], np.int64))


def _stacked(rows: int, columns: list[FloatArray]) -> FloatArray:
    """Columns side by side; those that are empty are NaN. Shape [rows, m]."""
    made = np.full((rows, len(columns)), np.nan, np.float32)
    for index, column in enumerate(columns):
        if len(column) == rows:
            made[:, index] = column
    return made


def _walks(tree: TreePass, bonus: str) -> tuple[Walk, ...]:
    made = [_walk(tree.drafted, tree.verified[layer]) for layer in sorted(tree.verified)]
    if tree.accepted and tree.accepted.exit_layer - 1 not in tree.verified:  # the last layer asks nobody
        made.append(_final_walk(tree, bonus))
    return tuple(made)


def _walk(drafted: TreeDrafted, event: TreeVerified) -> Walk:
    children = np.flatnonzero(drafted.parents == event.walk[-1])
    wanted = children[drafted.node_ids[children] == event.argmax_ids[-1]]
    broke_at = int(wanted[0]) if len(wanted) and not event.accepted else -1
    texts = tuple(map(visible, event.argmax_bytes))
    return Walk(event.layer, event.walk, texts, event.margins, event.end, broke_at)


def _final_walk(tree: TreePass, bonus: str) -> Walk:
    assert tree.accepted is not None
    nodes = np.array(tree.nodes_by_token, np.int64)
    texts = (*(visible(tree.drafted.node_bytes[node]) for node in tree.accepted.accepted), bonus)
    unknown = np.full(len(nodes), np.nan, np.float32)
    return Walk(tree.accepted.exit_layer - 1, nodes, texts, unknown, WalkEnd.VERIFIED, -1)


def bonus_token(trace: ReadableTrace, tree: TreePass) -> tuple[bytes, bool] | None:
    """The bonus token's bytes and whether it is a control token; None while the pass is in flight, and where the run
    ended before it could be emitted and no check named it."""
    accepted = tree.accepted
    if accepted is None:
        return None
    last = accepted.token + accepted.acceptance_length - 1
    emitted = trace.records[last].emitted if last < len(trace.records) else None
    if emitted is not None:
        return emitted.token_bytes, emitted.special
    check = tree.verified.get(accepted.exit_layer - 1)
    return (check.argmax_bytes[-1], False) if check is not None else None


def _bonus(trace: ReadableTrace, tree: TreePass) -> str:
    found = bonus_token(trace, tree)
    if found is not None:
        return visible(*found)
    return f"#{tree.accepted.bonus_id}" if tree.accepted else ""


def _counts(drafted: TreeDrafted, paths: int, settings: RunSettings) -> TreeCounts:
    n, k = drafted.candidate_ids.shape
    return tree_counts([k] * n if k else [], paths, settings.tree.mapping)
