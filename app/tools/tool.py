"""What every panel of the second kind is: made when first seen, drawn when something changed and it is in sight."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from core.trace.reading import ReadableTrace
from widgets.palette import Theme
from widgets.selection import Selection

if TYPE_CHECKING:
    from app.panel import Panel
    from app.workbench import Workbench

NO_RUN = "There is no run to look at yet.\nRun a prompt (F5), or open a session (Ctrl+O)."


class Tool(QObject):
    """One panel's content. `ToolRack` makes it when the panel is first seen, and tells it when to draw.

    A tool only ever reads the session's trace and asks for selections; what it computes for longer than a frame
    belongs into an `app.chore.Chore`.
    """

    selected = Signal(object)
    """The `Selection` that the tool asks for."""

    def __init__(self, work: Workbench, panel: Panel) -> None:
        """`panel` is the tool's own: for its subtitle and the actions of its title bar."""
        super().__init__(panel)
        self.work, self.panel = work, panel

    @property
    def trace(self) -> ReadableTrace | None:
        """The run on show, where it has begun; None where there is none."""
        trace = self.work.session.trace
        return trace if trace is not None and trace.started is not None else None

    @property
    def selection(self) -> Selection:
        return self.work.session.selection

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def build(self) -> QWidget:
        """Make the view; called once, before anything else."""

    @abstractmethod
    def draw(self, first: int | None) -> str | None:
        """Show what there is now; returns the sentence that stands in its place where there is nothing to show.

        Args:
            first: the first token whose record changed since the last time (0 for another trace, too); None where
                only the selection did.
        """

    def apply_theme(self, theme: Theme) -> None:
        """Repaint in another theme."""

    def close(self) -> None:
        """End what is under way; the window is gone."""
