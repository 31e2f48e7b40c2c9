"""Files that an export makes: whole, or as they were before."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from app.export_files import replaced, replaced_text
from core.errors import UserError


def test_that_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replaced_text(path) as lines:
        lines.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert not list(tmp_path.glob(".*"))


def test_that_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UserError, match="the disk is full"):
        _fill_the_disk(path)
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_that_a_link_goes_on_pointing_where_it_did(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_that_what_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder; give a file name"):
        write_text(tmp_path, "x")
    with pytest.raises(UserError, match="cannot be written"):
        write_text(tmp_path / "nowhere" / "a.txt", "x")


def write_text(path: Path, text: str) -> None:
    with replaced_text(path) as lines:
        lines.write(text)


def _fill_the_disk(path: Path) -> None:
    with replaced(path) as partial:
        partial.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
