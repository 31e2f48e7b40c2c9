"""Why a pass over a token tree ended where it did, in plain English: which path passed, the walk, and the bonus.

Layers and tokens are counted from 1. The text is HTML with nothing but `<b>`, and token texts are escaped.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from core.analysis import audit_words, schedule_words
from core.analysis.tree_figure import Stage, TreeFigure
from core.analysis.tree_view import bonus_token, tree_figure
from core.analysis.wording import bold, bold_token, compared, counted, joined, token_text, took
from core.choices import Mapping
from core.trace.events import StageTimes, TreeVerified, WalkEnd
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord, TreePass


def why_tree(trace: ReadableTrace, token: int, layer: int | None) -> str:
    """One paragraph about a token whose pass ran a tree, or about one layer of that pass; "" where it ran none.

    Args:
        trace: The run so far.
        token: 0-based generated token.
        layer: 0-based layer; None asks about the whole pass.
    """
    record, figure = trace.records[token], tree_figure(trace, token)
    if record.tree is None or figure is None:
        return ""
    story = _TreeStory(trace, record, record.tree, figure)
    return story.of_pass() if layer is None or not 0 <= layer < figure.depth else story.of_layer(layer)


class _TreeStory:
    """What can be said of one pass, from the side of one of its tokens."""

    def __init__(self, trace: ReadableTrace, record: TokenRecord, tree: TreePass, figure: TreeFigure) -> None:
        assert trace.started is not None, "a record comes from a run that has started"
        self.record, self.tree, self.figure, self.settings = record, tree, figure, trace.started.settings
        self.ended, self.bonus = trace.ended is not None, bonus_token(trace, tree)
        first = trace.records[figure.token].emitted
        self.times = first.times if first else StageTimes()
        """Of the whole pass, which its first token carries."""
        self.name = bold(f"Token {record.token + 1}")
        if record.emitted:
            self.name += f" {bold_token(record.emitted.token_bytes, record.emitted.special)}"

    # The whole pass

    def of_pass(self) -> str:
        figure = self.figure
        if self.record.emitted is None:
            return joined(self._in_flight(), self._active(), self._mapped())
        return joined(
            self._place(),
            self._left(),
            self._why_there() if figure.exit_layer < figure.depth else self._why_to_the_end(),
            self._walked(figure.exit_layer - 1),
            audit_words.of_pass(self.record),
            self._mapped(),
            self._active(),
            took(self.times),
        )

    def _in_flight(self) -> str:
        done = f"{bold(self.record.layers_run)} of {bold(self.figure.depth)} layers"
        nodes = counted(len(self.figure.nodes.texts) - 1, "draft node")
        if self.ended:
            return f"{self.name} was not finished: the run ended after {done} of a pass over a tree of {nodes}."
        return f"{self.name} is in flight, in a pass over a tree of {nodes}: {done} have run."

    def _place(self) -> str:
        """Which of the pass's tokens this is."""
        figure, at = self.figure, self.record.token - self.figure.token
        nodes = counted(len(figure.nodes.texts) - 1, "draft node")
        tokens = figure.acceptance_length
        which = "the only token" if tokens == 1 else f"token {bold(at + 1)} of {bold(tokens)}"
        start = f"{self.name} is {which} of a pass over a tree of {nodes}"
        if at >= len(figure.accepted):
            return f"{start}: its {bold('bonus')}, what the target says after {self._node(self._last())}."
        node = int(figure.accepted[at])
        found = "found in the context" if figure.nodes.from_ngram[node] else "drafted"
        return f"{start}: a node {found} at level {bold(figure.nodes.levels[node])} and {bold('accepted')}."

    def _left(self) -> str:
        figure = self.figure
        if figure.exit_layer < figure.depth:
            saved = counted(figure.depth - figure.exit_layer, "layer")
            return f"The pass left after {bold(f'layer {figure.exit_layer}')} of {bold(figure.depth)}: {saved} saved."
        return f"The pass ran all {bold(figure.depth)} layers."

    def _why_there(self) -> str:
        layer = self.figure.exit_layer - 1
        if self.figure.column(layer) is None:
            return "What the predictors said there was not recorded."
        return f"There {self._judged(layer)}"

    def _why_to_the_end(self) -> str:
        figure = self.figure
        refused = sum(not walk.accepted for walk in figure.walks)
        if refused:
            return f"{counted(refused, 'walk')} {'was' if refused == 1 else 'were'} tried before and refused."
        if not len(figure.layers):
            return "No predictor was asked: this is plain speculative decoding."
        if figure.mapping is Mapping.INDEPENDENT:
            return f"Not every node had exited before: {self._nodes_out(figure.depth - 1)}."
        gaps = figure.paths.scores - figure.thresholds
        column = int(np.nanargmax(np.nanmax(gaps, 0)))
        best = compared(float(np.nanmax(figure.paths.scores[:, column])), float(figure.thresholds[column]))
        layer = bold(figure.layers[column] + 1)
        return f"No hyper-token passed the threshold before (the best scored {best}, at layer {layer})."

    def _mapped(self) -> str:
        counts = self.figure.counts
        if not counts.rows:
            return ""
        return (
            f"Mapped independently its {bold(len(self.figure.nodes.texts))} nodes make "
            f"{bold(counts.combinations_text)} combinations; merged they are {counted(counts.paths, 'hyper-token')}."
        )

    def _active(self) -> str:
        return schedule_words.active_set(self.record, self.settings)

    # One layer

    def of_layer(self, layer: int) -> str:
        figure, name = self.figure, bold(f"Layer {layer + 1}")
        own = audit_words.of_layer(self.record, layer)
        if layer == figure.depth - 1 and layer < figure.layers_run:
            return joined(f"{name} is the last and always ends the pass.", self._walked(layer), own)
        watched = schedule_words.why_watched(self.record, layer, self.settings)
        match figure.stage(layer):
            case Stage.NOT_RUN:
                return joined(self._never_or_not_yet(layer, name), own)
            case Stage.SILENT:
                return joined(self._silent(layer, name), own)
            case Stage.NONE_PROPOSED:
                return joined(f"{name}: {self._none_proposed(layer)}", own, watched)
            case Stage.PROPOSED:
                yet = "" if self.ended else " yet"
                return joined(f"{name}: {self._judged(layer)} The walk has not been tried{yet}.", own, watched)
            case Stage.REFUSED | Stage.EXIT:
                return joined(f"{name}: {self._judged(layer)}", self._walked(layer), own, watched)
            case stage:
                assert_never(stage)

    def _never_or_not_yet(self, layer: int, name: str) -> str:
        figure = self.figure
        if figure.exit_layer:
            early = counted(figure.depth - figure.exit_layer, "layer")
            return f"{name} never ran: the pass left after layer {bold(figure.exit_layer)}, {early} before the end."
        done = f"{bold(figure.layers_run)} of {bold(figure.depth)} layers are done for its pass"
        return f"{name} {'never ran: the run ended when' if self.ended else 'has not run yet:'} {done}."

    def _silent(self, layer: int, name: str) -> str:
        if not self.settings.policy.needs_parts:
            return f"{name} ran for the whole tree; the {self.settings.policy.value} policy asks no predictor."
        why_not = schedule_words.why_not(self.record, layer, self.settings)
        return f"{name} ran for the whole tree without its predictor{why_not}."

    def _none_proposed(self, layer: int) -> str:
        figure = self.figure
        goes_on = "the full vocabulary is not asked and the pass goes on."
        if figure.mapping is Mapping.INDEPENDENT:
            return f"{self._nodes_out(layer)}, and all must before the pass may end; {goes_on}"
        paths = counted(len(figure.paths.leaves), "hyper-token")
        return f"none of the {paths} passes the threshold: {self._best(layer)}; {goes_on}"

    def _judged(self, layer: int) -> str:
        """Which paths passed the threshold at this layer, and by what."""
        figure = self.figure
        if figure.mapping is Mapping.INDEPENDENT:
            nodes = bold(len(figure.nodes.texts))
            return f"every one of the {nodes} nodes has exited on its own."
        count, paths = int(figure.proposed_at(layer).sum()), counted(len(figure.paths.leaves), "hyper-token")
        passes = "passes" if count == 1 else "pass"
        return f"{bold(count)} of {paths} {passes} the threshold: {self._best(layer)}."

    def _best(self, layer: int) -> str:
        """The path with the highest score, and what its score is."""
        figure, column = self.figure, self.figure.column(layer)
        assert column is not None, "a judged layer has scores"
        path = int(np.nanargmax(figure.paths.scores[:, column]))
        score = compared(float(figure.paths.scores[path, column]), float(figure.thresholds[column]))
        nodes = figure.paths.nodes[path].tolist()
        best = f"the best, {self._chain(nodes[1:] or nodes)}, scores {score}"
        if figure.mapping is Mapping.MEAN:
            return f"{best} by its mean feature"
        lowest = nodes[int(np.argmin(figure.nodes.scores[nodes, column]))]
        return f"{best}, as its lowest node {self._node(lowest)}"

    def _nodes_out(self, layer: int) -> str:
        exits = self.figure.nodes.exits
        return f"{bold(int(((exits > 0) & (exits <= layer + 1)).sum()))} of {counted(len(exits), 'node')} have exited"

    # The walk

    def _walked(self, layer: int) -> str:
        event = self.tree.verified.get(layer)
        if event is not None and not event.accepted:
            walked = self._chain(event.walk.tolist())
            return f"The walk {walked} breaks off: {self._refusal(event)} → {bold('refused')}; the pass goes on."
        accepted = self.figure.accepted.tolist()
        walked = self._chain([0, *accepted])
        start = f"The walk {walked} is verified" if event else f"The target’s own walk is {walked}"
        bonus = f"{bold_token(*self.bonus)} as the bonus" if self.bonus else "the bonus"
        exit_here = bold(f"exit {self.figure.exit_layer}")
        return f"{start}: {counted(len(accepted), 'node')} accepted, and {bonus} → {exit_here}."

    def _refusal(self, event: TreeVerified) -> str:
        node, says = int(event.walk[-1]), bold_token(event.argmax_bytes[-1])
        start = f"after {self._node(node)} the layer says {says}"
        match event.end:
            case WalkEnd.NOT_PROPOSED:
                return f"{start}, whose path did not pass"
            case WalkEnd.GATED:
                return f"{start}, by a margin of {bold(f'{float(event.margins[-1]):.2f}')}, below the gate"
            case _:  # a verified walk refused nothing
                k = self.tree.drafted.candidate_ids.shape[1]
                among = ", ".join(map(token_text, self.tree.drafted.candidate_bytes[node * k : node * k + k]))
                return f"{start}, none of its candidates ({among})"

    def _chain(self, nodes: list[int]) -> str:
        return " → ".join(self._node(node) for node in nodes)

    def _node(self, node: int) -> str:
        return token_text(self.tree.drafted.node_bytes[node])

    def _last(self) -> int:
        return int(self.figure.accepted[-1]) if len(self.figure.accepted) else 0
