"""Tables of one token: its candidates' curves, its tree, and what every layer would have said."""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.counterfactual import Counterfactual, Said
from core.analysis.summaries import CandidateCurves
from core.analysis.tree_figure import TreeFigure
from core.report.table import Row, Table

CANDIDATES = (
    *("layer", "evaluated", "score", "candidate", "text", "drafter_probability"),
    *("local_probability", "full_probability"),
)
TREE = ("node", "parent", "level", "text", "probability", "path_probability", "from_ngram", "accepted", "exit_layer")
LAYERS = ("layer", "text", "said", "margin", "candidate_rank", "score", "evaluated", "run")
SAID = {Said.OTHER: "another token", Said.PASSING: "right, not yet for good", Said.STABLE: "right from here on"}


def candidate_table(curves: CandidateCurves) -> Table:
    """The candidates' curves, a row a layer and candidate; every layer where the run was audited."""
    return Table(CANDIDATES, _candidates(curves))


def _candidates(curves: CandidateCurves) -> Iterator[Row]:
    audit, rows = curves.audit, {layer: row for row, layer in enumerate(curves.layers.tolist())}
    for layer in range(curves.depth) if audit else sorted(rows):
        row = rows.get(layer)
        score = curves.scores[row] if row is not None else audit.scores[layer] if audit else float("nan")
        for k, text in enumerate(curves.candidate_texts):
            local = curves.probabilities[row, k] if row is not None else audit.local[layer, k] if audit else None
            yield (
                *(layer + 1, row is not None, float(score), k + 1, f"‘{text}’"),
                *(float(curves.drafter_probabilities[k]), None if local is None else float(local)),
                float(audit.full[layer, k]) if audit else None,
            )


def tree_table(figure: TreeFigure) -> Table:
    """The nodes of a token tree; node 1 is the root, the newest token before the pass."""
    return Table(TREE, [_node(figure, node) for node in range(len(figure.nodes.parents))])


def _node(figure: TreeFigure, node: int) -> Row:
    nodes = figure.nodes
    parent, exit_layer = int(nodes.parents[node]), int(nodes.exits[node])
    return (
        *(node + 1, parent + 1 if parent >= 0 else None, int(nodes.levels[node]), f"‘{nodes.texts[node]}’"),
        *(float(nodes.probabilities[node]), float(nodes.path_probabilities[node]), bool(nodes.from_ngram[node])),
        *(bool(nodes.accepted[node]), exit_layer or None),
    )


def layer_table(found: Counterfactual) -> Table:
    """What every layer of one token's pass would have said."""
    return Table(LAYERS, [_layer(found, layer) for layer in range(len(found.texts))])


def _layer(found: Counterfactual, layer: int) -> Row:
    rank = int(found.candidate_ranks[layer])
    return (
        *(layer + 1, f"‘{found.texts[layer]}’", SAID[Said(int(found.said[layer]))], float(found.margins[layer])),
        *(rank + 1 if rank >= 0 else "none" if rank == -1 else None, float(found.scores[layer])),
        *(bool(found.evaluated[layer]), bool(found.run[layer])),
    )
