"""Colours of exit layers, the same in the window, in pictures and in reports. Imports nothing: the first paint asks."""

from __future__ import annotations

from enum import StrEnum
from functools import cache


class ExitPalette(StrEnum):
    """Colours of exit layers. Lightness rises with the layer in each, so that colour vision is not needed."""

    CIVIDIS = "cividis"
    VIRIDIS = "viridis"
    MAGMA = "magma"
    PLASMA = "plasma"
    GREYS = "greys"


_COLOURS = {
    ExitPalette.CIVIDIS: (
        "00204d 002559 002b68 00306f 05366e 1e3b6d 2c416c 37476b 404d6b 49526b 51586c 595e6d 60646f 676970 6e6f73 "
        "757575 7c7b78 848179 8b8779 938e78 9b9477 a39a76 aca174 b4a871 bcaf6f c5b56b cebc67 d7c463 e0cb5d e9d357 "
        "f2da4f fbe247 ffea46"
    ),
    ExitPalette.VIRIDIS: (
        "440154 460c5f 481769 482273 472c7a 453681 423f85 3e4889 3b518b 375a8c 33628d 2f6a8e 2c718e 29798e 26818e "
        "23888e 21908c 1f978b 1f9f88 21a685 27ad80 31b57a 3dbc73 4cc26b 5cc862 6ece57 81d34c 95d83f aadc31 c0df24 "
        "d5e219 eae51a fde725"
    ),
    ExitPalette.MAGMA: (
        "3b0f70 451077 4f127b 59157e 621980 6b1d81 752181 7e2482 882781 922b80 9b2e7f a5317d af347b b93778 c33b75 "
        "cc3f71 d5446c de4968 e75262 ed5a5e f2645c f66e5c f9795d fb8560 fc9065 fd9b6b fea772 feb37a febe83 fec98c "
        "fed496 fddfa0 fdeaab"
    ),
    ExitPalette.PLASMA: (
        "0d0887 21068f 2f0596 3d049b 4a03a0 5601a4 6200a7 6e00a8 7a02a8 8505a6 900da3 9a169e a41e99 ad2792 b6308a "
        "be3884 c6417c cd4a75 d4526f da5b68 e16462 e66d5b eb7654 f07f4e f48a47 f89440 fa9e3a fcaa33 fdb52d fdc129 "
        "fccd25 f9da24 f6e726"
    ),
    ExitPalette.GREYS: "4c4c4c e0e0e0",
}
"""At equal steps from 1 layer run to all; magma, plasma and greys are cut to what shows on dark and light surfaces."""


@cache
def steps_of(palette: ExitPalette) -> tuple[tuple[int, int, int], ...]:
    """Red, green and blue, 0…255, at equal steps from 1 layer run to all; between them colours are mixed."""
    bytes_of = (bytes.fromhex(colour) for colour in _COLOURS[palette].split())
    return tuple((red, green, blue) for red, green, blue in bytes_of)


def exit_colour(exit_layer: int, depth: int, palette: ExitPalette = ExitPalette.CIVIDIS) -> str:
    """The colour as `#rrggbb`, from 1 layer run (dark) to `depth` (light)."""
    steps = steps_of(palette)
    place = min(max((exit_layer - 1) / max(depth - 1, 1), 0.0), 1.0) * (len(steps) - 1)
    below = min(int(place), len(steps) - 2)
    pairs = zip(steps[below], steps[below + 1], strict=True)
    return "#" + "".join(f"{round(low + (high - low) * (place - below)):02x}" for low, high in pairs)
