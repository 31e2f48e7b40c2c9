"""Colours, and nothing else: two themes of roles, and a palette for exit layers, cividis unless another is chosen.

The first window needs the themes, and NumPy takes its time to import; so only exit layers' colours ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication

from core.report.exit_colours import ExitPalette, steps_of

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


DARK = Theme(
    name="dark",
    window="#16181d",
    surface="#1e2128",
    raised="#262a33",
    line="#2c313a",
    text="#e6e8ec",
    muted="#9aa3b2",
    accent="#5aa9ff",
    on_accent="#0d1117",
    caution="#f2b84b",
    wrong="#ff7a70",
    right="#58c48d",
    selection="#2d4a6e",
)
LIGHT = Theme(
    name="light",
    window="#f4f5f7",
    surface="#ffffff",
    raised="#f4f5f7",
    line="#dde1e7",
    text="#1b1f26",
    muted="#5c6675",
    accent="#0b62c4",
    on_accent="#ffffff",
    caution="#8d6004",  # a tenth darker than designed: as small text it was too faint on window and raised
    wrong="#c0362c",
    right="#1a7f4b",
    selection="#d6e6fb",
)


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
