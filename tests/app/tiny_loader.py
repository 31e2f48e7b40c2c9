"""Loads a tiny engine with real parts: its runs are decided by predictors that tell layers apart."""

from __future__ import annotations

import threading

from app.loader import LoadedEngine, LoadedSummary, ModelRequest, ready_to_run
from core.progress import Report
from tests.core.recordings import Recorder


class TinyLoader:
    """Gives the engine of a `Recorder`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __call__(self, request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
        engine, ranking = self._recorder.engine, self._recorder.parts.offline_ranking
        summary = LoadedSummary(request, engine.model.info, True, offline_ranking=ranking, has_chat_template=True)
        return ready_to_run(engine, summary)
