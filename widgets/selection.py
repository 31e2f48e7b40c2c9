"""The one selection that every view shares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user is looking at. A view asks for a new one through its `selected` signal and never keeps its own."""

    token: int | None = None
    """0-based generated token, shown 1-based; None selects nothing."""
    layer: int | None = None
    """0-based layer, shown 1-based; None selects the token as a whole."""
    node: int | None = None
    """A node of the token's tree, 0 the root; None selects the token's own."""
