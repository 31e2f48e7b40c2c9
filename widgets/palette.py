"""Colours, and nothing else: two themes of roles, and cividis for exit layers.

The first window needs the themes, and NumPy and pyqtgraph take 0.2 s to import; so only cividis asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication

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


@cache
def _cividis() -> Any:
    """The colour map; pyqtgraph has no types."""
    import pyqtgraph as pg

    return pg.colormap.get("cividis")


def exit_colour(exit_layer: int, depth: int) -> QColor:
    """Cividis from 1 layer run (dark blue) to `depth` (yellow)."""
    return QColor(*exit_colours([exit_layer], depth)[0].tolist())


def exit_colours(exit_layers: ArrayLike, depth: int) -> NDArray[Any]:
    """RGB bytes for exit layers 1…depth. Shape [n] to [n, 3]."""
    import numpy as np

    share = (np.asarray(exit_layers, float) - 1) / max(depth - 1, 1)
    return np.asarray(_cividis().map(np.clip(share, 0, 1), mode="byte"))[:, :3]
