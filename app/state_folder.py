"""Where what is not saved yet lies. Nothing else is imported with it: a measured launch asks before its first paint."""

from __future__ import annotations

import os
from pathlib import Path

STATE_VARIABLE = "SPECEE_VIEWER_STATE"
"""Names another folder for what is not saved yet."""


def recovery_folder() -> Path:
    """Where recovery files lie; it may not be there yet."""
    import platformdirs

    chosen = os.environ.get(STATE_VARIABLE)
    return Path(chosen or platformdirs.user_state_dir("specee-viewer", appauthor=False)) / "recovery"
