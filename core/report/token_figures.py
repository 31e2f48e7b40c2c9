"""Pictures of one token: its candidates over the layers, its tree, and what every layer would have said."""

from __future__ import annotations

import numpy as np

from core.analysis.counterfactual import Counterfactual, Said
from core.analysis.summaries import CandidateCurves
from core.analysis.tree_figure import TreeFigure
from core.report.drawing import NORMAL, SHARES, Drawing, Frame, frame_in, whole_ticks
from core.report.inks import Inks

WIDTH, HEIGHT = 920, 280
DASHES = ("", "7 4", "2 3", "9 3 2 3")
"""Line styles of the candidates, the drafter's best guess first."""
_ROW, _LONGEST = 24, 22
"""Pixels from leaf to leaf of a tree, and characters of a node's text."""


def candidate_figure(curves: CandidateCurves, inks: Inks, width: int = WIDTH, height: int = HEIGHT) -> Drawing:
    """Local probabilities over the layers, faint beyond the exit where an audit knows them, and the exit."""
    title = f"Token {curves.token + 1}: probabilities of {len(curves.candidate_texts)} candidates over the layers"
    draw = Drawing(width, height, inks, title)
    frame = frame_in(draw, (1, max(curves.depth, 2)), (0, 1))
    frame.axes(("layer", "probability among the candidates"), whole_ticks(1, max(curves.depth, 2), 15), SHARES)
    _exit_line(frame, curves)
    x = frame.left
    for k, text in enumerate(curves.candidate_texts):
        ink, dash = inks.candidates[k % 4], DASHES[k % 4]
        _candidate(frame, curves, k, ink, dash)
        draw.line(x, 12, x + 24, 12, ink, width=2, dash=dash)
        emitted = " (emitted)" if k == curves.emitted_candidate else ""
        label = f"‘{_short(text)}’{emitted}"
        draw.text(x + 30, 16, label, ink=inks.text)
        x += 52 + 7 * len(label)
    return draw


def _candidate(frame: Frame, curves: CandidateCurves, k: int, ink: str, dash: str) -> None:
    draw = frame.drawing
    if curves.audit is not None:
        beyond = range(max(curves.exit_layer - 1, 0), curves.depth)
        points = [(frame.x(at + 1), frame.y(float(curves.audit.local[at, k]))) for at in beyond]
        draw.curve(points, ink, width=1, dash="1 4")
    layers = zip(curves.layers.tolist(), curves.probabilities[:, k].tolist(), strict=True)
    known = [(frame.x(layer + 1), frame.y(value)) for layer, value in layers]
    draw.curve(known, ink, width=2, dash=dash)
    for x, y in known:
        draw.dot(x, y, 2, ink)


def _exit_line(frame: Frame, curves: CandidateCurves) -> None:
    if not curves.exit_layer:
        return
    x, draw = frame.x(curves.exit_layer), frame.drawing
    draw.line(x, frame.top, x, frame.bottom, draw.inks.muted, dash="4 3")
    words = f"exit at {curves.exit_layer}" if curves.early else "full depth"
    draw.text(x - 4, frame.top + 10, words, anchor="end")


def _short(text: str, most: int = 16) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def tree_figure(found: TreeFigure, inks: Inks, width: int = WIDTH) -> Drawing:
    """The draft tree from left to right, a row a leaf; what was accepted is bold and on a strong line."""
    parents, levels = found.nodes.parents.tolist(), found.nodes.levels
    rows = _rows(parents)
    step = (width - 200) / max(int(levels.max()), 1)
    draw = Drawing(width, 56 + _ROW * (max(rows) + 1), inks, _tree_words(found))
    draw.text(12, 18, _tree_words(found))
    places = [(12 + step * int(levels[node]), 48 + _ROW * rows[node]) for node in range(len(parents))]
    for node, parent in enumerate(parents):
        if parent >= 0:
            strong = bool(found.nodes.accepted[node])
            (x1, y1), (x2, y2) = places[parent], places[node]
            begins = x1 + min(10 + 7 * len(_node_words(found, parent)), step * 0.9)
            draw.curve(
                [(begins, y1 - 4), (x2 - step * 0.08, y2 - 4), (x2 - 4, y2 - 4)],
                inks.accent if strong else inks.line,
                width=2.5 if strong else 1.5,
            )
    for node, (x, y) in enumerate(places):
        _node(draw, found, node, x, y)
    return draw


def _node(draw: Drawing, found: TreeFigure, node: int, x: float, y: float) -> None:
    accepted = bool(found.nodes.accepted[node])
    ink = draw.inks.text if accepted else draw.inks.muted
    draw.text(x, y, _node_words(found, node), ink=ink, size=NORMAL, bold=accepted)


def _node_words(found: TreeFigure, node: int) -> str:
    exit_layer = int(found.nodes.exits[node])
    share = "" if node == 0 else f" {found.nodes.probabilities[node]:.2f}"
    return f"{_short(found.nodes.texts[node], _LONGEST)}{share}{f' exit {exit_layer}' if exit_layer else ''}"


def _rows(parents: list[int]) -> list[float]:
    """Of each node its row: leaves one below the other in the order of the tree, others amid their children."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents[1:], 1):
        children.setdefault(parent, []).append(node)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(children.get(order[-1], [])))
    leaves = [node for node in order if node not in children]
    rows = {node: float(row) for row, node in enumerate(leaves)}
    for node in reversed(range(len(parents))):  # a parent comes before its children
        if node in children:
            rows[node] = (rows[children[node][0]] + rows[children[node][-1]]) / 2
    return [rows[node] for node in range(len(parents))]


def _tree_words(found: TreeFigure) -> str:
    accepted = f"τ = {found.acceptance_length}, bonus ‘{_short(found.bonus)}’" if found.exit_layer else "in flight"
    return (
        f"Token {found.token + 1}’s pass: {len(found.nodes.parents) - 1} drafted nodes, {found.counts.paths} paths, "
        f"{found.counts.combinations_text} independent combinations; {accepted}, exit layer {found.exit_layer or '–'}"
    )


def layer_figure(found: Counterfactual, inks: Inks, width: int = WIDTH) -> Drawing:
    """A row a layer, the deepest on top: its own token, its margin as a bar, and whether leaving there was right."""
    depth = len(found.texts)
    draw = Drawing(
        width, 44 + 18 * depth, inks, f"Token {found.token + 1}: what each of {depth} layers would have said"
    )
    words = f"exit layer {found.exit_layer} · stable from layer {found.stable_layer} · layers wasted {found.wasted}"
    draw.text(12, 18, f"● right from here on · ◐ right, not for good · ○ another token · bar: margin · {words}")
    for layer in range(depth):
        _layer_row(draw, found, layer, 40 + 18 * (depth - 1 - layer))
    return draw


def _layer_row(draw: Drawing, found: Counterfactual, layer: int, y: float) -> None:
    inks, said = draw.inks, Said(int(found.said[layer]))
    looks = {Said.STABLE: ("●", inks.right), Said.PASSING: ("◐", inks.caution), Said.OTHER: ("○", inks.wrong)}
    mark, ink = looks[said]
    room, margin = draw.width - 360, float(np.nan_to_num(found.margins[layer]))
    draw.text(34, y, str(layer + 1), anchor="end")
    draw.text(44, y, mark, ink=ink)
    draw.text(62, y, _short(found.texts[layer], 24), ink=inks.text if found.run[layer] else inks.muted)
    draw.rect(250, y - 10, room * margin, 12, inks.exit_colour(layer + 1, len(found.texts)))
    score = found.scores[layer]
    told = "" if np.isnan(score) else f"score {score:.2f}{'' if found.evaluated[layer] else ' (not asked)'}"
    here = "← exit" if layer + 1 == found.exit_layer else ""
    draw.text(258 + room * margin, y, f"{margin:.2f} {told} {here}".strip())
