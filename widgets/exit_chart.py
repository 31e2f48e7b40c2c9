"""Exit layers over tokens: a bar a token, their running mean, and how each pass ended."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np
from PySide6.QtWidgets import QWidget

from core.analysis.summaries import RUNNING_MEAN, ExitSeries, Outcome
from core.trace.events import IntArray
from widgets.exit_items import Bars, MeanLine, OutcomeMarks
from widgets.highlight import FootMarks
from widgets.layer_columns import LayerColumns
from widgets.palette import Theme

NO_TOKENS = "Each token's exit layer appears here as it is generated."

OUTCOME_TEXTS = {
    Outcome.PREFILL: "from the prompt's pass, always full depth",
    Outcome.EARLY_EXIT: "early exit",
    Outcome.FULL_DEPTH: "full depth: no exit was proposed",
    Outcome.REFUSED: "full depth: an exit was proposed and refused",
    Outcome.WRONG_EXIT: "wrong exit: full depth gives another token",
    Outcome.GIVEN: "given to the branch: nothing was decided",
}


class ExitChart(LayerColumns):
    """Bars of exit layers 1…L in cividis, the running mean, a dashed line at L, and marks above the bars."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Exit layers over tokens", "layer", parent)
        self.series = _EMPTY
        self._notes: Callable[[int], str] | None = None
        self.bars, self.marks = Bars(), OutcomeMarks()
        self.mean, self.highlight = MeanLine(), FootMarks()
        for depth, item in enumerate((self.bars, self.mean, self.marks, self.highlight)):
            self.add(item, depth)
        self.apply_theme(self.theme)
        self.clear()

    @staticmethod
    def legend_html(theme: Theme, audited: bool = False, branch: bool = False) -> str:
        """The panel's subtitle; only an audit can tell wrong exits, and only a branch was given tokens."""
        given = " &nbsp;↳ given" if branch else ""
        wrong = f' &nbsp;<span style="color:{theme.wrong}">≠</span> wrong' if audited else ""
        return (
            f'<span style="color:{theme.text}">━</span> mean of {RUNNING_MEAN} &nbsp;▪ full depth &nbsp;'
            f'<span style="color:{theme.caution}">⊘</span> refused{wrong}{given}'
        )

    def set_notes(self, notes: Callable[[int], str]) -> None:
        """Ask this which two tokens a wrong exit of a 0-based token was about, for the hover."""
        self._notes = notes

    def set_highlight(self, tokens: IntArray) -> None:
        """Mark the bars of these 0-based tokens, ascending, and no others."""
        self.highlight.set_tokens(tokens)

    def set_series(self, series: ExitSeries, first: int = 0) -> None:
        """Show these exits; tokens before the 0-based `first` are as they were, and need no painting."""
        before, self.series = self.series, series
        count = len(series.exit_layers)
        self.set_message(NO_TOKENS if count == 0 else None)
        if series.depth != before.depth or series is _EMPTY:  # an axis that is set anew is painted anew
            self.set_depth(series.depth)
        for item in (self.bars, self.mean, self.marks):
            item.set_series(series, first)
        self.set_count(count)
        if count:
            self.describe(summary(series))
        self.refresh_hover()

    def clear(self) -> None:
        """Show no tokens."""
        self.set_series(_EMPTY)

    def readout(self, x: float, y: float) -> str | None:
        token = self.token_at(x)
        if token is None:
            return None
        series = self.series
        mean = series.running_mean[token]
        average = "" if np.isnan(mean) else f"<br>mean of the last {RUNNING_MEAN}: {mean:.1f}"
        return (
            f"<b>token {token + 1} · exit layer {series.exit_layers[token]}</b> of {series.depth}"
            f"<br>{self._outcome_words(token)}{average}"
        )

    def _outcome_words(self, token: int) -> str:
        outcome = Outcome(int(self.series.outcomes[token]))
        told = self._notes(token) if self._notes and outcome is Outcome.WRONG_EXIT else ""
        return f"wrong exit: {html.escape(told)}" if told else OUTCOME_TEXTS[outcome]


def summary(series: ExitSeries) -> str:
    """The chart in a sentence."""
    layers, outcomes = series.exit_layers, series.outcomes
    wrong = int((outcomes == Outcome.WRONG_EXIT).sum())
    early = int((outcomes == Outcome.EARLY_EXIT).sum()) + wrong
    refused = int((outcomes == Outcome.REFUSED).sum())
    own = layers[1:][outcomes[1:] != Outcome.GIVEN]
    mean = f", mean exit layer {own.mean():.1f} of {series.depth}" if len(own) else ""
    return (
        f"{_counted(len(layers))}{mean}; {early} left early{f', {wrong} of them wrongly' if wrong else ''}, "
        f"{refused} ran to full depth after a refused exit."
    )


def _counted(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


_EMPTY = ExitSeries(np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.float32), 0)
