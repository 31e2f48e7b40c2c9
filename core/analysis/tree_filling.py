"""Fills rows of `LayerFacts` from the trees of many passes at once; every token is told of at its own node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.membership import among
from core.trace.events import IntArray, TreeAccepted, TreeDrafted, TreeVerified, WalkEnd
from core.trace.overview import CellState, Overview
from core.trace.sweep import ANY, Swept, Wanted

if TYPE_CHECKING:
    from core.analysis.layer_facts import LayerFacts

WANTED: Wanted = {
    TreeDrafted: {"candidate_ids": (ANY, ANY)},
    TreeAccepted: {"accepted": (ANY,)},
    TreeVerified: {"layer": None, "end": None},
}
"""What is needed of the events."""
WIDEST = 1024
"""Candidates of a node that are taken here; a file may promise any number, for tokens that all come after one node."""
_GATED = WalkEnd.GATED.value.encode()
_EVALUATED = np.uint8(CellState.EVALUATED)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Where n tokens stand in the trees that they came of."""

    passes: IntArray
    """Shape [n], the place of each pass's first token among the n."""
    trees: IntArray
    """Shape [n], the row of each token's tree; -1 for a pass without one."""
    nodes: IntArray
    """Shape [n], the node after which each token comes; -1 where it is not told, cannot be, or is too wide."""


def without_odd_trees(swept: Swept, overview: Overview) -> Swept:
    """Leave out the passes whose trees are not told of as the engine does: one tree, at whose end one way stands."""
    at = _nodes_of(swept, overview)
    told = [np.bincount(swept.rows[kind].tokens - swept.first, minlength=len(at.passes)) for kind in WANTED]
    begins = at.passes == np.arange(len(at.passes))
    fits = (told[0] <= 1) & (told[0] == told[1]) & (begins | (told[0] == 0)) & ((told[2] == 0) | (told[0] == 1))
    odd = at.passes[~fits | ((at.trees >= 0) & (at.nodes < 0))]
    return swept.among(~np.isin(at.passes, odd)) if len(odd) else swept


def _nodes_of(swept: Swept, overview: Overview) -> _Nodes:
    count, trees, ends = len(swept.whole), swept.rows[TreeDrafted], swept.rows[TreeAccepted]
    passes = overview.passes[swept.first : swept.first + count] - swept.first
    rows, ways, nodes = (np.full(count, -1) for _ in range(3))
    rows[trees.tokens - swept.first] = np.arange(len(trees.tokens))
    ways[ends.tokens - swept.first] = np.arange(len(ends.tokens))
    rows, ways, steps = rows[passes], ways[passes], np.arange(count) - passes
    nodes[(rows >= 0) & (ways >= 0) & (steps == 0)] = 0
    lengths = ends.fields["accepted"].counts
    later = np.flatnonzero((rows >= 0) & (ways >= 0) & (steps > 0))
    later = later[steps[later] <= lengths[ways[later]]]
    nodes[later] = ends["accepted"][(np.cumsum(lengths) - lengths)[ways[later]] + steps[later] - 1]
    treed = np.flatnonzero(rows >= 0)
    sizes, widths = (trees.fields["candidate_ids"].lengths(axis)[rows[treed]] for axis in (0, 1))
    nodes[treed[(nodes[treed] >= sizes) | (widths > WIDEST)]] = -1
    return _Nodes(passes, rows, nodes)


def fill_trees(facts: LayerFacts, swept: Swept, overview: Overview) -> None:
    """Fill what trees tell of their passes' tokens; the tokens' own events have been taken in."""
    at, walks = _nodes_of(swept, overview), swept.rows[TreeVerified]
    treed = at.trees >= 0
    gated = np.zeros_like(facts.refused)
    gated[walks.tokens - swept.first, walks["layer"]] = [end == _GATED for end in walks.fields["end"].texts]
    facts.active[treed] = facts.active[at.passes[treed]]
    facts.drafted[treed] = True
    facts.asked[treed] |= overview.states[swept.first : swept.first + len(treed)][treed] & _EVALUATED > 0
    facts.refused[treed] = gated[at.passes[treed]]
    facts.gated[treed] = facts.refused[treed].sum(1)
    facts.among[treed] = False
    _fill_among(facts, swept, at)


def _fill_among(facts: LayerFacts, swept: Swept, at: _Nodes) -> None:
    candidates = swept.rows[TreeDrafted].fields["candidate_ids"]
    starts, widths = np.cumsum(candidates.counts) - candidates.counts, candidates.lengths(1)
    known = np.flatnonzero((at.trees >= 0) & facts.audited)
    for width in np.unique(widths).tolist():
        tokens = known[widths[at.trees[known]] == width]
        firsts = starts[at.trees[tokens]] + at.nodes[tokens] * width
        ids = candidates.values[firsts[:, None] + np.arange(width)]
        facts.among[tokens] = among(facts.own_ids[tokens], ids)
