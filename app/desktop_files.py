"""What tells a freedesktop.org desktop of this program: its menu entry, its icons, and the type of its files. No Qt.

As the Desktop Entry, Icon Theme and Shared MIME-info specifications of freedesktop.org have them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.trace.database import APPLICATION
from resources.paths import ROOT, icon_file

NAME = "specee-viewer"
"""Of the entry's file, which is what the window's desktop file name must be, and of the icon."""
MIME_TYPE = "application/x-specee-session"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
"""Pixels of the icons' sides, beside the drawing itself."""
APPLICATION_AT = 68
"""Where SQLite keeps its application id, as four bytes, the highest first."""

Render = Callable[[int], bytes]
"""Gives the icon of so many pixels as PNG."""


@dataclass(frozen=True, slots=True)
class Command:
    """How the program is started from anywhere."""

    words: tuple[str, ...]
    """The first is a file to run."""
    folder: Path | None = None
    """Where it has to be started; None where that does not matter."""


def data_home(environment: Mapping[str, str]) -> Path:
    """The user's own data folder; a relative one is to be ignored, as the specification says."""
    given = Path(environment.get("XDG_DATA_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".local" / "share"


def own_command() -> Command:
    """The installed launcher; without one, the interpreter that runs now, on these sources."""
    for launcher in (Path(sys.argv[0]), Path(sys.executable).with_name(NAME)):
        if launcher.name == NAME and os.access(launcher, os.X_OK) and launcher.is_file():
            return Command((str(launcher.absolute()),))
    sources = ROOT.parent
    checkout = (sources / "specee_viewer").is_dir()
    return Command((sys.executable, "-m", "specee_viewer"), sources if checkout else None)


def desktop_entry(command: Command) -> str:
    """The menu entry."""
    lines = {
        "Type": "Application",
        "Version": "1.5",
        "Name": NAME,
        "GenericName": "Early-Exit Inference Debugger",
        "Comment": "See why each token of a language model stopped where it did",
        "Exec": _escaped(" ".join([*map(_quoted, command.words), "%f"])),
        "TryExec": _escaped(command.words[0]),
        "Path": _escaped(str(command.folder or "")),
        "Icon": NAME,
        "Terminal": "false",
        "Categories": "Development;Debugger;",
        "Keywords": "LLM;language model;inference;early exit;SpecEE;",
        "MimeType": f"{MIME_TYPE};",
        "StartupNotify": "true",
        "StartupWMClass": NAME,
    }
    return "[Desktop Entry]\n" + "".join(f"{key}={value}\n" for key, value in lines.items() if value)


def mime_package() -> str:
    """The type of session files: by their ending, and by what SQLite keeps at the head of one."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="{MIME_TYPE}">
    <comment>recorded runs of specee-viewer</comment>
    <sub-class-of type="application/vnd.sqlite3"/>
    <icon name="{NAME}"/>
    <magic priority="60">
      <match type="string" offset="0" value="SQLite format 3">
        <match type="big32" offset="{APPLICATION_AT}" value="{APPLICATION:#x}"/>
      </match>
    </magic>
    <glob pattern="*.specee"/>
  </mime-type>
</mime-info>
"""


def contents(home: Path, command: Command, render: Render) -> dict[Path, bytes]:
    """Every file to be there, with what it holds."""
    found = dict.fromkeys(places(home), b"")
    entry, package, drawing, *pictures = found
    found[entry] = desktop_entry(command).encode()
    found[package] = mime_package().encode()
    found[drawing] = icon_file(NAME).read_bytes()
    for size, path in zip(SIZES, pictures, strict=True):
        found[path] = render(size)
    return found


def places(home: Path) -> list[Path]:
    """Where the files lie: the menu entry, the type, the icon's drawing, and its pictures in the order of `SIZES`."""
    icons = home / "icons" / "hicolor"
    return [
        home / "applications" / f"{NAME}.desktop",
        home / "mime" / "packages" / f"{NAME}.xml",
        icons / "scalable" / "apps" / f"{NAME}.svg",
        *(icons / f"{size}x{size}" / "apps" / f"{NAME}.png" for size in SIZES),
    ]


def write(files: Mapping[Path, bytes]) -> int:
    """Bring the files to hold this, each at once; how many did not yet.

    Raises:
        UserError: one cannot be written.
    """
    changed = 0
    for path, content in files.items():
        try:
            if path.is_file() and path.read_bytes() == content:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.{os.getpid()}")
            partial.write_bytes(content)
            partial.replace(path)
        except OSError as error:
            raise _unwritable(path, error) from error
        changed += 1
    return changed


def remove(files: Iterable[Path]) -> int:
    """Take the files away; how many were there.

    Raises:
        UserError: one cannot be taken away.
    """
    removed = 0
    for path in files:
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _unwritable(path, error) from error
        removed += 1
    return removed


def tidy(files: Iterable[Path], home: Path) -> None:
    """Take away the folders of these files, up to `home`, that hold nothing any more."""
    for path in files:
        with suppress(OSError):  # a folder that is not empty ends it
            for folder in path.relative_to(home).parents:
                (home / folder).rmdir()


def _unwritable(path: Path, error: OSError) -> UserError:
    return UserError(f"{path} cannot be written ({error.strerror or error}); set XDG_DATA_HOME to a folder of yours.")


def _quoted(word: str) -> str:
    """An argument of `Exec`; a per cent sign would begin a field code."""
    doubled = word.replace("%", "%%")
    plain = re.fullmatch(r"[\w%+,./:=@-]+", doubled)
    return doubled if plain else '"' + re.sub(r'(["`$\\])', r"\\\1", doubled) + '"'


def _escaped(value: str) -> str:
    """A value of the entry's file."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
