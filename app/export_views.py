"""One view of a run into one file: a picture or a table, as the file's name ends."""

from __future__ import annotations

from pathlib import Path

from core.errors import UserError
from core.report.drawing import Drawing
from core.report.inks import Inks
from core.report.views import VIEWS, Subject

KINDS = (".png", ".svg", ".csv")
"""How names of files may end."""


def check_kind(name: str, path: Path) -> None:
    """Refuse early what a view cannot be written as.

    Raises:
        UserError: the file's name ends otherwise, or the view is words and a picture was asked for.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UserError(f"{path} ends in none of {', '.join(KINDS)}; the ending says what is written.")
    if kind != ".csv" and VIEWS[name].picture is None:
        raise UserError(f"The view {name} has no picture of its own; write it as .csv.")


def write_view(
    subject: Subject, name: str, kind: str, path: Path, inks: Inks, size: tuple[int, int] | None = None
) -> None:
    """Write a view.

    Args:
        subject: what is shown.
        name: one of `VIEWS`.
        kind: one of `KINDS`.
        path: a new file.
        inks: colours of a picture.
        size: pixels of a picture, which keeps its shape in them; None takes the picture's own.

    Raises:
        UserError: the run has nothing to show there.
        OSError: the file cannot be written.
    """
    if kind == ".csv":
        table = VIEWS[name].table(subject)
        with path.open("x", encoding="utf-8", newline="\n") as lines:
            table.write(lines)
        return
    picture = VIEWS[name].picture
    assert picture is not None, "asked for by `check_kind`"
    path.write_bytes(_picture(picture(subject, inks), kind, size))


def _picture(drawing: Drawing, kind: str, size: tuple[int, int] | None) -> bytes:
    if kind == ".svg":
        return drawing.document(size).encode()
    from app.export_picture import png_of

    size = size or (round(drawing.width), round(drawing.height))
    return png_of(drawing.document(size), size)
