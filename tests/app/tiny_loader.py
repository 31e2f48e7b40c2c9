"""Loads a tiny engine with real parts: its runs are decided by predictors that tell layers apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from app.loader import LoadedEngine, LoadedSummary, ModelRequest
from core.analysis.recorded_parts import to_record
from core.config import RunSettings
from core.engine import RunRequest
from core.progress import Report
from core.trace.events import Event, FloatArray
from core.trace.fork import Fork
from tests.core.recordings import Recorder


class TinyLoader:
    """Gives the engine of a `Recorder`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __call__(self, request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
        engine, parts = self._recorder.engine, self._recorder.parts

        def run(
            prompt: str,
            settings: RunSettings,
            run: int,
            stop: threading.Event,
            clock: Callable[[], float],
            fork: Fork | None = None,
        ) -> Iterator[Event]:
            return engine.run(RunRequest(prompt, settings, run, fork), stop, clock)

        def weights(settings: RunSettings) -> Mapping[str, FloatArray]:
            return to_record(parts.predictors, parts.offline_ranking)

        info = engine.model.info
        summary = LoadedSummary(request, info, True, offline_ranking=parts.offline_ranking, has_chat_template=True)
        return LoadedEngine(summary, run, weights)
