"""A pass that feeds a token tree and emits as many tokens as the target agrees with (`docs/rules.md`).

The drafter grows a tree, the target runs all of it at once, and the walk from the root along the target's own tokens is
what the pass emits. At the last layer that is plain speculative decoding; with predictors it may end earlier.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from core.auditing import audited
from core.choices import Record
from core.context import Fan
from core.drafting.growth import Growth
from core.drafting.head import Draft
from core.drafting.ngrams import continuation
from core.drafting.tree import DraftTree, TreeDrafter
from core.exits.hyper_tokens import TreeJudge, TreeLook
from core.exits.policies import make_scheduler
from core.exits.scheduling import Schedule
from core.exits.tree_walk import Walk, Walker
from core.exits.verification import Check
from core.run_state import RunState
from core.trace.events import (
    Audited,
    BoolArray,
    Event,
    ExitReason,
    FloatArray,
    KVUpdated,
    TreeAccepted,
    TreeDrafted,
    TreeLayerRun,
    TreeVerified,
    WalkEnd,
)

NONE: FloatArray = np.zeros(0, np.float32)
NOWHERE: BoolArray = np.zeros(0, np.bool_)


class TreePass:
    """A `core.run_state.Pass` of a tree."""

    def __init__(self, state: RunState, drafter: TreeDrafter, judge: TreeJudge | None) -> None:
        """Without a judge nothing may exit before the last layer."""
        self._state, self._drafter, self._judge = state, drafter, judge
        self._decoder, self._context, self._watch = state.decoder, state.context, state.watch
        self._fresh: tuple[Sequence[int], Tensor] | None = None
        """Tokens that the drafter has not taken in, and what it sees of the positions before them."""
        self._rows_checked = 0

    def feed(self, ids: Tensor, states: Tensor) -> None:
        """Take in the prompt's tokens ids [n] with what the drafter sees [n, (t + 1) d] of the positions before."""
        with self._watch("draft"):
            self._drafter.feed(ids, states)

    def take_in(self) -> None:
        """As `Pass` says."""
        self.feed(torch.tensor([self._state.newest], device=self._decoder.device), self._state.feature[None])

    def record(self, token: int, layer: int) -> None:
        """As `Pass` says."""
        if self._judge:
            self._judge.record(token, layer)

    def events(self) -> Iterator[Event]:
        """Feed a tree from the newest token on, and emit what the target accepts of it and one token more."""
        with self._watch("draft"):
            tree = self._draft()
        yield self._drafted_event(tree)
        with self._watch("predictor"):
            schedule = self._judge.begin(tree) if self._judge else None
        if schedule:
            yield self._state.schedule_event(schedule)
        hidden: list[Tensor] = []
        walk = yield from self._layers(tree, hidden)
        yield from self._emit(tree, walk, hidden, schedule)

    def _draft(self) -> DraftTree:
        state, drafter = self._state, self._drafter
        ids, features = self._fresh or ([state.newest], state.feature[None])
        drafter.feed(torch.tensor(ids, device=self._decoder.device), features)
        # Beyond these levels no node would have a position.
        depth = min(drafter.growth.depth, self._decoder.config.context - 1 - self._context.length)
        found = continuation(state.ids, depth) if state.settings.tree.ngrams else []
        return drafter.grow(state.newest, depth, found, candidates=self._judge is not None)

    def _layers(self, tree: DraftTree, hidden: list[Tensor]) -> Generator[Event, None, Walk]:
        """Run layers, adding the nodes' states [n, d] to `hidden`, until a whole walk is verified."""
        state, last = self._state, self._decoder.config.depth - 1
        walker = Walker(tree, lambda check: state.verifier.refuses(check.choice), state.tokenizer.end_ids)
        fan = Fan(torch.from_numpy(self._context.length + tree.depths), torch.from_numpy(tree.seen))
        self._context.begin_tree(torch.from_numpy(tree.ids).to(self._decoder.device), fan)
        self._rows_checked = 0
        for layer in range(last):
            hidden.append(self._run_layer(layer))
            look = self._look(layer, hidden[-1])
            yield self._layer_event(layer, look)
            if look and look.proposed.any():
                walk = self._walk(walker, layer, hidden[-1], look.ready)
                yield self._verified_event(layer, walk)
                if walk.end is WalkEnd.VERIFIED:
                    return walk
        hidden.append(self._run_layer(last))
        yield self._layer_event(last, None)
        return self._walk(walker, last, hidden[-1], None)

    def _run_layer(self, layer: int) -> Tensor:
        self._state.check_stop()
        with self._watch.shared("layers", "recompute", lambda: self._context.share_of_waiting):
            return self._context.run_rows(layer)

    def _look(self, layer: int, hidden: Tensor) -> TreeLook | None:
        if self._judge is None:
            return None
        with self._watch("predictor"):
            return self._judge.look(layer, hidden)

    def _walk(self, walker: Walker, layer: int, hidden: Tensor, ready: BoolArray | None) -> Walk:
        def check(nodes: Sequence[int]) -> list[Check]:
            self._rows_checked += len(nodes)
            return self._state.verifier.check_rows(layer, hidden[list(nodes)], self._context.length)

        with self._watch("verification"):
            return walker.walk(check, ready)

    def _accept(self, walk: Walk, hidden: list[Tensor]) -> tuple[TreeAccepted, list[int], list[int]]:
        """Keep as much of the walk as the run still has room for; its tokens, and the nodes they come after."""
        state, tokens = self._state, walk.token_ids
        tokens = tokens[: state.room_for(tokens)]
        nodes = walk.nodes[: len(tokens)]
        with self._watch("recompute"):
            self._context.keep(nodes, len(hidden))
        normed = torch.stack([check.normed for check in walk.checks[: len(tokens)]])
        self._fresh = tokens, state.seen(hidden, normed, nodes)
        accepted = np.array(nodes[1:], np.int64)
        event = TreeAccepted(state.run, state.emitted, accepted, tokens[-1], len(hidden), self._rows_checked)
        return event, tokens, nodes

    def _emit(self, tree: DraftTree, walk: Walk, hidden: list[Tensor], schedule: Schedule | None) -> Iterator[Event]:
        """End the pass and tell its tokens."""
        state, layers_run = self._state, len(hidden)
        accepted, tokens, nodes = self._accept(walk, hidden)
        yield accepted
        audits = self._audits(tree, nodes, hidden, schedule) if state.settings.record is Record.AUDIT else []
        with self._watch("recompute"):
            self._context.end(layers_run)
        updates = self._updates(len(tokens), layers_run)
        reason = ExitReason.LAST_LAYER if layers_run == self._decoder.config.depth else ExitReason.VERIFIED
        for place, token_id in enumerate(tokens):
            yield from audits[place : place + 1]
            if self._judge:
                self._judge.record(state.emitted, layers_run - 1)
            yield updates[place]
            yield state.emit(token_id, layers_run, reason)

    def _updates(self, count: int, layers_run: int) -> list[KVUpdated]:
        """What became of the K/V: one event a kept position, the rows that were caught up with the first."""
        state, first = self._state, self._context.length - count
        caught_up = np.array(self._context.recomputed, np.int64)
        return [
            KVUpdated(state.run, state.emitted + place, first + place, layers_run, caught_up[: 0 if place else None])
            for place in range(count)
        ]

    def _audits(
        self, tree: DraftTree, nodes: Sequence[int], hidden: list[Tensor], schedule: Schedule | None
    ) -> list[Audited]:
        """What every layer would have said after each of the kept nodes."""
        state, found = self._state, []
        with self._watch("recording"):
            rest = []
            for states in self._context.finish_rows(len(hidden)):
                state.check_stop()
                rest.append(states)
            for place, node in enumerate(nodes):
                own = [states[node] for states in hidden] + [states[place] for states in rest]
                found.append(audited(state, state.emitted + place, own, _draft_of(tree, node), schedule))
        return found

    def _drafted_event(self, tree: DraftTree) -> TreeDrafted:
        state, text = self._state, self._state.tokenizer.token_bytes
        return TreeDrafted(
            state.run,
            state.emitted,
            tree.ids,
            tuple(text(int(one)) for one in tree.ids),
            tree.parents,
            tree.probabilities,
            tree.from_ngram,
            tree.candidate_ids,
            tuple(text(int(one)) for one in tree.candidate_ids.flat),
            tree.candidate_probabilities,
        )

    def _layer_event(self, layer: int, look: TreeLook | None) -> TreeLayerRun:
        run, token = self._state.run, self._state.emitted
        if look is None:
            return TreeLayerRun(run, token, layer, None, NONE, NONE, NOWHERE)
        return TreeLayerRun(run, token, layer, look.features, look.scores, look.path_scores, look.proposed)

    def _verified_event(self, layer: int, walk: Walk) -> TreeVerified:
        state = self._state
        return TreeVerified(
            state.run,
            state.emitted,
            layer,
            np.array(walk.nodes, np.int64),
            np.array(walk.token_ids, np.int64),
            tuple(map(state.tokenizer.token_bytes, walk.token_ids)),
            np.array([check.choice.margin for check in walk.checks], np.float32),
            walk.end,
        )


def _draft_of(tree: DraftTree, node: int) -> Draft | None:
    """S of a node, where the tree has it."""
    if not tree.candidate_ids.shape[1]:
        return None
    return Draft(torch.from_numpy(tree.candidate_ids[node]), torch.from_numpy(tree.candidate_probabilities[node]))


def make_tree_pass(state: RunState, growth: Growth) -> TreePass:
    """The pass that the run's settings ask for; the engine has checked that the parts are there."""
    parts, settings = state.parts, state.settings
    assert parts is not None, "the engine checks for a drafter"
    drafter = TreeDrafter(
        parts.drafter, growth, parts.guesser(state.decoder, state.settings.draft_head), state.context.capacity
    )
    state.taps = parts.drafter.taps
    if not settings.policy.needs_parts:
        return TreePass(state, drafter, None)
    scheduler = make_scheduler(settings, state.decoder.config.depth, parts)
    bank = parts.predictors_for(settings.lens)
    judge = TreeJudge(bank, scheduler, settings.threshold_at, settings.tree.mapping, state.readout)
    return TreePass(state, drafter, judge)
