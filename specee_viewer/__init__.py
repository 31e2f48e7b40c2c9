"""The launcher, and the only name that specee-viewer adds to site-packages.

The sources import each other plainly (`from core.engine import Engine`), so `main` puts the folder that holds them
first on the path before anything of theirs is imported. Never import them as `specee_viewer.core…`: that would be a
second copy of every module, and an import contract forbids it.
"""

from __future__ import annotations

import sys
from pathlib import Path


def source_folder() -> Path:
    """The folder that holds app, core, widgets and resources: this package in a wheel, its parent in a checkout."""
    here = Path(__file__).resolve().parent
    return here if (here / "app").is_dir() else here.parent


def main() -> int:
    """Run specee-viewer on the process's arguments and return its exit code."""
    sys.path.insert(0, str(source_folder()))
    from app.cli import main as run

    return run()
