"""Another theme for what stands in the panels: all of it in one frame takes longer than a frame lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from widgets.palette import DARK, Theme
from widgets.throttle import Throttle


class Dressing:
    """What is in sight is dressed anew panel by panel, one a frame, the rest when it is seen."""

    def __init__(
        self, throttle: Throttle, is_in_sight: Callable[[str], bool], dress: Callable[[str, Theme], None]
    ) -> None:
        """`dress` gives the content of a panel, by its key, a theme."""
        self._throttle, self._is_in_sight, self._put_on = throttle, is_in_sight, dress
        self._theme: Theme = DARK
        self._waiting: set[str] = set()

    def apply(self, theme: Theme, keys: Iterable[str]) -> None:
        """Give the contents of these panels this theme, each in its turn."""
        self._theme = theme
        for key in keys:
            self._waiting.add(key)
            self._throttle.request((key, "theme"), partial(self.see, key))

    def see(self, key: str) -> None:
        """A panel may be in sight now: what it holds gets its theme, if that still waits."""
        if key in self._waiting and self._is_in_sight(key):
            self._waiting.discard(key)
            self._put_on(key, self._theme)
