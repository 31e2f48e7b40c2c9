"""Figures of the run on show, kept up to date from the tail of its trace only.

Recomputing them from the whole trace at each repaint would take longer than a frame once there are thousands of
tokens. Every figure equals the one of `core.analysis.summaries` (a test holds them together).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.analysis.shortlist import shortlist_checks
from core.analysis.summaries import RUNNING_MEAN, ExitSeries, first_decided, outcomes, running_mean
from core.choices import Head
from core.trace.growing import Growing
from core.trace.overview import UNKNOWN, Overview
from core.trace.reading import ReadableTrace
from core.trace.veiled import whole_of

_LAYERS, _SECONDS, _ACTIVE, _SCHEDULES, _AUDITED, _AGREEING, _PASSES, _CHECKS, _MISSES = range(9)
"""Columns of the running sums."""
MOST_READ = 512
"""Records read at once for what no column holds; a long run that is opened goes without."""


class Figures:
    """Exit layers, outcomes and means over the emitted tokens of one trace."""

    def __init__(self) -> None:
        self._whole: ReadableTrace | None = None
        """The run of which tokens are told, with those that are not."""
        self._is_swept = False
        """Whether it had ended when it was taken in: nothing is to come of it."""
        self._count = 0
        self._exit_layers, self._outcomes = Growing(np.int64), Growing(np.uint8)
        self._means = Growing(np.float32)
        self._sums = Growing(np.float64, (9,))
        """Sums over the tokens so far, by column, so that a tail can be taken back."""

    def update(self, trace: ReadableTrace | None, first: int) -> None:
        """Take in the tokens from `first` on; all of them where the trace is another one.

        A veil over a run, or its end, only changes how many tokens are told: a sweep over a long run takes two frames.
        """
        whole = whole_of(trace)
        if whole is not self._whole:
            self._whole, self._is_swept, first = whole, False, 0
        if not self._is_swept:
            self._sweep(whole, min(first, len(self._exit_layers)))
            self._is_swept = whole is not None and whole.ended is not None
        self._count = trace.emitted_count if trace else 0

    def _sweep(self, trace: ReadableTrace | None, first: int) -> None:
        seen = trace.overview if trace else Overview(0)
        if first == len(self._exit_layers) == len(seen):
            return  # nothing is new
        self._exit_layers.replace(first, seen.exit_layers[first:])
        self._outcomes.replace(first, outcomes(trace, first) if trace else [])
        before = self._sums.values[first - 1] if first else np.zeros(9)
        amounts = np.concatenate([_amounts(seen, first), _shortlist(trace, first, len(seen))], 1)
        self._sums.replace(first, before + np.cumsum(amounts, 0))
        reach = max(first - RUNNING_MEAN, 0)
        self._means.replace(first, running_mean(self._exit_layers.values[reach:])[first - reach :])

    @property
    def count(self) -> int:
        """How many tokens are told; all that have been emitted, but for a veil."""
        return self._count

    @property
    def mean_exit_layer(self) -> float | None:
        """Mean layers run of the tokens after the first; None where there are none."""
        return self._after_first(_LAYERS) / self._decided if self._decided > 0 else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens after the first over the time after the first; None where there are none."""
        seconds = self._after_first(_SECONDS)
        return self._decided / seconds if seconds > 0 else None

    @property
    def agreement(self) -> float | None:
        """Share of the audited tokens after the first that full depth gives too; None where nothing was audited."""
        audited = self._after_first(_AUDITED)
        return self._after_first(_AGREEING) / audited if audited else None

    @property
    def acceptance_length(self) -> float | None:
        """τ: tokens after the first a target pass; None where the run decodes no trees."""
        started, passes = self._whole.started if self._whole else None, self._after_first(_PASSES)
        return self._decided / passes if started and started.settings.tree.on and passes else None

    @property
    def active_layers_mean(self) -> float | None:
        """Mean size of the active sets; None where no schedule was made."""
        if not self.count:
            return None
        active, schedules = self._sums.values[self.count - 1, [_ACTIVE, _SCHEDULES]]
        return float(active / schedules) if schedules else None

    @property
    def shortlist_miss_rate(self) -> float | None:
        """Share of the audited checks that a shortlist missed; None where there are none, or they were not read."""
        checks = self._after_first(_CHECKS)
        return self._after_first(_MISSES) / checks if checks > 0 else None

    def exit_series(self) -> ExitSeries:
        """What the exit chart shows."""
        return ExitSeries(
            exit_layers=self._exit_layers.values[: self.count],
            outcomes=self._outcomes.values[: self.count],
            running_mean=self._means.values[: self.count],
            depth=self._whole.depth if self._whole else 0,
        )

    @property
    def _decided(self) -> int:
        """Tokens after the first; of a branch, after those that it was given."""
        return self.count - (first_decided(self._whole) if self._whole else 1)

    def _after_first(self, column: int) -> float:
        sums, decided = self._sums.values[: self.count, column], self._decided
        return float(sums[-1] - sums[-1 - decided]) if decided > 0 else 0.0


def _amounts(seen: Overview, first: int) -> NDArray[np.float64]:
    """What each emitted token from `first` on adds to the sums. Shape [n, 7]."""
    active, audited = seen.active_layers[first:], seen.audited[first:]
    scheduled = active != UNKNOWN
    agreeing = audited & ~seen.wrong[first:]
    columns = (
        seen.exit_layers[first:],
        seen.seconds[first:],
        np.where(scheduled, active, 0),
        scheduled,
        audited,
        agreeing,
        seen.passes[first:] == np.arange(first, len(seen)),
    )
    return np.stack(columns, 1).astype(np.float64)


def _shortlist(trace: ReadableTrace | None, first: int, count: int) -> NDArray[np.float64]:
    """Checks by a shortlist and misses among them of each emitted token from `first` on. Shape [n, 2]."""
    found = np.zeros((count - first, 2))
    if trace is None or trace.started is None or trace.started.settings.check is Head.FULL:
        return found
    if len(found) > MOST_READ:
        return np.full_like(found, np.nan)
    for row, token in zip(found, range(first, count), strict=True):
        checks = shortlist_checks(trace.records[token])
        row[:] = len(checks), sum(checks)
    return found
