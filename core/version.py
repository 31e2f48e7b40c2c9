"""Which specee-viewer this is."""

from __future__ import annotations

from pathlib import Path

UNKNOWN = "0+unknown"


def version() -> str:
    """The installed version, or the one that a bare checkout declares.

    Imports inside, because `importlib.metadata` costs 30 ms that most starts need not pay.
    """
    from importlib import metadata

    try:
        return metadata.version("specee-viewer")
    except metadata.PackageNotFoundError:
        return declared_version(Path(__file__).resolve().parent.parent / "pyproject.toml")


def declared_version(pyproject: Path) -> str:
    """The version that `pyproject` declares, `UNKNOWN` where there is no readable one."""
    import tomllib

    try:
        project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
        return str(project["version"])
    except (OSError, KeyError, ValueError):
        return UNKNOWN
