"""Which token is selected: the newest as it comes, until the user chooses another."""

from __future__ import annotations

from core.trace.reading import ReadableTrace
from widgets.selection import Selection


class Following:
    """The selection, and whether it moves with the newest token."""

    def __init__(self) -> None:
        self.selection = Selection()
        self.on = True
        """Whether it moves along."""

    def choose(self, wanted: Selection, trace: ReadableTrace | None, *, held: bool) -> None:
        """Select for the user. The newest token goes on being followed; any other stays until it is let go."""
        count = len(trace.records) if trace is not None else 0
        known = wanted.token is not None and 0 <= wanted.token < count
        self.selection = wanted if known else Selection()
        token, last = self.selection.token, newest(trace, held=held).token
        self.on = token is None or last is None or token >= last

    def follow(self, trace: ReadableTrace | None, *, held: bool) -> None:
        """Move to the newest token, unless the user has chosen another."""
        if self.on:
            self.selection = newest(trace, held=held)

    def begin(self, trace: ReadableTrace | None, *, live: bool) -> None:
        """Another trace is on show: its newest token where more are to come, else its first."""
        self.on = live or trace is None or not trace.emitted_count
        self.selection = Selection() if self.on else Selection(0)


def newest(trace: ReadableTrace | None, *, held: bool) -> Selection:
    """The last emitted token; while held in the middle of the next one, that one and its last layer run."""
    if trace is None:
        return Selection()
    count = trace.emitted_count
    if held and count < len(trace.records):
        layers = trace.records[count].layers_run
        return Selection(count, layers - 1 if layers else None)
    return Selection(count - 1) if count else Selection()
