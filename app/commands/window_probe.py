"""The window's bench from inside: opens the real window, lets it load and generate, and times the GUI thread.

Imports no more at first than a launch does: the first paint is one of the figures.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QSettings, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app.application import make_application, open_window
from app.commands import fitting
from app.failure import Failure, describe
from app.loader import LoadedSummary
from app.model_form import LoadOptions
from app.opening import Opening
from app.run_state import RunState
from app.settings import Preferences
from app.state_folder import STATE_VARIABLE
from core.choices import DType, Policy
from core.config import RunSettings

if TYPE_CHECKING:
    from app.commands.window_watch import Watch
    from app.workbench import Workbench

TICK_MS = 16
WORST = 5
CYCLE_TOKENS = 16
"""Generated in each of the cycles that look for growing memory."""


class GapMeter(QObject):
    """Measures how long the GUI thread keeps a precise 16 ms timer waiting."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._gaps: list[float] = []
        self._last = perf_counter()
        self._timer = QTimer(self, interval=TICK_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Forget what was measured and begin again."""
        self._gaps = []
        self._last = perf_counter()
        self._timer.start()

    def take(self) -> list[float]:
        """Stop; the gaps since `start` in milliseconds, the unfinished last one included."""
        self._tick()
        self._timer.stop()
        return self._gaps

    @Slot()
    def _tick(self) -> None:
        now = perf_counter()
        self._gaps.append((now - self._last) * 1000)
        self._last = now


class Probe(QObject):
    """Takes the window through first paint, loading, rest and one run after the other, and quits."""

    def __init__(self, opening: Opening, wanted: dict[str, Any]) -> None:
        super().__init__(opening)
        self.failure: Failure | None = None
        self.figures: dict[str, Any] = {"platform": QApplication.platformName(), "tokens": 0}
        self._opening, self._wanted = opening, wanted
        self._prompts = list(wanted["prompts"])
        self._speeds: list[float] = []
        self._meter = GapMeter(self)
        self._settings = RunSettings()
        self._watch: Watch | None = None
        opening.window.shown.connect(self._painted)
        opening.ready.connect(self._attach)

    @Slot()
    def _painted(self) -> None:
        self.figures["first_paint_s"] = time.time() - self._wanted["started_at"]
        self._meter.start()

    @Slot(object)
    def _attach(self, workbench: Workbench) -> None:
        self.figures["ready_s"] = time.time() - self._wanted["started_at"]
        self._session = workbench.session
        self._session.model_changed.connect(self._loaded)
        self._session.state_changed.connect(self._moved)
        self._session.failed.connect(self._failed)

    @Slot(object)
    def _loaded(self, summary: LoadedSummary) -> None:
        gaps = sorted(self._meter.take(), reverse=True)
        self.figures |= {"load_stall_ms": gaps[0], "load_stalls_ms": gaps[:WORST]}
        info = summary.info
        self._settings = settings_for(summary, self._wanted["max_new_tokens"])
        self.figures |= {"model": info.name, "dtype": info.dtype, "threads": info.threads}
        self.figures["policy"] = self._settings.policy.value
        QTimer.singleShot(self._wanted["settle_ms"], self._rest)

    @Slot()
    def _rest(self) -> None:
        self._meter.start()
        QTimer.singleShot(self._wanted["rest_ms"], self._rested)

    @Slot()
    def _rested(self) -> None:
        from app.commands.window_scrub import idle_cpu
        from app.commands.window_watch import Watch

        gaps = self._meter.take()
        self.figures |= {"idle_gap_p99_ms": p99(gaps), "idle_gap_max_ms": max(gaps)}
        self.figures["idle_cpu"] = idle_cpu(self._wanted["rest_ms"])
        self._watch = Watch()
        self._meter.start()
        self._run_next()

    @Slot()
    def _run_next(self) -> None:
        if self._prompts:
            self._session.run(self._prompts.pop(0), self._settings)
        else:
            self._finish()

    @Slot(object)
    def _moved(self, state: RunState) -> None:
        from core.analysis.summaries import tokens_per_second

        trace = self._session.trace
        if state is not RunState.FINISHED or trace is None:
            return
        self.figures["tokens"] += trace.emitted_count
        self._speeds.append(tokens_per_second(trace) or 0.0)
        QTimer.singleShot(0, self._run_next)

    def _finish(self) -> None:
        import statistics

        gaps = self._meter.take()
        self.figures |= {"gap_p99_ms": p99(gaps), "gap_max_ms": max(gaps), "gaps": len(gaps)}
        self._take_watch()
        self.figures["tokens_per_second"] = statistics.median(self._speeds)
        self._session.state_changed.disconnect(self._moved)
        try:
            self._measure_long()
        except Exception as error:  # told where the process ends; anything less would leave it waiting
            self.failure = describe(error)
        self._opening.window.close()
        QApplication.quit()

    def _take_watch(self) -> None:
        """What came of the machine itself meanwhile."""
        assert self._watch is not None, "it is begun before the first run"
        gaps, stolen = self._watch.take()
        self.figures |= {"watch_gap_p99_ms": p99(gaps), "watch_gap_max_ms": max(gaps), "stolen": stolen}

    def _measure_long(self) -> None:
        from app.commands.window_scrub import Effort, LongSession

        work = self._opening.workbench
        assert work is not None, "it told that it is ready"
        settings = replace(self._settings, max_new_tokens=min(CYCLE_TOKENS, self._settings.max_new_tokens))
        with tempfile.TemporaryDirectory() as folder:
            effort, prompt = Effort(**self._wanted["long"]), self._wanted["prompts"][0]
            self.figures |= LongSession(work, Path(folder), effort, prompt, settings).measure()
            work.files.close()  # before its folder goes

    @Slot(object)
    def _failed(self, failure: Failure) -> None:
        self.failure = failure
        QApplication.quit()


def settings_for(summary: LoadedSummary, max_new_tokens: int) -> RunSettings:
    """The defaults, as far as the model goes: dense without parts, M and r no deeper than it is."""
    policy = Policy.SPECEE_T1T2 if summary.has_parts else Policy.DENSE
    return fitting.shrink(RunSettings(policy=policy, max_new_tokens=max_new_tokens), summary.info.depth)


def p99(gaps: list[float]) -> float:
    """The 99th percentile, between the two gaps that are nearest to it."""
    ordered = sorted(gaps)
    at = 0.99 * (len(ordered) - 1)
    low, share = int(at), at % 1
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + share * (ordered[high] - ordered[low])


def main(order: str) -> int:
    """Do what the JSON object `order` says and print the figures as one; exit code 2 with a sentence on failure."""
    wanted = json.loads(order)
    with tempfile.TemporaryDirectory() as folder:
        keep_settings_in(folder)
        probe = _measured(wanted)
    if probe.failure is not None:
        print(probe.failure.details or probe.failure.sentence, file=sys.stderr)
        return 2 if probe.failure.user_error else 1
    print(json.dumps(probe.figures))
    return 0


def keep_settings_in(folder: str) -> None:
    """Let this process neither read nor change what the user chose, nor what a crash has left to the user."""
    os.environ[STATE_VARIABLE] = folder
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, folder)


def _measured(wanted: dict[str, Any]) -> Probe:
    application = make_application()
    preferences = Preferences()
    dtype = DType(wanted["dtype"]) if wanted["dtype"] else None
    preferences.load_options = LoadOptions(dtype, wanted["threads"])
    opening = open_window(application, wanted["model"])
    probe = Probe(opening, wanted)
    application.exec()
    opening.close()
    if opening.error is not None:
        raise opening.error
    return probe
