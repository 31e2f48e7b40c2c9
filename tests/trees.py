"""Random token trees, and what a model makes of their paths one token at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from core.context import Context, Fan
from core.drafting.tree import DraftTree, TreeDrafter, ancestry
from core.model.decoder import Decoder

VOCABULARY = 97


@st.composite
def random_trees(draw: st.DrawFn, most: int = 12, vocabulary: int = VOCABULARY, k: int = 4) -> DraftTree:
    """Any tree of up to `most` nodes, siblings with different tokens, four candidates a node."""
    size = draw(st.integers(1, most))
    parents = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
    seed = draw(st.integers(0, 2**16))
    return tree_of(parents, seed, vocabulary, k)


def tree_of(parents: list[int], seed: int = 0, vocabulary: int = VOCABULARY, k: int = 4) -> DraftTree:
    """A tree of this shape with random tokens and candidates."""
    generator = np.random.default_rng(seed)
    depths = np.zeros(len(parents), np.int64)
    for node, parent in enumerate(parents[1:], 1):
        depths[node] = depths[parent] + 1
    # Siblings differ because no two nodes have the same token.
    ids = generator.permutation(vocabulary)[: len(parents)]
    candidates = np.array([generator.permutation(vocabulary)[:k] for _ in parents])
    shape = (len(parents), k)
    return DraftTree(
        ids.astype(np.int64),
        np.array(parents, np.int64),
        depths,
        np.ones(len(parents), np.float32),
        np.zeros(len(parents), np.bool_),
        candidates.astype(np.int64),
        np.full(shape, 1 / k, np.float32),
        ancestry(np.array(parents), depths),
    )


def begin(context: Context, tree: DraftTree) -> None:
    """Start a pass over the tree."""
    fan = Fan(torch.from_numpy(context.length + tree.depths), torch.from_numpy(tree.seen))
    context.begin_tree(torch.from_numpy(tree.ids), fan)


def path_to(tree: DraftTree, node: int) -> list[int]:
    """The nodes from the root to `node`."""
    return [int(one) for one in np.flatnonzero(tree.seen[node])]


def one_by_one(decoder: Decoder, before: list[int], tokens: list[int]) -> list[Tensor]:
    """The hidden states [tokens, d] after each layer of `tokens` fed one at a time after `before`."""
    cache = decoder.new_cache(len(before) + len(tokens))
    ids = torch.tensor(before + tokens)
    decoder.forward(ids[: len(before)], 0, cache)
    states: list[list[Tensor]] = []
    for place in range(len(before), len(ids)):
        rows, x = decoder.rows([place], place + 1), decoder.embed(ids[place : place + 1])
        states.append([x := decoder.layer(layer, x, rows, cache) for layer in range(decoder.config.depth)])
    return [torch.cat([token[layer] for token in states]) for layer in range(decoder.config.depth)]


class Foresight(TreeDrafter):
    """Draws some of the target's own continuation into each tree, and its tokens into the candidates."""

    first_id = 1
    """The prompt's first token, which no drafter is fed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._text, self._known = [self.first_id], 0
        self._target = self.head.decoder.new_cache(self.head.decoder.config.context)
        self._luck = np.random.default_rng(0)

    def feed(self, ids: Tensor, features: Tensor) -> None:
        self._text += ids.tolist()
        super().feed(ids, features)

    def grow(self, root: int, depth: int, found: Sequence[int], *, candidates: bool) -> DraftTree:
        assert self._text[-1] == root, "the drafter was fed the tokens that the run emitted"
        truth = self._truth(1 + min(depth, self.growth.depth))
        tree = super().grow(root, depth, truth[: self._luck.integers(0, len(truth))], candidates=candidates)
        if not candidates:
            return tree
        known, node = tree.candidate_ids.copy(), 0
        for token_id in truth:
            if token_id not in known[node]:
                known[node, self._luck.integers(0, known.shape[1])] = token_id
            children = np.flatnonzero((tree.parents == node) & (tree.ids == token_id))
            if not len(children):
                break
            node = int(children[0])
        return replace(tree, candidate_ids=known)

    def _truth(self, count: int) -> list[int]:
        """The next tokens that the target itself would emit."""
        decoder, text = self.head.decoder, list(self._text)
        for _ in range(count):
            hidden = decoder.forward(torch.tensor(text[self._known :]), self._known, self._target)[-1:]
            self._known = len(text)
            text.append(int(decoder.logits(decoder.norm(hidden))[0].argmax()))
        # What was only foreseen is computed anew.
        self._known = len(self._text)
        return text[len(self._text) :]
