"""Reports and the window have the same colours, though reports know no Qt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyqtgraph as pg
import pytest

from core.report.exit_colours import ExitPalette, steps_of
from core.report.inks import DARK, LIGHT, Inks
from widgets import palette, scheduler_map


@pytest.mark.parametrize(("inks", "theme"), [(LIGHT, palette.LIGHT), (DARK, palette.DARK)])
def test_that_a_reports_scheduled_layers_have_the_maps_colours(inks: Inks, theme: palette.Theme) -> None:
    assert (inks.offline, inks.online) == (scheduler_map.offline_colour(theme), scheduler_map.online_colour(theme))


@pytest.mark.parametrize("exits", ExitPalette)
def test_that_exit_layers_have_the_windows_colours_lighter_layer_by_layer(exits: ExitPalette) -> None:
    inks = replace(LIGHT, exits=exits)
    ours = np.array([list(bytes.fromhex(inks.exit_colour(layer, 200)[1:])) for layer in range(1, 201)])
    palette.use_exit_palette(exits)
    try:
        theirs = palette.exit_colours(range(1, 201), 200).astype(int)
    finally:
        palette.use_exit_palette(ExitPalette.CIVIDIS)
    assert np.abs(ours - theirs).max() <= 1  # halves are rounded either way
    lightness = ours @ (0.2126, 0.7152, 0.0722)
    assert (np.diff(lightness[::10]) > 0).all()


@pytest.mark.parametrize("exits", [exits for exits in ExitPalette if exits is not ExitPalette.GREYS])
def test_that_palettes_are_those_of_their_names(exits: ExitPalette) -> None:
    known = pg.colormap.get(exits.value)
    low, high = {ExitPalette.MAGMA: (0.2, 0.96), ExitPalette.PLASMA: (0.0, 0.96)}.get(exits, (0.0, 1.0))
    theirs = known.map(np.linspace(low, high, 33), mode="byte")[:, :3].astype(int)
    assert np.abs(np.array(steps_of(exits)) - theirs).max() <= 3
