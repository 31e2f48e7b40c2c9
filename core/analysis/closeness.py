"""How close the scores of passes came to their layers' thresholds: what a breakpoint near the threshold looks at.

A stored run is read many passes at once; a run in memory, and what is unusual about a pass, by its record.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from core.config import RunSettings
from core.trace.events import BoolArray, LayerRun, TreeDrafted, TreeLayerRun
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord
from core.trace.sweep import ANY, Swept, Wanted, swept_of

FEW = 8
"""Tokens whose records are asked at once, as they mostly lie at hand."""
Distances = NDArray[np.float64]


def closest(trace: ReadableTrace, first: int, last: int, begins: BoolArray) -> Distances:
    """`nearest` of the emitted tokens first…last - 1, infinite for those that begin no pass. Shape [n], as `begins`.

    Raises:
        UserError: a token cannot be read, and nobody else is told of damage.
    """
    found, known = np.full(last - first, math.inf), np.zeros(last - first, np.bool_)
    settings = trace.started.settings if trace.started else None
    if settings is None or not begins.any():
        return found
    sweep = trace.sweep(_wanted(settings.tree.on)) if last - first > FEW else None
    if sweep is not None:
        begin, end = sweep.around(first, last)
        if (swept := swept_of(sweep, begin, end)) is not None:
            here, (found, known) = slice(first - begin, last - begin), _distances(swept, settings, trace.depth)
            found, known = found[here], known[here]
    for row in np.flatnonzero(begins & ~known).tolist():
        found[row] = nearest(trace.records[first + row], settings)
    return np.where(begins, found, math.inf)


def nearest(record: TokenRecord, settings: RunSettings) -> float:
    """How close a score of the token's pass came to its layer's threshold; infinite where there was none."""
    if record.tree is None:
        layers = np.flatnonzero(record.evaluated).tolist()
        return min((abs(float(record.scores[at]) - settings.threshold_at(at)) for at in layers), default=math.inf)
    distances = [
        np.abs(scores - settings.threshold_at(layer)).min()
        for layer, run in record.tree.layers.items()
        if len(scores := run.path_scores if len(run.path_scores) else run.scores)
    ]
    return float(min(distances, default=math.inf))


def _wanted(trees: bool) -> Wanted:
    of_trees: Wanted = {
        TreeDrafted: {},
        TreeLayerRun: {"layer": None, "scores": (ANY,), "path_scores": (ANY,)},
    }
    return {LayerRun: {"layer": None, "score": None}, **(of_trees if trees else {})}


def _distances(swept: Swept, settings: RunSettings, depth: int) -> tuple[Distances, BoolArray]:
    """The tokens' distances, and which of them are known."""
    thresholds = np.array(settings.thresholds(depth))
    found = _of_tokens(swept, thresholds)
    return _of_trees(swept, thresholds.astype(np.float32), found) if settings.tree.on else (found, swept.whole)


def _of_tokens(swept: Swept, thresholds: Distances) -> Distances:
    layers = swept.rows[LayerRun]
    scores = np.full((len(swept.whole), len(thresholds)), np.nan, np.float32)
    scores[layers.tokens - swept.first, layers["layer"]] = layers["score"]
    distances = np.abs(scores.astype(np.float64) - thresholds)
    closest_of: Distances = np.where(np.isnan(distances), math.inf, distances).min(1)
    return closest_of


def _of_trees(swept: Swept, thresholds: NDArray[np.float32], alone: Distances) -> tuple[Distances, BoolArray]:
    """`alone` are the distances of tokens that came of no tree."""
    runs, count = swept.rows[TreeLayerRun], len(swept.whole)
    trees = np.bincount(swept.rows[TreeDrafted].tokens - swept.first, minlength=count)
    at, merged = runs.tokens - swept.first, runs.fields["path_scores"].counts > 0
    known = swept.whole & (trees <= 1) & ((trees == 1) | (np.bincount(at, minlength=count) == 0))
    found = np.where(trees == 1, np.float32(np.inf), alone.astype(np.float32))
    for name in ("path_scores", "scores"):
        values = runs.fields[name]
        distances = np.abs(values.values - thresholds[runs["layer"][values.owners]])
        counted = merged[values.owners] == (name == "path_scores")
        known[at[values.owners[np.isnan(distances)]]] = False
        np.minimum.at(found, at[values.owners[counted]], distances[counted])
    return np.where(trees == 1, found, alone), known
