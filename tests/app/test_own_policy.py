"""Naming an exit policy of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.own_policy import class_in
from app.own_policy_field import WARNING, OwnPolicyField
from core.errors import UserError

BOMB = "raise SystemExit('this file was run')\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_that_the_class_with_the_rule_is_found_without_running_the_file(tmp_path: Path) -> None:
    text = BOMB + "class Helper:\n    pass\nclass Mine:\n    def look(self, layer, hidden):\n        return None\n"
    assert class_in(written(tmp_path, text)) == "Mine"


def test_that_a_rule_that_is_inherited_is_taken_for_the_first_class(tmp_path: Path) -> None:
    assert class_in(written(tmp_path, "class Mine(Base):\n    drafts = False\n")) == "Mine"


@pytest.mark.parametrize(("text", "match"), [("x = 1\n", "no class"), ("class :", "not valid"), ("\0", "not valid")])
def test_that_a_file_without_a_policy_is_refused_in_a_sentence(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(UserError, match=match):
        class_in(written(tmp_path, text))


def test_that_a_file_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        class_in(tmp_path / "none.py")


def test_that_choosing_a_file_names_its_class_and_warns_that_it_is_code(qtbot: QtBot, tmp_path: Path) -> None:
    field = OwnPolicyField()
    qtbot.addWidget(field)
    path = written(tmp_path, "class Mine:\n    pass\n")
    field.take_file(path)
    assert field.value() == f"{path}:Mine"
    assert WARNING in field.note.text()
    field.take_file(written(tmp_path, "x = 1\n"))
    assert "no class" in field.note.text()
