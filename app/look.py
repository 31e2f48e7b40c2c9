"""How the window looks beyond light and dark: size of type, colours of exit layers, motion. Frozen, checked on read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.report.exit_colours import ExitPalette

ZOOMS = (70, 80, 90, 100, 110, 125, 150, 175, 200)
"""Sizes of type that can be chosen, in percent of the desktop's."""
USUAL = 100
PROJECTOR = 1.5
"""How much larger type is for a room that looks at a wall."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the user chose."""

    zoom: int = USUAL
    """One of `ZOOMS`."""
    exits: ExitPalette = ExitPalette.CIVIDIS
    still: bool = False
    """Whether nothing may move by itself."""
    projector: bool = False
    """Whether type is larger for now, as on a projector."""

    @property
    def scale(self) -> float:
        """What sizes of type are multiplied by."""
        return self.zoom / USUAL * (PROJECTOR if self.projector else 1.0)

    def zoomed(self, steps: int) -> int:
        """The zoom that lies so many steps further, as far as there are any."""
        return ZOOMS[min(len(ZOOMS) - 1, max(0, ZOOMS.index(self.zoom) + steps))]

    def to_json(self) -> dict[str, Any]:
        return {"zoom": self.zoom, "exits": self.exits.value, "still": self.still, "projector": self.projector}

    @classmethod
    def from_json(cls, stored: object) -> Look:
        """What `to_json` wrote; a value that is missing or of another kind is the default."""
        values = stored if isinstance(stored, dict) else {}
        zoom, exits = values.get("zoom"), values.get("exits")
        return cls(
            zoom=zoom if type(zoom) is int and zoom in ZOOMS else USUAL,
            exits=ExitPalette(exits) if exits in list(ExitPalette) else ExitPalette.CIVIDIS,
            still=values.get("still") is True,
            projector=values.get("projector") is True,
        )
