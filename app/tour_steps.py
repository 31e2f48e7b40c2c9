"""What the tour shows: a panel, what is selected meanwhile, and a few sentences. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.places import CURVES, EXITS, SCHEDULER, TOKENS, WHAT_IF, WHY, Place
from core.analysis.summaries import Outcome, outcomes
from core.trace.reading import ReadableTrace


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of the tour."""

    place: Place
    text: str
    """Minimal HTML."""
    outcome: Outcome = Outcome.EARLY_EXIT
    """Of the token that is selected meanwhile, where the run has one."""


STOPS = (
    Stop(
        TOKENS,
        "This run was recorded: nothing is computed now. Each chip is a token, and the number below it tells after how "
        "many of the model’s layers it <b>left</b>. The one that is selected left early. Click any other: all panels "
        "follow.",
    ),
    Stop(
        EXITS,
        "One bar a token, as high as the layers that it ran. What a bar lacks up to the dashed line was <b>saved</b>. "
        "≠ is a token that full depth would have given otherwise, ⊘ one that wanted to leave and was not let go.",
    ),
    Stop(
        SCHEDULER,
        "Asking a predictor costs time, so only some layers are <b>watched</b>: those where tokens often leave (upper "
        "half of a cell) and those near the last exits (lower half). ● is where a token left.",
    ),
    Stop(
        CURVES,
        "A small drafter guessed four tokens before. Here they run against each other, layer after layer. When <b>one "
        "rises and the others stay low</b>, the predictor’s score below passes its threshold and proposes an exit.",
    ),
    Stop(
        WHY,
        "The same in words, for the selected token. This one wanted to leave and was <b>refused</b>, or left wrongly: "
        "read why. It can be copied.",
        Outcome.REFUSED,
    ),
    Stop(
        WHAT_IF,
        "Move the <b>threshold</b>: the recording is decided anew at once, without the model. Bars are what would be, "
        "strokes what was. From here: F10 steps, Shift+F1 explains the panel that has the focus, F1 lists all keys, "
        "and Ctrl+Alt+G opens a game of guessing.",
    ),
)


def token_for(trace: ReadableTrace, stop: Stop) -> int | None:
    """The first token whose pass ended as the stop wants it; else the first early or any; None without tokens."""
    ends = outcomes(trace)
    for wanted in (stop.outcome, Outcome.EARLY_EXIT):
        if (found := np.flatnonzero(ends == wanted)).size:
            return int(found[0])
    return 0 if len(ends) else None
