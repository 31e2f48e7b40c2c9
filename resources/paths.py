"""Where the files that travel with the program lie."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent
ICONS = ROOT / "icons"
PROMPTS = ROOT / "prompts"
"""JSON Lines files, written for this program: what `train` and `evaluate` take where no others are named."""

GUIDE = ROOT / "guide"
"""Texts that the window shows: what each panel is, and the field's terms."""
SAMPLE = ROOT / "sample" / "sample.specee"
"""Recorded runs of the default model (`scripts/sample.py`), to look at without a model."""


def icon_file(name: str) -> Path:
    """The SVG of this name; `tests/app/test_actions.py` holds that every named icon exists."""
    return ICONS / f"{name}.svg"
