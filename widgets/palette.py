"""Colours, and nothing else: two themes of roles, and a palette for exit layers, cividis unless another is chosen.

The first window needs the themes, and NumPy takes its time to import; so only exit layers' colours ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication

from core.report import inks
from core.report.exit_colours import ExitPalette, steps_of
from core.report.inks import Inks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Theme:
    """One colour a role, as `#rrggbb`; never the only carrier of a meaning."""

    name: str
    window: str
    surface: str
    raised: str
    line: str
    text: str
    muted: str
    accent: str
    on_accent: str
    caution: str
    wrong: str
    right: str
    selection: str

    @property
    def candidates(self) -> tuple[str, str, str, str]:
        """Line colours of the k candidates, the drafter's best guess first; each goes with a line style and marker."""
        return self.accent, self.caution, self.right, self.muted


def _theme(name: str, shared: Inks, *, window: str, raised: str, on_accent: str, selection: str) -> Theme:
    """The roles that reports have too, and those that only a window needs."""
    return Theme(
        name=name,
        window=window,
        surface=shared.surface,
        raised=raised,
        line=shared.line,
        text=shared.text,
        muted=shared.muted,
        accent=shared.accent,
        on_accent=on_accent,
        caution=shared.caution,
        wrong=shared.wrong,
        right=shared.right,
        selection=selection,
    )


DARK = _theme("dark", inks.DARK, window="#16181d", raised="#262a33", on_accent="#0d1117", selection="#2d4a6e")
LIGHT = _theme("light", inks.LIGHT, window="#f4f5f7", raised="#f4f5f7", on_accent="#ffffff", selection="#d6e6fb")


def system_theme() -> Theme:
    """The theme that the desktop asks for now; dark where it does not say."""
    scheme = QGuiApplication.styleHints().colorScheme()
    return LIGHT if scheme is Qt.ColorScheme.Light else DARK


_chosen = ExitPalette.CIVIDIS


def use_exit_palette(palette: ExitPalette) -> None:
    """Colour exit layers by this palette from now on; views take it over when they are given their theme again."""
    global _chosen  # one choice for all views, as the user has one pair of eyes
    _chosen = palette


def exit_colour(exit_layer: int, depth: int) -> QColor:
    """The colour from 1 layer run (dark) to `depth` (light)."""
    return QColor(*exit_colours([exit_layer], depth)[0].tolist())


def exit_colours(exit_layers: ArrayLike, depth: int) -> NDArray[Any]:
    """RGB bytes for exit layers 1…depth in the chosen palette. Shape [n] to [n, 3]."""
    import numpy as np

    share = np.clip((np.asarray(exit_layers, float) - 1) / max(depth - 1, 1), 0, 1)
    steps = np.asarray(steps_of(_chosen), float)
    places = np.linspace(0, 1, len(steps))
    parts = [np.interp(share, places, steps[:, part]) for part in range(3)]
    return np.round(np.stack(parts, -1)).astype(np.uint8)
