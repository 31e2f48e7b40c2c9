"""Views that follow a run, and others that get it at once."""

from __future__ import annotations

import numpy as np
from pytestqt.qtbot import QtBot

from app.panel import Panel
from app.places import CURVES, VIEWS, WHY
from app.views import Views
from core.trace.events import Event, TokenEmitted
from core.trace.trace import Trace
from widgets.palette import DARK
from widgets.selection import Selection
from widgets.throttle import STRIDE

TOKENS_RUN = 14


def two_views(qtbot: QtBot) -> list[Views]:
    """Two sets of views: one that follows a run, one that replays it."""
    both = []
    for _ in range(2):
        views = Views({place.key: Panel(place) for place in VIEWS})
        for panel in views.panels.values():
            qtbot.addWidget(panel)
        for _ in views.build(DARK):
            pass
        for panel in views.panels.values():
            panel.show()
        views.throttle.timer.setInterval(1_000_000)  # the tests are its clock
        both.append(views)
    return both


def shown(views: Views) -> dict[str, object]:
    """What all views show, in values that can be compared."""
    curves, series = views.curves.curves, views.exits.series
    return {
        "strip": (vars(views.tokens._tokens), views.tokens._in_flight),
        "chosen": [view.selection for view in (views.exits, views.scheduler, views.curves)],
        "bars": (series.exit_layers.tolist(), series.outcomes.tolist(), np.nan_to_num(series.running_mean).tolist()),
        "map": views.scheduler.states.tolist(),
        "curves": None if curves is None else (curves.token, curves.layers.tolist(), curves.probabilities.tolist()),
        "why": views.why.text(),
        "titles": [views.panels[key].header.subtitle.text() for key in (CURVES.key, WHY.key)],
        "figures": (views.figures.count, views.figures.mean_exit_layer, views.figures.active_layers_mean),
    }


def grow(views: Views, events: list[Event], trace: Trace, ticks: int = 1) -> None:
    """Bring these events to the views, with some frames after each."""
    for event in events:
        trace.append(event)
        first = getattr(event, "token", trace.emitted_count)
        newest = Selection(trace.emitted_count - 1) if trace.emitted_count else Selection()
        views.show_trace(trace, first, newest)
        if isinstance(event, TokenEmitted):
            views.show_selection(newest, gently=True)
        for _ in range(ticks):
            views.throttle.tick()


def ticks(views: Views) -> None:
    """Frames enough for all that waits."""
    for _ in range(2 * STRIDE * len(VIEWS)):
        views.throttle.tick()
