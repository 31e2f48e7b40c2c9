"""A recording that is read for what-if bit by bit: its first tokens can be decided anew while the others are read."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from core.analysis.columns import AuditReader
from core.analysis.recorded_parts import from_record
from core.analysis.what_if import Redecider
from core.analysis.what_if_trees import PassReader, TreeRedecider
from core.trace.events import FloatArray, IntArray
from core.trace.reading import ReadableTrace


@dataclass(frozen=True, slots=True)
class Recording:
    """A run as far as it was read, ready to be decided again and again."""

    trace: ReadableTrace
    redecider: Redecider | TreeRedecider
    ranking: IntArray
    """The offline layers that are known, best first."""
    has_predictors: bool
    tokens: int
    """How many of the run's tokens were read."""

    @property
    def is_whole(self) -> bool:
        return self.tokens == self.trace.emitted_count


class RecordingReader:
    """Reads one run, with the predictors that judged it."""

    def __init__(self, trace: ReadableTrace, weights: Mapping[str, FloatArray] | None) -> None:
        """`weights` are the arrays that were kept with the run.

        Raises:
            UserError: the run cannot be decided anew, and why.
        """
        assert trace.started is not None, "only runs that began are read"
        settings = trace.started.settings
        self._trace = trace
        self._bank, self._kept_ranking = from_record(weights)
        self._ranking = trace.started.offline if self._kept_ranking is None else self._kept_ranking
        treed = settings.tree.on and settings.policy.needs_parts
        self._reader = PassReader(trace) if treed else AuditReader(trace)

    @property
    def count(self) -> int:
        """How many tokens were read."""
        return self._reader.count

    @property
    def is_done(self) -> bool:
        return self._reader.is_done

    def read(self, tokens: int, cancel: threading.Event) -> Recording:
        """Read on until so many more tokens are known, or until it is called off; what is known then.

        Raises:
            UserError: some cannot be read, or were not recorded in audit depth.
        """
        until = self.count + tokens
        while not self.is_done and self.count < until and not cancel.is_set():
            self._reader.advance()
        made = self._redecider(self._reader)
        return Recording(self._trace, made, self._ranking, self._bank is not None, self.count)

    def _redecider(self, reader: AuditReader | PassReader) -> Redecider | TreeRedecider:
        if isinstance(reader, AuditReader):
            return Redecider(reader.columns, self._bank, self._kept_ranking)
        return TreeRedecider(self._trace, self._bank, self._kept_ranking, reader)
