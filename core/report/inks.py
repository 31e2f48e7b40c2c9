"""Colours of figures and reports: the window's two themes by role, and cividis for exit layers, without Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Inks:
    """One colour a role, in whatever form the document understands."""

    surface: str
    line: str
    text: str
    muted: str
    accent: str
    caution: str
    wrong: str
    right: str
    offline: str
    """A layer of the offline set, as the scheduler map has it."""
    online: str

    @property
    def candidates(self) -> tuple[str, str, str, str]:
        """Of the k candidates, the drafter's best guess first."""
        return self.accent, self.caution, self.right, self.muted


LIGHT = Inks(
    surface="#ffffff",
    line="#dde1e7",
    text="#1b1f26",
    muted="#5c6675",
    accent="#0b62c4",
    caution="#8d6004",
    wrong="#c0362c",
    right="#1a7f4b",
    offline="#2875cb",
    online="#88bca1",
)
DARK = Inks(
    surface="#1e2128",
    line="#2c313a",
    text="#e6e8ec",
    muted="#9aa3b2",
    accent="#5aa9ff",
    caution="#f2b84b",
    wrong="#ff7a70",
    right="#58c48d",
    offline="#4170a5",
    online="#51b081",
)
THEMES = {"light": LIGHT, "dark": DARK}
BY_STYLE = Inks(*(f"var(--{name})" for name in Inks.__dataclass_fields__))
"""For a page whose style sheet says which theme holds; browsers know these, pictures' readers do not."""

_CIVIDIS = (
    "00204d 002559 002b68 00306f 05366e 1e3b6d 2c416c 37476b 404d6b 49526b 51586c 595e6d 60646f 676970 6e6f73 757575 "
    "7c7b78 848179 8b8779 938e78 9b9477 a39a76 aca174 b4a871 bcaf6f c5b56b cebc67 d7c463 e0cb5d e9d357 f2da4f fbe247 "
    "ffea46"
)


def exit_colour(exit_layer: int, depth: int) -> str:
    """Cividis as `#rrggbb`, from 1 layer run (dark blue) to `depth` (yellow)."""
    share = min(max((exit_layer - 1) / max(depth - 1, 1), 0.0), 1.0)
    places = np.linspace(0, 1, len(_ANCHORS))
    red, green, blue = (round(float(np.interp(share, places, _ANCHORS[:, part]))) for part in range(3))
    return f"#{red:02x}{green:02x}{blue:02x}"


_ANCHORS = np.array([[int(colour[at : at + 2], 16) for at in (0, 2, 4)] for colour in _CIVIDIS.split()])


def style_of(inks: Inks) -> str:
    """The declarations by which a page knows `BY_STYLE`'s colours."""
    return " ".join(f"--{name}: {getattr(inks, name)};" for name in Inks.__dataclass_fields__)
