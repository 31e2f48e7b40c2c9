"""What the tree view says: of a node, of a layer, of the whole pass. Plain text, layers counted from 1. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.tree_figure import Stage, TreeFigure, Walk
from core.choices import Mapping
from core.trace.events import WalkEnd


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a line in one colour."""

    text: str
    role: str = "muted"
    """A role of the theme: muted, text, accent or caution."""
    bold: bool = False


def stage_runs(figure: TreeFigure, layer: int) -> tuple[Run, ...]:
    """How far this layer took the pass: proposed → verified → exit."""
    match figure.stage(layer):
        case Stage.NOT_RUN:
            where = f"not run: the pass left at {figure.exit_layer}" if figure.exit_layer else "not run yet"
            return (Run(where),)
        case Stage.SILENT:
            return (Run("no predictor was asked"),)
        case Stage.NONE_PROPOSED:
            return (_proposed(figure, layer), *_best(figure, layer))
        case Stage.PROPOSED:
            return (_proposed(figure, layer), Run(" → the walk is still to come"))
        case Stage.REFUSED:
            return (_proposed(figure, layer), Run(" → "), *_refused(figure, layer))
        case Stage.EXIT:
            return (*_before_exit(figure, layer), *_exit(figure))


def counts_text(figure: TreeFigure) -> str:
    """What mapping costs: independent combinations, hyper-tokens, predictor rows."""
    counts = figure.counts
    if not counts.rows:
        return f"no predictors to map: {_counted(counts.paths, 'path')} in one pass"
    merged = "would merge to" if figure.mapping is Mapping.INDEPENDENT else "→"
    paths, rows = _counted(counts.paths, "hyper-token"), _counted(counts.rows, "predictor row")
    return f"{counts.combinations_text} combinations {merged} {paths} · {rows}"


def node_words(figure: TreeFigure, node: int, layer: int) -> str:
    """Everything about one node, in a sentence."""
    nodes = figure.nodes
    place = (
        "root, the newest token" if node == 0 else f"level {nodes.levels[node]}, after ‘{parent_text(figure, node)}’"
    )
    parts = [f"‘{nodes.texts[node]}’, {place}"]
    if node:
        parts.append(f"drafter {nodes.probabilities[node]:.0%}, along the path {nodes.path_probabilities[node]:.1%}")
    score = score_words(figure, node, layer)
    parts += [source(figure, node), exit_words(figure, node), score and f"score {score}", fate(figure, node, layer)]
    return " · ".join(filter(None, parts))


def parent_text(figure: TreeFigure, node: int) -> str:
    """The text of the node before; "" for the root."""
    return figure.nodes.texts[figure.nodes.parents[node]] if node else ""


def source(figure: TreeFigure, node: int) -> str:
    """Where a node comes from, if not from the drafter."""
    return "found in the context (n-gram)" if figure.nodes.from_ngram[node] else ""


def exit_words(figure: TreeFigure, node: int) -> str:
    """The node's own exit."""
    exit_layer = int(figure.nodes.exits[node])
    if not exit_layer:
        return "no exit of its own" if len(figure.layers) else ""
    by_path = " (of a path through it)" if np.isnan(figure.nodes.scores).all() else ""
    return f"exit {exit_layer}{by_path}"


def score_words(figure: TreeFigure, node: int, layer: int) -> str:
    """The node's score as it stands at this layer; "" where it has none."""
    column = figure.column(layer)
    score = float("nan") if column is None else float(figure.nodes.scores[node, column])
    if column is None or np.isnan(score):
        return ""
    return f"{against(score, float(figure.thresholds[column]))} at layer {figure.layers[column] + 1}"


def fate(figure: TreeFigure, node: int, layer: int) -> str:
    """What the check at this layer made of the node; "" where it did not concern it."""
    walk = figure.walk_at(layer)
    if walk is None:
        return ""
    if node == walk.broke_at:
        return f"refused, {refusal(walk)}"
    steps = walk.nodes.tolist()
    if node not in steps:
        return ""
    says = f"says ‘{walk.texts[steps.index(node)]}’"
    if node != steps[-1]:
        return f"accepted, {says}" if walk.accepted and node else says
    ending = "the bonus" if walk.accepted else refusal(walk)
    return f"{'accepted, ' if walk.accepted and node else ''}{says}, {ending}"


def refusal(walk: Walk) -> str:
    """Why a walk is no exit."""
    return {
        WalkEnd.NOT_CANDIDATE: "none of its candidates S",
        WalkEnd.NOT_PROPOSED: "its path had not passed the threshold",
        WalkEnd.GATED: "by a margin below the gate",
        WalkEnd.VERIFIED: "verified",
    }[walk.end]


def path_text(figure: TreeFigure, path: int) -> str:
    """The texts of a path's draft nodes, in order."""
    nodes = figure.paths.nodes[path]
    return " ".join(figure.nodes.texts[node] for node in (nodes[1:] if len(nodes) > 1 else nodes))


def summary(figure: TreeFigure, layer: int) -> str:
    """The whole view in a sentence, for a screen reader."""
    nodes = len(figure.nodes.texts) - 1
    head = f"Tree of the pass from token {figure.token + 1} on: {_counted(nodes, 'draft node')}, {counts_text(figure)}"
    at = f"at layer {layer + 1}: " if layer >= 0 else ""
    return f"{head}; {at}{plain(stage_runs(figure, layer))}."


def plain(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs)


def against(score: float, threshold: float) -> str:
    return f"{score:.2f} {'>' if score > threshold else '≤'} {threshold:.2f}"


def _proposed(figure: TreeFigure, layer: int) -> Run:
    if figure.mapping is Mapping.INDEPENDENT:
        out = int(((figure.nodes.exits > 0) & (figure.nodes.exits <= layer + 1)).sum())
        return Run(
            f"{out} of {_counted(len(figure.nodes.texts), 'node')} exited", "text" if out else "muted", bool(out)
        )
    count, paths = int(figure.proposed_at(layer).sum()), len(figure.paths.leaves)
    return Run(f"{count} of {_counted(paths, 'path')} proposed", "text" if count else "muted", bool(count))


def _best(figure: TreeFigure, layer: int) -> tuple[Run, ...]:
    column = figure.column(layer)
    scores = figure.paths.scores[:, column] if column is not None else np.zeros(0, np.float32)
    if column is None or not len(scores) or np.isnan(scores).all():
        return ()
    return (Run(f", the best at {against(float(np.nanmax(scores)), float(figure.thresholds[column]))}"),)


def _refused(figure: TreeFigure, layer: int) -> tuple[Run, ...]:
    walk = figure.walk_at(layer)
    assert walk is not None, "a refused layer has a walk"
    node = figure.nodes.texts[walk.nodes[-1]]
    return (
        Run("⊘ refused", "caution", bold=True),
        Run(f": ‘{node}’ says ‘{walk.texts[-1]}’, {refusal(walk)}"),
    )


def _before_exit(figure: TreeFigure, layer: int) -> tuple[Run, ...]:
    if layer + 1 == figure.depth:
        return (Run("last layer, always the end → "),)
    return (_proposed(figure, layer), Run(" → "), Run("✓ verified", "text", bold=True), Run(" → "))


def _exit(figure: TreeFigure) -> tuple[Run, ...]:
    return (
        Run(f"exit {figure.exit_layer}", "accent", bold=True),
        Run(f": {len(figure.accepted)} accepted + bonus ‘{figure.bonus}’"),
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
