"""The predictor inspector in its panel: everything that takes longer than a frame is computed in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.failure import Failure, describe
from app.title_words import token_words
from app.tools.inspector_words import NO_AUDIT, NO_TOKEN, layer_to_inspect, why_nothing, why_uninspected
from app.tools.newest import STOP, Newest, Told, stopped, under_way, watching
from app.tools.tool import NO_RUN, Tool
from core.analysis.calibration import Judgements, Label, calibration, curves, judgements, place_of
from core.analysis.inspector import Inspection, inspect
from core.analysis.recorded_parts import from_record
from core.errors import UserError
from core.exits.predictors import PredictorBank
from core.trace.events import FloatArray, IntArray
from core.trace.frozen import frozen
from core.trace.reading import ReadableTrace
from widgets.calibration_view import WAITING
from widgets.calibration_words import Quality
from widgets.inspector_view import InspectorView
from widgets.palette import Theme
from widgets.selection import Selection

EVERY = 64
"""Tokens after which a run under way is judged again."""
AT_ONCE = 2048
"""Tokens of a long run that are judged first: less than a second's work."""
Weights = Callable[[], Mapping[str, FloatArray] | None]


class InspectorTool(Tool):
    """One judgement taken apart, and the quality of its layer's predictor."""

    def build(self) -> QWidget:
        self.view = InspectorView()
        self.layer: int | None = None
        self.bank: PredictorBank | None = None
        self.judged: Judgements | None = None
        self._of: ReadableTrace | None = None
        self._gathered = (0, False)
        """How many tokens were judged last, and whether the run had ended."""
        self._is_partial = False
        """Whether only the first tokens were judged, those of a long run."""
        self._is_stopped = False
        """Whether the user wants no more tokens judged."""
        self._bank_known = False
        self._inspecting, self._gathering, self._summing = Newest(self), Newest(self), Newest(self)
        self._inspecting.done.connect(self._take_inspection)
        self._inspecting.slow.connect(self._tell_of_wait)
        self._gathering.done.connect(self._take_judgements)
        self._gathering.slow.connect(self._tell_of_gathering)
        self._gathering.progressed.connect(self._tell_progress)
        self._summing.done.connect(self._take_quality)
        self.view.quality.asked.connect(self._sum_up)
        self.view.quality.tokens_chosen.connect(self._highlight)
        self.view.quality.token_wanted.connect(self._select)
        self.view.quality.link_chosen.connect(self._follow)
        return self.view

    def draw(self, first: int | None) -> str | None:
        trace = self.trace
        if trace is not self._of:
            self._begin(trace)
        missing = NO_RUN if trace is None else why_nothing(trace)
        if trace is None or missing:
            self.panel.set_subtitle("")
            return missing
        if first is not None:
            self._gather(trace)
        self._inspect(trace)
        return None

    def apply_theme(self, theme: Theme) -> None:
        self.view.apply_theme(theme)

    def close(self) -> None:
        for one in (self._inspecting, self._gathering, self._summing):
            one.close()

    @property
    def is_busy(self) -> bool:
        """Whether something is being computed."""
        return any(one.is_busy for one in (self._inspecting, self._gathering, self._summing))

    def _begin(self, trace: ReadableTrace | None) -> None:
        """Another run is on show."""
        for one in (self._inspecting, self._gathering, self._summing):
            one.cancel()
        self._of, self._gathered = trace, (0, False)
        self.bank, self._bank_known, self.judged, self.layer = None, False, None, None
        self._is_partial = self._is_stopped = False
        self.view.quality.set_note("")
        self.view.quality.show_quality(None, "")  # a bin holds tokens of the run before
        self.view.show_inspection(None)

    # ---- one judgement --------------------------------------------------------------------------------------------

    def _inspect(self, trace: ReadableTrace) -> None:
        token = self.selection.token
        if token is None or token >= len(trace.records):
            self._explain(None, NO_TOKEN)
            return
        record = trace.records[token]
        before, self.layer = self.layer, layer_to_inspect(record, self.selection.layer)
        self.panel.set_subtitle(f"{token_words(record)} · layer {self.layer + 1}")
        if self.layer != before:
            self._sum_up()
        if sentence := why_uninspected(trace, record, self.layer):
            self._explain(None, sentence)
        elif self._bank_known and self.bank is None:
            self._explain(None, "")
        else:
            self._ask_inspection(trace, token, self.layer)

    def _ask_inspection(self, trace: ReadableTrace, token: int, layer: int) -> None:
        assert trace.started is not None, "a tool's trace has begun"
        try:
            weights = self.work.files.library.weights_of(trace.started.run)
        except UserError as error:
            self._explain(None, describe(error).sentence)
            return
        work = partial(_inspected, frozen(trace), self.bank, weights, token, layer)
        self._inspecting.ask((trace, token, layer), work)

    @Slot()
    def _tell_of_wait(self) -> None:
        if self.view.is_empty:
            self._explain(None, INSPECTING)

    @Slot(object, object)
    def _take_inspection(self, key: tuple[ReadableTrace, int, int], outcome: _Inspected | Failure) -> None:
        if key[0] is not self._of:
            return
        if isinstance(outcome, Failure):
            self._explain(None, outcome.sentence)
            return
        self.bank, found = outcome
        self._bank_known = True
        self._explain(found, "")

    def _explain(self, found: Inspection | None, sentence: str) -> None:
        self.view.show_inspection(found, sentence or NO_PREDICTORS)

    # ---- the layer's quality --------------------------------------------------------------------------------------

    def _gather(self, trace: ReadableTrace) -> None:
        """Judge the run again, unless it is under way and has only grown a little."""
        count, ended = trace.emitted_count, trace.ended is not None
        if not trace.overview.audited.any():
            self.view.quality.show_quality(None, NO_AUDIT)
        elif self._is_stopped:
            return
        elif (count, ended) != self._gathered and (ended or count - self._gathered[0] >= EVERY or self.judged is None):
            self._gathered = (count, ended)
            first = AT_ONCE if ended and self.judged is None and count > 2 * AT_ONCE else None
            self._gathering.ask((trace, first), partial(_judged, frozen(trace), first))

    @Slot(object, object)
    def _take_judgements(self, key: tuple[ReadableTrace, int | None], outcome: Judgements | Failure) -> None:
        trace, last = key
        if trace is not self._of:
            return
        self.view.quality.set_note("")
        if isinstance(outcome, Failure):
            self._is_partial = False
            self.view.quality.show_quality(None, outcome.sentence)
            return
        self.judged, self._is_partial = outcome, last is not None
        self._sum_up()
        if last is not None:
            self._gathering.ask((trace, None), partial(_judged, frozen(trace), None))
            self._tell_progress(last - 1)

    @Slot()
    def _tell_of_gathering(self) -> None:
        if self.judged is None:
            self.view.quality.show_quality(None)

    @Slot(int)
    def _tell_progress(self, token: int) -> None:
        if self._of is None or not self._gathering.is_busy:  # words of what was stopped may come late
            return
        words = under_way("The audited tokens are being gathered", token + 1, self._of.emitted_count)
        if self._is_partial:
            self.view.quality.set_note(words)
        elif self.judged is None and self._gathering.is_slow:
            self.view.quality.show_quality(None, words)

    @Slot(str)
    def _follow(self, link: str) -> None:
        """Stop gathering, however the run grows, or begin again."""
        self._is_stopped = link == STOP
        if self._is_stopped:
            self._gathering.cancel()
            self._say(stopped("Gathering the audited tokens"))
        elif self._of is not None:
            self._gathered = (0, False)
            self._say(WAITING)
            self._gather(self._of)

    def _say(self, words: str) -> None:
        """Beside the numbers of the first tokens, where there are some."""
        if self._is_partial:
            self.view.quality.set_note(words)
        else:
            self.view.quality.show_quality(None, words)

    @Slot()
    def _sum_up(self) -> None:
        """Sum the judgements up for the layer, label and tokens that are wanted now."""
        trace, quality = self._of, self.view.quality
        if self.judged is None or self.layer is None or trace is None or trace.started is None:
            return
        if self.layer >= trace.depth - 1:
            quality.show_quality(None, "The last layer has no predictor.")
            return
        threshold = trace.started.settings.threshold_at(self.layer)
        key = (self.layer, quality.label, quality.asked_only)
        self._summing.ask(key, partial(_quality, self.judged, *key, threshold))

    @Slot(object, object)
    def _take_quality(self, key: tuple[int, Label, bool], outcome: Quality | Failure) -> None:
        if isinstance(outcome, Failure):
            self.view.quality.show_quality(None, outcome.sentence)
        elif key[0] == self.layer:
            empty = "None of the tokens asked this predictor." if key[2] else "No audited token has a score here."
            self.view.quality.show_quality(outcome if outcome.tokens else None, empty)

    @Slot(object, str)
    def _highlight(self, tokens: IntArray, name: str) -> None:
        self.work.views.set_highlight(tokens, name)

    @Slot(int)
    def _select(self, token: int) -> None:
        self.selected.emit(Selection(token, self.layer))


INSPECTING = "The judgement is being taken apart…"
NO_PREDICTORS = (
    "This recording holds no predictors, so a judgement cannot be taken apart. Runs of the program’s own keep them; an "
    "imported one may not."
)
_Inspected = tuple[PredictorBank | None, Inspection | None]


def _inspected(
    trace: ReadableTrace,
    bank: PredictorBank | None,
    weights: Weights,
    token: int,
    layer: int,
    _cancel: threading.Event,
    _told: Told,
) -> _Inspected:
    bank = bank or from_record(weights())[0]
    return bank, inspect(trace, bank, token, layer) if bank is not None else None


def _judged(trace: ReadableTrace, last: int | None, cancel: threading.Event, told: Told) -> Judgements:
    return judgements(trace, watching(cancel, told), last)


def _quality(
    judged: Judgements,
    layer: int,
    label: Label,
    asked_only: bool,
    threshold: float,
    _cancel: threading.Event,
    _told: Told,
) -> Quality:
    of_layer = judged.of_layer(layer, label, asked_only=asked_only)
    found = curves(of_layer)
    return Quality(layer, calibration(of_layer), found, place_of(found, threshold), threshold)
