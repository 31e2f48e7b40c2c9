"""The course of a training stage as curves: its loss over the steps, and its hit rates on held-out prompts."""

from __future__ import annotations

from collections.abc import Mapping

MOST = 1200
"""Points of the loss that are kept: more than a plot is wide; beyond that neighbours are joined."""


class TrainingCurves:
    """Grows with each report of one stage; its memory stays bounded however many steps there are.

    A stage may train several things one after the other, each from step 1. Its steps are counted on, and `starts` says
    where a new one begins.
    """

    def __init__(self) -> None:
        self.steps: list[float] = []
        """The step of each loss, ascending."""
        self.losses: list[float] = []
        """As long as `steps`; where points were joined, their mean."""
        self.starts: list[float] = []
        """Steps at which something new began to be trained, ascending; the first thing's is left out."""
        self.hits: dict[str, list[tuple[float, float]]] = {"top1": [], "top4": []}
        """By name, step and share 0…1 of held-out tokens whose right token was the first, or among the first four."""
        self._before = self._last = 0.0
        self._stride = self._joined = 1
        """How many losses make a point, and how many the last point has so far."""

    @property
    def is_empty(self) -> bool:
        return not self.steps and not any(self.hits.values())

    @property
    def last_step(self) -> float:
        """The newest step, counted over everything that the stage has trained."""
        return self._before + self._last

    def add(self, figures: Mapping[str, float]) -> None:
        """Take in what a report says, see `core.progress.Progress.figures`; other values are passed over."""
        step = figures.get("step", self._last)
        if step < self._last:
            self._before += self._last
            self.starts.append(self._before + step)
        self._last = step
        if "loss" in figures:
            self._add_loss(figures["loss"])
        for name, points in self.hits.items():
            if name in figures:
                points.append((self.last_step, figures[name]))

    def _add_loss(self, loss: float) -> None:
        if self._joined < self._stride and self.steps:
            self._joined += 1
            self.steps[-1] = self.last_step
            self.losses[-1] += (loss - self.losses[-1]) / self._joined
            return
        if len(self.steps) == MOST:
            self.steps, self.losses = self.steps[1::2], _means_of_pairs(self.losses)
            self._stride *= 2
        self.steps.append(self.last_step)
        self.losses.append(loss)
        self._joined = 1


def _means_of_pairs(values: list[float]) -> list[float]:
    """Each two neighbours as their mean; there is an even number of them."""
    return [(a + b) / 2 for a, b in zip(values[::2], values[1::2], strict=True)]
