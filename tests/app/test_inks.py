"""Reports and the window have the same colours, though reports know no Qt."""

from __future__ import annotations

import numpy as np
import pytest

from core.report.inks import DARK, LIGHT, Inks, exit_colour
from widgets import palette, scheduler_map


@pytest.mark.parametrize(("inks", "theme"), [(LIGHT, palette.LIGHT), (DARK, palette.DARK)])
def test_that_every_role_has_the_windows_colour(inks: Inks, theme: palette.Theme) -> None:
    shared = Inks.__dataclass_fields__.keys() & palette.Theme.__dataclass_fields__.keys()
    assert {name: getattr(inks, name) for name in shared} == {name: getattr(theme, name) for name in shared}
    assert len(shared) == 8
    assert (inks.offline, inks.online) == (scheduler_map.offline_colour(theme), scheduler_map.online_colour(theme))


def test_that_exit_layers_have_the_windows_colours() -> None:
    ours = [[int(exit_colour(layer, 200)[at : at + 2], 16) for at in (1, 3, 5)] for layer in range(1, 201)]
    theirs = palette.exit_colours(range(1, 201), 200).astype(int)
    assert np.abs(np.array(ours) - theirs).max() <= 5
