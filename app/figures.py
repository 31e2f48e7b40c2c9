"""Figures of the run on show, kept up to date from the tail of its trace only.

Recomputing them from the whole trace at each repaint would take longer than a frame once there are thousands of
tokens. Every figure equals the one of `core.analysis.summaries` (a test holds them together).
"""

from __future__ import annotations

import numpy as np

from core.analysis.summaries import ExitSeries, outcome, running_mean
from core.trace.trace import TokenRecord, Trace


class Figures:
    """Exit layers, outcomes and means over the emitted tokens of one trace."""

    def __init__(self) -> None:
        self._trace: Trace | None = None
        self._exit_layers: list[int] = []
        self._outcomes: list[int] = []
        self._seconds: list[float] = []
        """Running sums of the tokens' times, so that a tail can be taken back."""
        self._active: list[int] = []
        """Size of each token's active set; -1 where no schedule was made."""

    def update(self, trace: Trace | None, first: int) -> None:
        """Take in the tokens from `first` on; all of them where the trace is another one."""
        if trace is not self._trace:
            self._trace, first = trace, 0
        first = min(first, len(self._exit_layers))
        for series in (self._exit_layers, self._outcomes, self._seconds, self._active):
            del series[first:]
        if trace is None:
            return
        for record in trace.records[first : trace.emitted_count]:
            self._add(record)

    @property
    def count(self) -> int:
        """How many tokens have been emitted."""
        return len(self._exit_layers)

    @property
    def mean_exit_layer(self) -> float | None:
        """Mean layers run of the tokens after the first; None where there are none."""
        return float(np.mean(self._exit_layers[1:])) if self.count > 1 else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens after the first over the time after the first; None where there are none."""
        seconds = self._seconds[-1] - self._seconds[0] if self.count > 1 else 0.0
        return (self.count - 1) / seconds if seconds > 0 else None

    @property
    def active_layers_mean(self) -> float | None:
        """Mean size of the active sets; None where no schedule was made."""
        sizes = [size for size in self._active if size >= 0]
        return float(np.mean(sizes)) if sizes else None

    def exit_series(self) -> ExitSeries:
        """What the exit chart shows."""
        layers = np.array(self._exit_layers, np.int64)
        return ExitSeries(
            exit_layers=layers,
            outcomes=np.array(self._outcomes, np.uint8),
            running_mean=running_mean(layers),
            depth=self._trace.depth if self._trace else 0,
        )

    def _add(self, record: TokenRecord) -> None:
        if record.emitted is None:
            return
        before = self._seconds[-1] if self._seconds else 0.0
        self._exit_layers.append(record.emitted.exit_layer)
        self._outcomes.append(int(outcome(record)))
        self._seconds.append(before + record.emitted.times.total)
        self._active.append(int(record.schedule.active.sum()) if record.schedule else -1)
