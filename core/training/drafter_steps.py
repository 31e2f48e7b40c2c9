"""One step of training the drafter: KL only (`docs/rules.md`), against distributions that the target left.

Noise on the states, and late layers' features in place of the last one's at some positions, prepare it for what it
meets after an early exit; steps on its own outputs for what it meets in a chain or tree (`core.training.unrolled`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from core.drafting.head import DraftHead
from core.model.loading import LoadedModel
from core.training.adam import Adam
from core.training.distil import Vocabulary, distil
from core.training.examples import Example, padded
from core.training.unrolled import unroll

RATE, WARM_UP, LAST_RATE = 1e-3, 0.04, 0.02
"""Peak learning rate, share of the time before it, and what is left of it at the end (cosine)."""
BETAS, DECAY, CLIP = (0.9, 0.95), 0.05, 1.0
NOISE = 0.1
"""Uniform within ± this, on the states."""
EARLY = 0.15
"""Share of positions whose feature is a late layer's."""
LATER = 0.5
"""Share of a batch's texts that have steps after the first, drawn anew each time: each step costs as much as the first.
"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is trained, and how."""

    taps: bool = True
    """Whether the drafter sees the states of lower layers too."""
    layers: int = 1
    """1 or 2."""
    weights: tuple[float, ...] = (1.0, 0.7, 0.5)
    """Of the losses of a chain's tokens; the first is what follows the target's own states."""
    chains_from: float = 0.7
    """Share of the time after which texts go on as chains; before it only first tokens are learned."""
    prompts: bool = True
    """Whether prompts are learned too, or answers alone."""

    def steps_at(self, share: float) -> int:
        """Tokens of a chain that are learned when `share` of the time has passed."""
        return len(self.weights) if share >= self.chains_from else 1


@dataclass(slots=True)
class Course:
    """How far training has come."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    seconds: float = 0.0
    done: bool = False
    best: float = -1.0
    """Highest top-4 rate on tune prompts, the mean over a chain's tokens."""
    curve: list[dict[str, float]] = field(default_factory=list)

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Course.__slots__}


class DrafterTraining:
    """The head's parameters, its optimiser, and where in the data they are."""

    def __init__(self, model: LoadedModel, seed: int, recipe: Recipe | None = None) -> None:
        self.decoder, self.seed, self.recipe = model.decoder, seed, recipe or Recipe()
        random = torch.Generator().manual_seed(seed)
        start = DraftHead.random(model.decoder, random, taps=self.recipe.taps, layers=self.recipe.layers).state()
        self.parameters = {name: weight.clone().requires_grad_() for name, weight in start.items()}
        self.head = DraftHead.from_state(model.decoder, self.parameters)
        self.adam = Adam(self.parameters, betas=BETAS, decay=DECAY)
        self.course = Course()

    def state(self) -> dict[str, Tensor]:
        """Weights and the optimiser's moments, for a checkpoint."""
        return self.parameters | self.adam.state()

    def restore(self, state: Mapping[str, Tensor], course: Mapping[str, Any]) -> None:
        """Take back what `state` and the course's values gave."""
        self.course = Course(**course)
        with torch.no_grad():
            for name, weight in self.parameters.items():
                weight.copy_(state[name])
        self.adam.restore(state, self.course.step)

    def learn(
        self, examples: Sequence[Example], vocabulary: Vocabulary, share: float, random: torch.Generator
    ) -> float:
        """One step over a batch; the first token's mean loss of a slot.

        `share` of the time has passed; it sets the learning rate and whether chains are learned.
        """
        states = mixed_states(examples, self.recipe.taps, random)
        embedded = self.decoder.embed(padded([example.ids for example in examples]))
        going_on = torch.randperm(len(examples), generator=random)[: math.ceil(LATER * len(examples))]
        found = unroll(self.head, embedded, states, self.recipe.steps_at(share), going_on)
        slots = self._slots(examples, going_on)[: len(found)]
        predicted = torch.cat([values[chosen] for values, chosen in zip(found, slots, strict=True)])
        top_ids, probabilities = (_over(slots, going_on, [getattr(one, name) for one in examples]) for name in _TOPS)
        places = vocabulary.place[top_ids.long()]
        losses, gradient = distil(predicted.detach(), places, probabilities, vocabulary.columns(random))
        torch.autograd.backward(predicted, gradient * self._weights(slots))
        torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), CLIP)
        self.adam.step(RATE * rate_at(share))
        self.course.step += 1
        return float(losses[: int(slots[0].sum())].mean())

    def _slots(self, examples: Sequence[Example], going_on: Tensor) -> list[Tensor]:
        """Which slots each step learns from, [b, n] of the first and [c, n] of the others: all that count."""
        counted = padded([example.learned if self.recipe.prompts else example.drafted for example in examples])
        later = counted[going_on]
        true = torch.arange(counted.shape[1])
        return [counted, *(later & (true >= step) for step in range(1, len(self.recipe.weights)))]

    def _weights(self, slots: Sequence[Tensor]) -> Tensor:
        """What each row of the loss counts, [n, 1]: each step's mean, weighted."""
        counts = [int(chosen.sum()) for chosen in slots]
        weights = [torch.full((n, 1), w / max(n, 1)) for w, n in zip(self.recipe.weights, counts, strict=False)]
        return torch.cat(weights)

    def weights(self) -> dict[str, Tensor]:
        """The head's weights alone."""
        return {name: weight.detach().clone() for name, weight in self.parameters.items()}


_TOPS = ("top_ids", "top_probabilities")


def _over(slots: Sequence[Tensor], going_on: Tensor, values: Sequence[Tensor]) -> Tensor:
    """Each text's values [n, …] at the slots that each step learns from, one after the other."""
    whole = padded(values)
    later = whole[going_on]
    return torch.cat([(later if step else whole)[chosen] for step, chosen in enumerate(slots)])


def rate_at(share: float) -> float:
    """The learning rate's factor when `share` of the time has passed."""
    if share < WARM_UP:
        return max(share / WARM_UP, 0.01)
    along = (share - WARM_UP) / (1 - WARM_UP)
    return LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * along))


def mixed_states(examples: Sequence[Example], taps: bool, random: torch.Generator) -> Tensor:
    """States of a batch as training feeds them, [b, n, (t + 1) d]: some features of a late layer, noise on all."""
    full = padded([example.features for example in examples]).float()
    early = padded([example.early for example in examples]).float()
    chosen = torch.rand(full.shape[:2], generator=random) < EARLY
    mixed = torch.where(chosen[..., None], early, full)
    if taps:
        mixed = torch.cat([padded([example.taps.flatten(1) for example in examples]).float(), mixed], -1)
    return mixed.add_(torch.rand(mixed.shape, generator=random).mul_(2 * NOISE).sub_(NOISE))
