"""Pictures of a whole run: text, exit layers, scheduler map, K/V map. Each is as high as what it shows needs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.analysis.kv_map import LABELS, KVMap, KVState
from core.analysis.summaries import RUNNING_MEAN, ExitSeries, Outcome, SchedulerMap, TokenChips
from core.report.drawing import NORMAL, SMALL, Drawing, Frame, frame_in, whole_ticks
from core.report.inks import Inks
from core.trace.overview import CellState

WIDTH, HEIGHT = 920, 280
MOST_CELLS = 400
"""Tokens that a map shows; more would be narrower than a line."""
MOST_TOKENS = 2000
"""Tokens that a picture of texts or bars shows."""
MARKS = {
    Outcome.PREFILL: "◦",
    Outcome.FULL_DEPTH: "▪",
    Outcome.REFUSED: "⊘",
    Outcome.WRONG_EXIT: "≠",
    Outcome.GIVEN: "↳",
}
MEANINGS = {
    Outcome.PREFILL: "from the prompt’s own pass",
    Outcome.FULL_DEPTH: "full depth",
    Outcome.REFUSED: "proposed and refused",
    Outcome.WRONG_EXIT: "wrong exit",
    Outcome.GIVEN: "given to the branch",
}
_ADVANCE, _CHIP, _ROW, _GAP = 7.4, 42, 50, 4
"""Pixels: of a narrow character of a monospaced font, of a chip's height, from row to row, between chips."""


def mark_ink(inks: Inks, outcome: Outcome) -> str:
    """The colour that goes with a mark."""
    return {Outcome.REFUSED: inks.caution, Outcome.WRONG_EXIT: inks.wrong}.get(outcome, inks.muted)


def legend_words(outcomes: NDArray[np.uint8]) -> str:
    """The marks that occur, in words."""
    return " · ".join(f"{MARKS[kind]} {MEANINGS[kind]}" for kind in MARKS if kind in outcomes)


def token_figure(chips: TokenChips, inks: Inks, width: int = WIDTH) -> Drawing:
    """The tokens in lines, each over a bar in the colour of its exit layer."""
    chips = replace(chips, texts=chips.texts[:MOST_TOKENS])
    places = list(_flow(chips, width - 24))
    rows = places[-1][1] + 1 if places else 1
    draw = Drawing(width, 40 + rows * _ROW, inks, f"{len(chips.texts)} tokens, coloured by exit layer")
    draw.text(12, 20, f"bar and number: exit layer of {chips.depth} · {legend_words(chips.outcomes)}")
    for at, (x, row, room) in enumerate(places):
        _chip(draw, chips, at, 12 + x, 32 + row * _ROW, room)
    return draw


def _flow(chips: TokenChips, width: float) -> Iterator[tuple[float, int, float]]:
    """Where each chip lies: pixels from the left, row, and its width."""
    x, row = 0.0, 0
    for text in chips.texts:
        room = min(max(_cells(text) * _ADVANCE + 10, 34), width)
        if x + room > width and x > 0:
            x, row = 0.0, row + 1
        yield x, row, room
        x += room + _GAP


def _cells(text: str) -> int:
    """Columns of a monospaced font that a text takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _chip(draw: Drawing, chips: TokenChips, at: int, x: float, y: float, room: float) -> None:
    outcome, layer = Outcome(int(chips.outcomes[at])), int(chips.exit_layers[at])
    draw.rect(x, y, room, _CHIP, draw.inks.line)
    text = chips.texts[at]
    most = int((room - 10) / _ADVANCE)
    shown = text if _cells(text) <= most + 1 else text[: most - 1] + "…"
    draw.text(x + 5, y + 17, shown, ink=draw.inks.text, size=NORMAL)
    draw.text(x + 5, y + 33, f"{layer} {MARKS.get(outcome, '')}".strip(), ink=mark_ink(draw.inks, outcome))
    draw.rect(x, y + _CHIP - 4, room * layer / max(chips.depth, 1), 4, draw.inks.exit_colour(layer, chips.depth))


def exit_figure(series: ExitSeries, inks: Inks, first: int = 0, width: int = WIDTH, height: int = HEIGHT) -> Drawing:
    """A bar a token, as high as the layers it ran, with the running mean and the outcomes' marks."""
    last = min(first + MOST_TOKENS, len(series.exit_layers))
    draw = Drawing(width, height, inks, f"Exit layers of tokens {first + 1} to {last} of {series.depth} layers")
    frame = frame_in(draw, (first + 0.5, last + 0.5), (0, series.depth + 2))
    draw.text(frame.right, 16, f"━ mean of {RUNNING_MEAN} · {legend_words(series.outcomes)}", anchor="end")
    frame.axes(("token", "exit layer"), whole_ticks(first + 1, max(last, first + 1)), whole_ticks(0, series.depth, 6))
    _bars(frame, series, range(first, last))
    known = [at for at in range(first, last) if not np.isnan(series.running_mean[at])]
    draw.curve([(frame.x(at + 1), frame.y(float(series.running_mean[at]))) for at in known], inks.text, width=2)
    return draw


def _bars(frame: Frame, series: ExitSeries, tokens: range) -> None:
    draw, step = frame.drawing, frame.x(2) - frame.x(1)
    for at in tokens:
        x, layer, outcome = frame.x(at + 1), int(series.exit_layers[at]), Outcome(int(series.outcomes[at]))
        height = frame.bottom - frame.y(layer)
        draw.rect(x - step * 0.4, frame.y(layer), step * 0.8, height, draw.inks.exit_colour(layer, series.depth))
        if outcome in MARKS and step >= 4:
            draw.text(x, frame.y(layer) - 3, MARKS[outcome], ink=mark_ink(draw.inks, outcome), anchor="middle", size=9)


def scheduler_figure(
    found: SchedulerMap, inks: Inks, first: int = 0, width: int = WIDTH, height: int = HEIGHT + 60
) -> Drawing:
    """Token by layer: the active sets, strong where the predictor was asked, and how passes ended."""
    states = found.states[first : first + MOST_CELLS]
    draw, frame = _map(states, inks, first, width, height, "Scheduler")
    draw.rect(frame.left, 8, 10, 10, inks.offline)
    draw.rect(frame.left + 66, 8, 10, 10, inks.online)
    draw.text(frame.left + 14, 17, "offline")
    words = "online · thin: not asked · ● early exit · ✕ wrong exit · ■ full depth · ▲ refused"
    draw.text(frame.left + 80, 17, words)
    offline, online = (states & CellState.OFFLINE) > 0, (states & CellState.ONLINE) > 0
    for inside, ink in ((offline, inks.offline), (online & ~offline, inks.online)):
        _stripes(frame, states, inside, first, ink)
    _cells_of(frame, offline & online & ((states & CellState.EVALUATED) > 0), first, inks.online, share=0.4)
    unscheduled = (states & (CellState.OFFLINE | CellState.ONLINE)) == 0
    _cells_of(frame, ((states & CellState.EVALUATED) > 0) & unscheduled, first, inks.muted)
    _endings(frame, states, first)
    return draw


def _map(
    states: NDArray[np.uint8], inks: Inks, first: int, width: int, height: int, name: str
) -> tuple[Drawing, Frame]:
    count, depth = max(len(states), 1), max(states.shape[1], 1)
    draw = Drawing(width, height, inks, f"{name}: tokens {first + 1} to {first + count} by {depth} layers")
    frame = frame_in(draw, (first + 0.5, first + count + 0.5), (0.5, depth + 0.5))
    frame.axes(("token", "layer"), whole_ticks(first + 1, first + count), whole_ticks(1, depth, 6))
    return draw, frame


def _stripes(frame: Frame, states: NDArray[np.uint8], inside: NDArray[np.bool_], first: int, ink: str) -> None:
    """Cells of one set; those whose predictor was not asked are thin, so that they are told apart without colour."""
    asked = (states & CellState.EVALUATED) > 0
    _cells_of(frame, inside & asked, first, ink)
    _cells_of(frame, inside & ~asked, first, ink, share=0.3)


def _cells_of(frame: Frame, cells: NDArray[np.bool_], first: int, ink: str, share: float = 0.9) -> None:
    """A box a stretch of layers, one after the other, of each token."""
    step, high = frame.x(1) - frame.x(0), frame.y(0) - frame.y(1)
    for token, column in enumerate(cells):
        for low, top in _stretches(column):
            x, y = frame.x(first + token + 1) - step * share / 2, frame.y(top + 0.5) + high * (1 - share) / 2
            frame.drawing.rect(x, y, step * share, high * (top - low) - high * (1 - share), ink)


def _stretches(column: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last + 1 of each stretch that is set."""
    edges = np.flatnonzero(np.diff(column.astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _endings(frame: Frame, states: NDArray[np.uint8], first: int) -> None:
    inks, last = frame.drawing.inks, states.shape[1] - 1
    size = 11 if frame.x(1) - frame.x(0) >= 6 else 8
    for token, layer in np.argwhere((states & (CellState.EXITED | CellState.REFUSED)) > 0).tolist():
        state = CellState(int(states[token, layer]))
        if state & CellState.WRONG:
            mark, ink = "✕", inks.wrong
        elif state & CellState.EXITED:
            mark, ink = ("■", inks.muted) if layer == last else ("●", inks.text)
        else:
            mark, ink = "▲", inks.caution
        x, y = frame.x(first + token + 1), frame.y(layer + 1) + size / 3
        frame.drawing.text(x, y, mark, ink=ink, anchor="middle", size=size)


def kv_figure(found: KVMap, inks: Inks, first: int = 0, width: int = WIDTH, height: int = HEIGHT + 60) -> Drawing:
    """Token by layer: which keys and values are held, missing, made up or caught up."""
    states = found.states[first : first + MOST_CELLS]
    draw, frame = _map(states, inks, first, width, height, "K/V map")
    looks = {
        KVState.HELD: (inks.offline, 0.9),
        KVState.SKIPPED: (inks.wrong, 0.3),
        KVState.PROPAGATED: (inks.caution, 0.6),
        KVState.RECOMPUTED: (inks.online, 0.6),
    }
    x = frame.left
    for state, (ink, share) in looks.items():
        _cells_of(frame, states == state, first, ink, share)
        draw.rect(x + 5 - 5 * share, 13 - 5 * share, 10 * share, 10 * share, ink)
        draw.text(x + 14, 17, LABELS[state], size=SMALL)
        x += 30 + 6.5 * len(LABELS[state])
    return draw
