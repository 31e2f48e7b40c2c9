"""Colours of figures and reports, without Qt; the window's two themes share them (`widgets.palette`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.report import exit_colours
from core.report.exit_colours import ExitPalette


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
    exits: ExitPalette = field(default=ExitPalette.CIVIDIS, kw_only=True)

    def exit_colour(self, exit_layer: int, depth: int) -> str:
        """As `#rrggbb`, from 1 layer run (dark) to `depth` (light)."""
        return exit_colours.exit_colour(exit_layer, depth, self.exits)

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
    caution="#8d6004",  # a tenth darker than designed: as small text it was too faint on window and raised
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
_ROLES = tuple(name for name in Inks.__dataclass_fields__ if name != "exits")
BY_STYLE = Inks(*(f"var(--{name})" for name in _ROLES))
"""For a page whose style sheet says which theme holds; browsers know these, pictures' readers do not."""


def style_of(inks: Inks) -> str:
    """The declarations by which a page knows `BY_STYLE`'s colours."""
    return " ".join(f"--{name}: {getattr(inks, name)};" for name in _ROLES)
