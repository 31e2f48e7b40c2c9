"""The legends in the titles of strip, chart and map: what the run on show cannot have is not named in them."""

from __future__ import annotations

from collections.abc import Mapping

from app.panel import Panel
from app.places import EXITS, SCHEDULER, TOKENS
from app.title_words import unbroken
from core.choices import Record
from core.trace.reading import ReadableTrace
from widgets.exit_chart import ExitChart
from widgets.highlight import BOOKMARK, SIGN
from widgets.palette import Theme
from widgets.scheduler_map import SchedulerMapView
from widgets.token_strip import TokenStrip


class Legends:
    """Short ones: wrong exits, passes and given tokens are named where there may be some."""

    def __init__(self, panels: Mapping[str, Panel]) -> None:
        """`panels` by their keys."""
        self._panels = panels
        self._audited = False
        """Whether the run is recorded in audit depth: only then can exits be known to be wrong."""
        self._branched = False
        """Whether it was given tokens by another one."""
        self.treed = False
        """Whether it decodes token trees."""
        self.bookmarked = False
        """Whether it has bookmarks."""
        self.highlight = ""
        """What the highlighted tokens are."""

    def follow(self, trace: ReadableTrace | None) -> bool:
        """Whether this run has other things to name than the one before."""
        settings = trace.started.settings if trace and trace.started else None
        branched = bool(trace and trace.started and trace.started.branch)
        kind = bool(settings and settings.record is Record.AUDIT), bool(settings and settings.tree.on), branched
        if kind == (self._audited, self.treed, self._branched):
            return False
        self._audited, self.treed, self._branched = kind
        return True

    def show(self, theme: Theme) -> None:
        """Put them into the titles."""
        self._panels[TOKENS.key].set_subtitle(unbroken(self._of_tokens(theme)))
        self._panels[EXITS.key].set_subtitle(unbroken(ExitChart.legend_html(theme, self._audited, self._branched)))
        self._panels[SCHEDULER.key].set_subtitle(unbroken(SchedulerMapView.legend_html(theme, self._audited)))

    def _of_tokens(self, theme: Theme) -> str:
        lit = f'<span style="color:{theme.accent}">{SIGN}</span> {self.highlight} · ' if self.highlight else ""
        kept = f' · <span style="color:{theme.accent}">{BOOKMARK}</span> bookmark' if self.bookmarked else ""
        return lit + TokenStrip.legend_html(theme, self._audited, self.treed, self._branched) + kept
