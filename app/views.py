"""The views of the run, and how they follow the session: one selection, and only the changed tail drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from app.curves_panel import CurvesPanel
from app.dressing import Dressing
from app.figures import Figures
from app.foreseen import Foreseen
from app.hover_notes import sources, wrong_tokens
from app.legends import Legends
from app.pages import Pages
from app.panel import Panel
from app.panel_turns import PanelTurns, Told
from app.places import CURVES, EXITS, SCHEDULER, TOKENS, TREE, VIEWS, WHY, Place
from app.read_ahead import ReadAhead
from app.state_words import nothing_to_show
from app.tree_panel import draw_tree, touches
from app.why_panel import why_words
from core.analysis.summaries import layers_in_flight, scheduler_map, token_chips
from core.trace.events import IntArray
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from core.trace.veiled import shared_tokens
from widgets.exit_chart import ExitChart
from widgets.palette import DARK, Theme
from widgets.plot_base import PlotView
from widgets.probability_curves import ProbabilityCurvesView
from widgets.scheduler_map import SchedulerMapView
from widgets.selection import Selection
from widgets.throttle import Throttle
from widgets.token_plot import TokenPlot
from widgets.token_strip import TokenStrip
from widgets.tree_view import TreeView
from widgets.why_view import WhyView

Marked = TokenStrip | ExitChart | SchedulerMapView | ProbabilityCurvesView | TreeView
View = Marked | WhyView


class Views(QObject):
    """Six panels on one trace and one selection. Nothing can be shown before `build` has come to its end."""

    selected = Signal(object)
    """The `Selection` that a view asks for."""
    figures_changed = Signal()

    def __init__(self, panels: Mapping[str, Panel], parent: QObject | None = None) -> None:
        """`panels` holds an empty one for each of `VIEWS`, by its key."""
        super().__init__(parent)
        self.panels = {place.key: panels[place.key] for place in VIEWS}
        self.figures = Figures()
        self._trace: ReadableTrace | None = None
        self._selection = Selection()
        self._theme: Theme = DARK
        self._legends = Legends(self.panels)
        self._figures_from = 0
        self.throttle = Throttle(self)
        """Who draws when: panels elsewhere in the window may take their turns in it, too."""
        self._pages = Pages(self.panels, self.throttle, self)
        self._read_ahead, self._foreseen = ReadAhead(self), Foreseen()
        self._read_ahead.expected.connect(self._expect)
        self._draw: dict[str, Callable[[int], None]] = {}
        self.by_key: dict[str, View] = {}
        self._turns = PanelTurns(self.throttle, self, lambda key: self._dressing.see(key))
        self._dressing = Dressing(
            self.throttle, self._turns.is_in_sight, lambda key, on: self.by_key[key].apply_theme(on)
        )

    def build(self, theme: Theme) -> Iterator[None]:
        """Make the views in this theme, one a step: all of them at once take several frames."""
        self._theme = theme
        self.tokens = TokenStrip()
        self._add(TOKENS, self.tokens, self._draw_tokens)
        yield
        self.exits = ExitChart()
        self._add(EXITS, self.exits, self._draw_exits)
        yield
        self.scheduler = SchedulerMapView()
        self._add(SCHEDULER, self.scheduler, self._draw_scheduler)
        yield
        self.curves = ProbabilityCurvesView()
        self._add(CURVES, self.curves, self._draw_curves)
        self._curves_panel = CurvesPanel(self.curves, self.panels[CURVES.key], self.throttle, self._foreseen)
        yield
        self.tree = TreeView()
        self._add(TREE, self.tree, self._draw_tree)
        yield
        self.why = WhyView()
        self._add(WHY, self.why, self._draw_why)
        yield
        self.panels[TREE.key].add_action(self.tree.table_action)
        self.panels[WHY.key].add_action(self.why.copy_action)
        self.scheduler.set_sources(lambda token, layer: sources(self._trace, token, layer))
        for noted in (self.tokens, self.exits, self.scheduler):
            noted.set_notes(lambda token: wrong_tokens(self._trace, token))
        self._marked: dict[str, Marked] = {
            TOKENS.key: self.tokens,
            EXITS.key: self.exits,
            SCHEDULER.key: self.scheduler,
            CURVES.key: self.curves,
            TREE.key: self.tree,
        }
        """The views that mark the selection."""
        for view in self._marked.values():
            view.selected.connect(self.selected)
        self._show_legends()

    def warm_up(self) -> Iterator[None]:
        """Have each plot painted once, one a step: a launch has the time, a run's first painting has not."""
        for plot in (self.exits, self.scheduler, self.curves):
            plot.warm_up()
            yield

    def show_trace(self, trace: ReadableTrace | None, first: int, selection: Selection) -> None:
        """Draw the tokens from `first` on again, one panel a frame; everything where the run is another one.

        While the window is calm, only new tokens come to the strip in the next frames. What is drawn of them elsewhere
        is patient, but for the first one, which others' first sight of the run waits for.
        """
        if trace is not self._trace or trace is None:
            first = min(first, shared_tokens(self._trace, trace))
            self._replace(trace)
            self.show_selection(selection, gently=trace is not None)
        self._follow_kind(trace)
        count = self._count()
        for key in self.panels:
            self._turns.ask(key, first, patient=first >= (count if key == TOKENS.key else 1))
        self._figures_from = min(first, self._figures_from)
        self.throttle.request("figures", self._tell_figures, patient=first > 0)

    def show_selection(self, selection: Selection, gently: bool = False, hurried: bool = False) -> None:
        """Mark the selection in every view, and explain it.

        `gently` marks it in each view's own turn, as a run goes on: all of them in one frame take too long for one.
        What the user chose is marked and told of at once. Where that is `hurried`, as the next choice is on its way,
        only what is quickly done is: the rest follows in its turn, with what is newest by then.
        """
        before, self._selection = self._selection.token, selection
        count, token = self._count(), selection.token
        newest = gently and token is not None and 0 < count <= token + 1
        for key, view in self._marked.items():
            if gently:
                self._turns.ask(key, count, patient=newest)
            elif hurried and isinstance(view, TokenPlot) and not view.has_in_view(selection.token):
                self.throttle.request((key, "mark"), partial(self.mark, key))
            elif self._turns.is_in_sight(key):
                view.set_selection(selection)
            else:
                self._turns.ask(key, count)
        for key in (CURVES.key, TREE.key, WHY.key):
            self._turns.ask(key, selection.token or 0, patient=newest)
        if not gently and not hurried:
            for key in (CURVES.key, WHY.key):
                self.throttle.cancel(key)
                self._turns.paint(key)
            self._read_ahead.begin(self._trace, before, selection.token)

    @Slot(int)
    def _expect(self, token: int) -> None:
        for view in (self.tokens, self.exits, self.scheduler):
            view.make_room(token)
        curves = self._foreseen.make(self._trace, Selection(token, self._selection.layer))
        if curves is not None and self._turns.is_in_sight(CURVES.key):
            self.curves.expect(curves)

    def set_highlight(self, tokens: IntArray, name: str) -> None:
        """Mark these 0-based tokens, ascending, in strip and chart; `name` tells in the legend what they are."""
        for view in (self.tokens, self.exits):
            view.set_highlight(tokens)
        if name != self._legends.highlight:
            self._legends.highlight = name
            self._show_legends()

    def set_bookmarks(self, tokens: Sequence[int]) -> None:
        """Mark these 0-based tokens of the run on show as bookmarked."""
        self.tokens.set_bookmarks(tokens)
        if bool(tokens) != self._legends.bookmarked:
            self._legends.bookmarked = bool(tokens)
            self._show_legends()

    def set_empty(self, sentences: dict[str, str] | None) -> None:
        """Show a sentence in place of each view; None shows the views.

        Where there is a run each panel changes in its turn; while it reads its prompt at full speed, a while later.
        """
        wanted = {key: sentences[key] if sentences else nothing_to_show(key, self._trace) for key in self.panels}
        self._pages.turn(wanted, in_turns=self._trace is not None, patient=self.keeps(WHY.key))

    def set_calm(self, on: bool) -> None:
        """Whether a run goes on at full speed: what it changes is then drawn as often as it can be read."""
        self.throttle.set_calm(on)
        self._turns.ask_again(patient=on)

    def apply_theme(self, theme: Theme) -> None:
        """Repaint legends, and views: what is in sight one a frame, the rest when it is seen."""
        self._theme = theme
        self._show_legends()
        self._dressing.apply(theme, self.panels)

    def _follow_kind(self, trace: ReadableTrace | None) -> None:
        """Name in the legends what this run may have, and show the panel that is made for it."""
        treed = self._legends.treed
        if not self._legends.follow(trace):
            return
        if self._legends.treed is not treed:
            self.panels[(CURVES if treed else TREE).key].bring_forward()
        self._show_legends()

    def _show_legends(self) -> None:
        self._legends.show(self._theme)
        for key in (CURVES.key, TREE.key):
            self._turns.ask(key, self._selection.token or 0)

    @property
    def is_idle(self) -> bool:
        """Whether everything asked for is drawn."""
        return self.throttle.idle and self._pages.idle

    def flush(self) -> None:
        """Draw now what is waiting."""
        self._pages.hurry()
        while not self.throttle.idle:
            self.throttle.flush()

    def _add(self, place: Place, view: View, draw: Callable[[int], None]) -> None:
        view.apply_theme(self._theme)
        panel = self.panels[place.key]
        panel.set_view(view)
        self._draw[place.key], self.by_key[place.key] = draw, view
        self._turns.add(place.key, panel, view)

    def _replace(self, trace: ReadableTrace | None) -> None:
        self._trace = trace
        self._read_ahead.stop()
        self._curves_panel.forget()
        self.throttle.cancel(WHY.key)
        self._update_figures()
        self.set_highlight(np.zeros(0, np.int64), "")  # it was of other tokens
        if not self.keeps(WHY.key):
            self.why.clear()
            for key in (CURVES.key, TREE.key, WHY.key):
                self.panels[key].set_subtitle("")
        if trace is None:  # another trace is drawn from its start, each view in its turn; clearing all takes a frame
            for view in self._marked.values():
                view.clear()

    # What `PanelTurns` asks for

    def draw(self, key: str, first: int) -> None:
        """Draw a panel's tokens from `first` on."""
        if self._trace is not None and self._trace.started is not None:
            self._draw[key](first)

    @property
    def told(self) -> Told:
        """What there is to draw by now."""
        return Told(self._count(), self._selection)

    def mark(self, key: str, told: Told | None = None) -> None:
        """Mark the selection in a panel that can: not yet the newest one where only what was `told` is drawn."""
        token = self._selection.token
        beyond = told is not None and token is not None and token >= told.count
        if key in self._marked:
            self._marked[key].set_selection(told.selection if told is not None and beyond else self._selection)

    def lead(self, key: str) -> Iterator[None]:
        """The exit chart shows figures: to make them is a turn's work."""
        if key == EXITS.key:
            self._update_figures()
            yield

    def keeps(self, key: str) -> bool:
        """Whether a panel keeps what it shows, as a run at full speed has nothing for it yet: no token, or, for the
        curves, none but the first. To be turned to words for a moment and back takes a plot several frames."""
        trace = self._trace
        if not self.throttle.calm or trace is None or trace.started is None or trace.ended is not None:
            return False
        return key != TOKENS.key and (not trace.records or (key == CURVES.key and self._count() == 1))

    def _tell_figures(self) -> None:
        self.throttle.take_turns("figures", self._told_figures())

    def _told_figures(self) -> Iterator[None]:
        self._update_figures()
        yield
        self.figures_changed.emit()

    def _update_figures(self) -> None:
        self.figures.update(self._trace, self._figures_from)
        self._figures_from = self.figures.count

    def _draw_tokens(self, first: int) -> None:
        assert self._trace is not None
        self.tokens.set_chips(token_chips(self._trace, first, self._turns.stop(TOKENS.key, first)))
        self.tokens.set_in_flight(layers_in_flight(self._trace), self._trace.depth)

    def _draw_exits(self, first: int) -> None:
        assert self._trace is not None
        self._update_figures()
        self.exits.set_growing(self._pace(self.exits))
        self.exits.set_series(self.figures.exit_series(), first)

    def _pace(self, plot: PlotView) -> bool:
        """Whether the run grows: each plot is then painted in its turn."""
        growing = self._trace is not None and self._trace.ended is None
        plot.paint_apart(growing)
        return growing

    def _draw_scheduler(self, first: int) -> None:
        assert self._trace is not None
        self.scheduler.set_growing(self._pace(self.scheduler))
        self.scheduler.set_map(scheduler_map(self._trace, first, self._turns.stop(SCHEDULER.key, first)))

    def _draw_curves(self, first: int) -> None:
        if self._trace is None or (record := self._record()) is None:
            self._curves_panel.clear()
        elif record.token >= first:
            self._pace(self.curves)
            self._curves_panel.draw(self._trace, record, self._selection.node, self._theme)

    def _draw_tree(self, first: int) -> None:
        record = self._record()
        if self._trace is not None and (record is None or touches(record, first)):
            draw_tree(self.tree, self.panels[TREE.key], self._trace, record, self._theme)

    def _draw_why(self, first: int) -> None:
        if self._trace is not None:
            self.throttle.take_turns(WHY.key, self._told_why(self._trace))

    def _told_why(self, trace: ReadableTrace) -> Iterator[None]:
        text, words = self._foreseen.why(trace, self._selection), why_words(self._record(), self._selection)
        self.why.set_text(text)
        yield
        self.panels[WHY.key].set_subtitle(words)

    def _count(self) -> int:
        return self._trace.emitted_count if self._trace is not None else 0

    def _record(self) -> TokenRecord | None:
        token = self._selection.token
        if self._trace is None or token is None or token >= len(self._trace.records):
            return None
        return self._trace.records[token]
