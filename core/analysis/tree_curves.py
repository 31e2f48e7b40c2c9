"""The candidates of one node of a token tree over the layers, as the curves of a single token are shown."""

from __future__ import annotations

import numpy as np

from core.analysis.summaries import AuditCurves, CandidateCurves, audit_curves
from core.analysis.texts import visible
from core.analysis.tree_view import leaves_of
from core.trace.events import FloatArray, IntArray, TokenEmitted, TreeLayerRun
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord, TreePass


def node_curves(trace: ReadableTrace, token: int, node: int | None = None) -> CandidateCurves | None:
    """S of a node: what the drafter and the layers made of the token after it.

    Args:
        trace: the run so far.
        token: 0-based generated token, whose pass ran a tree.
        node: of its tree; None takes the node after which the token comes.

    Returns:
        None where the pass had no tree, or one that nothing was asked about.
    """
    record = trace.records[token]
    tree = record.tree
    if tree is None or trace.started is None or not tree.drafted.candidate_ids.shape[1]:
        return None
    at = _node_before(tree, token) if node is None else node
    emitted = _emitted_after(trace, tree, at)
    layers = np.array([one for one in tree.judged_layers if tree.layers[one].features is not None], np.int64)
    ids, k = tree.drafted.candidate_ids[at], tree.drafted.candidate_ids.shape[1]
    matches = np.flatnonzero(ids == (emitted.token_id if emitted else -1))
    exit_layer = tree.accepted.exit_layer if tree.accepted else 0
    return CandidateCurves(
        token=token,
        depth=record.depth,
        layers=layers,
        probabilities=_probabilities(tree, layers, at, k),
        scores=np.array([_score(tree, tree.layers[int(one)], at) for one in layers], np.float32),
        threshold=trace.started.settings.threshold,
        thresholds=np.array(trace.started.settings.thresholds(record.depth)),
        candidate_texts=tuple(map(visible, tree.drafted.candidate_bytes[at * k : at * k + k])),
        drafter_probabilities=tree.drafted.candidate_probabilities[at],
        emitted_candidate=int(matches[0]) if len(matches) else -1,
        exit_layer=exit_layer,
        early=0 < exit_layer < record.depth,
        audit=_audit(trace, tree, at, k),
    )


def _node_before(tree: TreePass, token: int) -> int:
    """The node after which a token of this pass comes; the root while the pass is in flight."""
    nodes, at = tree.nodes_by_token, token - tree.drafted.token
    return nodes[at] if at < len(nodes) else 0


def _record_after(trace: ReadableTrace, tree: TreePass, node: int) -> TokenRecord | None:
    """The token that was emitted after this node; None where none was."""
    nodes = tree.nodes_by_token
    token = tree.drafted.token + nodes.index(node) if node in nodes else len(trace.records)
    return trace.records[token] if token < len(trace.records) else None


def _emitted_after(trace: ReadableTrace, tree: TreePass, node: int) -> TokenEmitted | None:
    record = _record_after(trace, tree, node)
    return record.emitted if record else None


def _probabilities(tree: TreePass, layers: IntArray, node: int, k: int) -> FloatArray:
    """Local probabilities, shape [m, k]."""
    made = np.zeros((len(layers), k), np.float32)
    for row, layer in enumerate(layers.tolist()):
        features = tree.layers[layer].features
        assert features is not None, "only layers with features are shown"
        made[row] = features[node, k : 2 * k]
    return made


def _score(tree: TreePass, event: TreeLayerRun, node: int) -> float:
    """The node's own score; where nodes have none, the best of the paths through it."""
    if len(event.scores):
        return float(event.scores[node])
    parents = tree.drafted.parents
    through = [place for place, leaf in enumerate(leaves_of(parents).tolist()) if _leads_through(parents, leaf, node)]
    return float(event.path_scores[through].max())


def _leads_through(parents: IntArray, leaf: int, node: int) -> bool:
    while leaf > node:  # a parent comes before its children
        leaf = int(parents[leaf])
    return leaf == node


def _audit(trace: ReadableTrace, tree: TreePass, node: int, k: int) -> AuditCurves | None:
    record = _record_after(trace, tree, node)
    known = record is not None and record.audit is not None and record.audit.candidate_logits.shape[1] == k
    return audit_curves(record.audit) if known and record and record.audit else None
