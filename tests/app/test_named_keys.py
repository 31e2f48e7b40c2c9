"""Keys that sentences name: those that actions have now, wherever a sentence stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from pytestqt.qtbot import QtBot

from app.action_table import ALL
from app.explanations import explanation_of, explanations
from app.named_keys import keys_in, use_keys, with_keys
from app.places import BREAKPOINTS, LAYERS, MARKS, PLACES
from tests.app.window_stage import WindowStage

ROOT = Path(__file__).parents[2]
FIXED = {"Ctrl+Enter", "Ctrl+Return", "Ctrl+C", "Ctrl+X", "Ctrl+V", "Ctrl+Z", "Ctrl+A", "F2"}
"""Keys that are not an action's: what they do in fields and tables cannot be changed."""


@pytest.fixture(autouse=True)
def _first_keys() -> Iterator[None]:
    yield
    use_keys({})


@pytest.fixture(scope="module")
def first_keys() -> set[str]:
    return {spec.key for spec in ALL} | {place.shortcut for place in PLACES}


def test_that_each_key_is_found_whole_and_no_other_words_are() -> None:
    words = "F10, Shift+F11 (Ctrl+Alt+5) Ctrl+=, Ctrl+- Ctrl+, Alt+Left; Ctrl+wheel, F1x, M+N, 4F2, SHIFT"
    assert keys_in(words) == ["F10", "Shift+F11", "Ctrl+Alt+5", "Ctrl+=", "Ctrl+-", "Ctrl+,", "Alt+Left"]


def test_that_keys_that_were_exchanged_are_exchanged_in_words() -> None:
    use_keys({"F10": "F11", "F11": "F10"})
    assert with_keys("F10 a token, F11 a layer, Shift+F10 back.") == "F11 a token, F10 a layer, Shift+F10 back."


def strings(path: Path) -> list[str]:
    """All texts of a module but those that explain it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    explaining = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [str(node.value) for node in texts if id(node) not in explaining]


@pytest.mark.parametrize("folder", ["app", "widgets"])
def test_that_every_key_that_a_text_names_is_an_actions_first_key_or_a_fixed_one(
    folder: str, first_keys: set[str]
) -> None:
    named = {
        key: path.name
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in strings(path)
        for key in keys_in(text)
        if key not in first_keys | FIXED
    }
    assert named.keys() <= {"Ctrl++"}, named


def test_that_explanations_name_first_keys_only(first_keys: set[str]) -> None:
    named = {key for entry in explanations() for key in keys_in(entry.text)}
    assert named
    assert named <= first_keys | FIXED


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()


def test_that_sentences_everywhere_follow_a_key_that_is_changed_and_changed_back(stage: WindowStage) -> None:
    window, desk = stage.window, stage.window.desk
    tools = [stage.work.rack.tool(place) for place in (BREAKPOINTS, MARKS, LAYERS)]
    stage.work.rack.flush()
    changed = {"toggle_break": "Ctrl+F7", "explain": "Ctrl+F8", "goto_token": "Ctrl+F9", "default_model": "Ctrl+F6"}
    for name, key in changed.items():
        assert desk.keys.change(name, QKeySequence(key)) == ""
    desk.tell_keys()
    hint = tools[0].view.hint  # type: ignore[attr-defined]
    assert "press Ctrl+F7 to break" in hint.text()
    button = window.panels["why"].header.explain_button
    assert "(Ctrl+F8)" in button.toolTip()
    assert "(Ctrl+F8)" in button.accessibleDescription()
    assert "Ctrl+F6 takes the default one" in window.panels["tokens"].empty.note.text()
    window.explainer.explain(None)
    desk.keys.reset_all()
    desk.tell_keys()
    assert "press F9 to break" in hint.text()
    assert "Ctrl+D takes" in window.panels["tokens"].empty.note.text()


def test_that_an_explanation_names_the_key_of_now(stage: WindowStage) -> None:
    assert re.search(r"\bF10 goes on a token", explanation_of(None).text)
    stage.window.desk.keys.change("step_token", QKeySequence("Ctrl+F7"))
    stage.window.desk.tell_keys()
    stage.window.explainer.explain(None)
    dialog = stage.window.explainer.dialog
    assert dialog is not None
    assert "Ctrl+F7 goes on a token" in dialog.text.toPlainText()
