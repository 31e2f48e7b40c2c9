"""Token trees made by hand: shapes, texts, and the events of passes over them that fit together as the engine's do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.analysis.tree_view import leaves_of, levels_of
from core.choices import Mapping
from core.config import CANDIDATES, TreeSettings
from core.trace.events import (
    Event,
    ExitReason,
    FloatArray,
    IntArray,
    RunStarted,
    StageTimes,
    TokenEmitted,
    TreeAccepted,
    TreeDrafted,
    TreeLayerRun,
    TreeVerified,
    WalkEnd,
)
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, prefilled, schedule, started, token_id

SKY = (" appears", " blue", " red", " so", " because", " due", ".", " of", " the", " to", " a", " Ray", " in")
SKY_PARENTS = (-1, 0, 0, 0, 1, 1, 2, 4, 4, 5, 7, 7, 3)
"""‘ appears’ with 12 draft nodes; ‘ blue because of a’ is its best path."""
CJK = (
    *("하늘", "은", "이", " 🌈", "파란", "푸른", "색깔입니다", "입니다"),
    *("天空是蓝色的", "です", "。", "…", " \u2600\ufe0f"),
)
JUDGED = (11, 14, 16, 18, 19, 20, 21, 22, 23, 24, 26)
"""0-based layers whose predictors are asked."""


def widths_to_parents(*widths: int) -> IntArray:
    """A static tree: `4, 2` is four children at the root and two at each of these. Shape [n]."""
    parents, level = [-1], [0]
    for width in widths:
        grown = [node for node in level for _ in range(width)]
        level = list(range(len(parents), len(parents) + len(grown)))
        parents += grown
    return np.array(parents, np.int64)


def bushy(count: int, seed: int = 0) -> IntArray:
    """A tree as dynamic growth leaves it: `count` nodes, the root included, more children near the likely ones."""
    random = np.random.default_rng(seed)
    parents, levels, children = [-1], [0], [0]
    while len(parents) < count:
        chances = np.array([0.62**level / (1 + kids) for level, kids in zip(levels, children, strict=True)])
        chances *= np.array([level < 6 for level in levels])
        parent = int(random.choice(len(parents), p=chances / chances.sum()))
        children[parent] += 1
        parents.append(parent)
        levels.append(levels[parent] + 1)
        children.append(0)
    order = np.lexsort((np.arange(count), levels))
    place = np.argsort(order)
    return np.array([-1 if parents[i] < 0 else place[parents[i]] for i in order], np.int64)


@dataclass(frozen=True)
class TreePlan:
    """One pass over a tree, and how it shall end."""

    parents: Sequence[int] | IntArray = SKY_PARENTS
    texts: Sequence[str] = SKY
    accepted: Sequence[int] = (1, 4, 7)
    """Draft nodes stepped to, in order."""
    bonus: str = " light"
    exit_layer: int = 24
    refused: Sequence[int] = ()
    """0-based judged layers at which a walk is tried and refused."""
    refusal: WalkEnd = WalkEnd.NOT_CANDIDATE
    ngrams: Sequence[int] = ()
    mapping: Mapping = Mapping.REARMOST
    judged: Sequence[int] = JUDGED
    """Empty is plain speculative decoding, which asks no predictor and needs no candidates."""
    depth: int = DEPTH

    @property
    def size(self) -> int:
        return len(self.parents)

    @property
    def candidates(self) -> int:
        return CANDIDATES if self.judged else 0

    def text(self, node: int) -> bytes:
        return self.texts[node % len(self.texts)].encode()


def tree_settings(mapping: Mapping = Mapping.REARMOST) -> TreeSettings:
    return TreeSettings("dynamic", mapping=mapping)


def tree_started(mapping: Mapping = Mapping.REARMOST, *, threshold: float = 0.5, depth: int = DEPTH) -> RunStarted:
    opening = started(threshold=threshold, depth=depth)
    return replace(opening, settings=replace(opening.settings, tree=tree_settings(mapping)))


def tree_trace(*plans: TreePlan, whole: bool = True) -> Trace:
    """Prefill's token, then the passes; not `whole` leaves the last pass in flight, just before it ends."""
    events: list[Event] = [tree_started(plans[0].mapping, depth=plans[0].depth), prefilled()]
    events.append(_emitted(0, b" appears", plans[0].depth, plans[0].depth))
    token = 1
    for plan in plans:
        made = pass_events(token, plan)
        events += made
        token += len(plan.accepted) + 1
    if not whole:
        end = next(i for i in reversed(range(len(events))) if isinstance(events[i], TreeAccepted))
        events = events[: end - 2]
    return Trace.of(events)


def pass_events(token: int, plan: TreePlan) -> list[Event]:
    """The events of one pass, its emitted tokens included."""
    drafted = draft_tree(token, plan)
    events: list[Event] = [drafted, schedule(token, plan.judged, depth=plan.depth)]
    scores = node_scores(plan)
    for layer in range(plan.exit_layer):
        run = _layer(token, layer, plan, scores)
        events.append(run)
        if run.proposed.any():
            events.append(_verified(token, layer, plan))
    return events + _ending(token, plan)


def draft_tree(token: int, plan: TreePlan) -> TreeDrafted:
    """The drafted tree; each node's candidates are its children, then made-up ones."""
    n, parents = plan.size, np.asarray(plan.parents, np.int64)
    random = np.random.default_rng(n)
    shares = np.ones(n, np.float32)
    candidates: list[bytes] = []
    for node in range(n):
        children = np.flatnonzero(parents == node)
        shares[children] = 0.55 * 0.5 ** np.arange(len(children)) * random.uniform(0.8, 1.2, len(children))
        own = [plan.text(int(child)) for child in children] + [f" other {node} {i}".encode() for i in range(CANDIDATES)]
        if node == _last(plan):
            own = [plan.bonus.encode(), *own]
        candidates += own[: plan.candidates]
    return TreeDrafted(
        run=0,
        token=token,
        node_ids=np.array([token_id(plan.text(node)) for node in range(n)]),
        node_bytes=tuple(plan.text(node) for node in range(n)),
        parents=parents,
        probabilities=shares,
        from_ngram=np.isin(np.arange(n), list(plan.ngrams)),
        candidate_ids=np.array([token_id(text) for text in candidates], np.int64).reshape(n, plan.candidates),
        candidate_bytes=tuple(candidates),
        candidate_probabilities=np.tile(np.array([0.5, 0.2, 0.1, 0.05], np.float32), (n, 1))[:, : plan.candidates],
    )


def node_scores(plan: TreePlan) -> FloatArray:
    """Scores that cross ½ once: on the accepted way just before the exit, elsewhere later or never. Shape [n, L]."""
    random = np.random.default_rng(7)
    parents = np.asarray(plan.parents, np.int64)
    way = _way(plan)
    crossing = random.uniform(plan.exit_layer + 1.0, plan.depth + 6.0, plan.size)
    on_way = np.isin(np.arange(plan.size), way)
    crossing[on_way] = plan.exit_layer - 1.4 - random.uniform(0, 6, on_way.sum())
    early = levels_of(parents) == 1
    crossing[early & ~on_way] -= random.uniform(2, 8, (early & ~on_way).sum())
    if plan.refused:
        crossing[on_way] = min(plan.refused) - 0.4 - random.uniform(0, 5, on_way.sum())
    else:
        crossing[way[-1]] = plan.exit_layer - 1.4
    layers = np.arange(plan.depth)
    return (1 / (1 + np.exp(-(layers - crossing[:, None]) / 1.6))).astype(np.float32)


def _way(plan: TreePlan) -> list[int]:
    """The leaf path that goes through what is accepted."""
    way = [0, *plan.accepted]
    while True:
        children = np.flatnonzero(np.asarray(plan.parents) == way[-1])
        if not len(children):
            return way
        way.append(int(children[0]))


def _last(plan: TreePlan) -> int:
    return plan.accepted[-1] if plan.accepted else 0


def _layer(token: int, layer: int, plan: TreePlan, scores: FloatArray) -> TreeLayerRun:
    nothing, none = np.zeros(0, np.float32), np.zeros(0, np.bool_)
    if layer not in plan.judged:
        return TreeLayerRun(0, token, layer, None, nothing, nothing, none)
    own = scores[:, layer]
    features = np.tile(np.linspace(0, 1, 12, dtype=np.float32), (plan.size, 1))
    features[:, 4:8] = np.array([0.7, 0.2, 0.05, 0.05]) * own[:, None] + 0.25 * (1 - own[:, None])
    if plan.mapping is Mapping.INDEPENDENT:
        return TreeLayerRun(0, token, layer, features, own, nothing, none)
    merged = merged_scores(plan.parents, own, plan.mapping)
    # Before the walk that ends the pass, paths are proposed at the refused layers only.
    allowed = layer in plan.refused or layer == plan.exit_layer - 1
    merged = merged if allowed else np.minimum(merged, 0.49).astype(np.float32)
    shown = nothing if plan.mapping is Mapping.MEAN else own
    return TreeLayerRun(0, token, layer, features, shown, merged, merged > 0.5)


def merged_scores(parents: Iterable[int], scores: FloatArray, mapping: Mapping) -> FloatArray:
    """A score a path, ordered by leaf: the least of its nodes', or their mean. Shape [p]."""
    parents = np.array(list(parents), np.int64)
    merge = np.mean if mapping is Mapping.MEAN else np.min
    made = []
    for leaf in leaves_of(parents).tolist():
        chain = [leaf]
        while chain[-1] > 0:
            chain.append(int(parents[chain[-1]]))
        made.append(merge(scores[chain]))
    return np.array(made, np.float32)


def _verified(token: int, layer: int, plan: TreePlan) -> TreeVerified:
    said = [*(plan.text(node) for node in plan.accepted), plan.bonus.encode()]
    walk, end = [0, *plan.accepted], WalkEnd.VERIFIED
    if layer in plan.refused:
        steps = min(2, len(walk))
        walk, said, end = walk[:steps], said[:steps], plan.refusal
        if end is WalkEnd.NOT_CANDIDATE:
            said[-1] = b" it"
    margins = np.linspace(0.6, 0.1, len(walk)).astype(np.float32)
    return TreeVerified(
        0, token, layer, np.array(walk), np.array([token_id(t) for t in said]), tuple(said), margins, end
    )


def _ending(token: int, plan: TreePlan) -> list[Event]:
    said = [*(plan.text(node) for node in plan.accepted), plan.bonus.encode()]
    rows = len(plan.refused) * 2 + plan.size
    accepted = TreeAccepted(0, token, np.array(plan.accepted, np.int64), token_id(plan.bonus), plan.exit_layer, rows)
    return [accepted, *(_emitted(token + i, text, plan.exit_layer, plan.depth) for i, text in enumerate(said))]


def _emitted(token: int, text: bytes, exit_layer: int, depth: int) -> TokenEmitted:
    early = ExitReason.VERIFIED if exit_layer < depth else ExitReason.LAST_LAYER
    reason = ExitReason.PREFILL if token == 0 else early
    times = StageTimes(draft=0.003, layers=0.03, predictor=0.002, verification=0.004, total=0.041)
    return TokenEmitted(0, token, token_id(text), text, False, exit_layer, reason, times)
