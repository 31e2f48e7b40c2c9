"""`specee-viewer desktop`: a menu entry with its icons, and session files that open with a double click."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from app import desktop_files
from app.commands import console, options
from core.errors import UserError

PATIENCE = 60.0
"""Seconds for a program that brings a desktop's lists up to date."""
_SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
_ABOUT = (
    "Tell the desktop of specee-viewer: a menu entry, icons, and the type of .specee files, so that a double click "
    "opens them. For Linux and whatever else follows freedesktop.org; everything goes into the user's own data folder."
)


def add_parser(commands: options.Commands) -> None:
    """Add `desktop` and its own commands to the program's."""
    parser = commands.add_parser("desktop", help="add a menu entry and open .specee files with it", description=_ABOUT)
    actions = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    installing = actions.add_parser(
        "install", help="add menu entry, icons and file type", description="Add them, or bring them up to date."
    )
    installing.set_defaults(action=install)
    removing = actions.add_parser(
        "uninstall", help="take them away again", description="Take away what `desktop install` added."
    )
    removing.set_defaults(action=uninstall)


def install(_arguments: argparse.Namespace) -> int:
    """Write what is missing or differs, and say where; returns 0.

    Raises:
        UserError: the system has other ways, or a file cannot be written.
    """
    from app.desktop_icons import png

    _check_system()
    home = desktop_files.data_home(os.environ)
    if desktop_files.write(desktop_files.contents(home, desktop_files.own_command(), png)):
        _bring_up_to_date(home)
        print(f"Menu entry, icons and the type of .specee files are in {home}.")
    else:
        print(f"Menu entry, icons and the type of .specee files were in {home} already.")
    return 0


def uninstall(_arguments: argparse.Namespace) -> int:
    """Take away what `install` wrote; returns 0, whether anything was there or not.

    Raises:
        UserError: the system has other ways, or a file cannot be taken away.
    """
    _check_system()
    home = desktop_files.data_home(os.environ)
    places = desktop_files.places(home)
    if desktop_files.remove(places):
        _bring_up_to_date(home)  # it needs folders that are empty now
        desktop_files.tidy(places, home)
        print(f"Menu entry, icons and the type of .specee files are gone from {home}.")
    else:
        print(f"There was nothing of specee-viewer in {home}.")
    return 0


def _check_system() -> None:
    if system := _SYSTEMS.get(sys.platform):
        raise UserError(
            f"{system} knows no menu entries as freedesktop.org has them; start the window with `specee-viewer`, and "
            "open a session with `specee-viewer FILE.specee`."
        )


def _bring_up_to_date(home: Path) -> None:
    """Have the desktop read its lists anew, where its programs are there; elsewhere it does so at the next login."""
    icons = home / "icons" / "hicolor"
    if icons.is_dir():
        os.utime(icons)  # by its time, a desktop knows that icons have come or gone
    for program, folder in (
        ("update-mime-database", home / "mime"),
        ("update-desktop-database", home / "applications"),
    ):
        found = shutil.which(program)
        if found is None or not folder.is_dir():
            continue
        try:
            subprocess.run([found, str(folder)], check=True, capture_output=True, timeout=PATIENCE)
        except (OSError, subprocess.SubprocessError):
            console.note(f"{program} did not succeed; the desktop may know the change only after the next login.")
