"""The prompt box."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.prompt_dock import EMPTY, EXAMPLES, PromptPanel


@pytest.fixture
def panel(qtbot: QtBot) -> PromptPanel:
    panel = PromptPanel()
    qtbot.addWidget(panel)
    panel.show()
    return panel


def test_that_a_prompt_comes_out_to_the_letter(panel: PromptPanel) -> None:
    panel.text.setPlainText("  two lines,\nwith spaces  ")
    assert panel.prompt() == "  two lines,\nwith spaces  "


@pytest.mark.parametrize("text", ["", "   ", "\n\t\n"])
def test_that_an_empty_prompt_is_refused_in_a_sentence_until_something_is_typed(panel: PromptPanel, text: str) -> None:
    panel.text.setPlainText(text)
    assert panel.prompt() is None
    assert EMPTY in panel.note.text()
    panel.text.insertPlainText("a")
    assert panel.note.isHidden()


def test_that_a_model_without_a_chat_template_says_so_and_the_wish_is_kept(panel: PromptPanel) -> None:
    panel.set_template_available(False)
    assert not panel.use_template()
    assert "no chat template" in panel.template.toolTip()
    panel.set_template_available(True)
    assert panel.use_template()


def test_that_every_example_fills_the_prompt(panel: PromptPanel) -> None:
    menu = panel.examples.menu()
    assert len(menu.actions()) == len(EXAMPLES)
    for action, (_, prompt) in zip(menu.actions(), EXAMPLES, strict=True):
        action.trigger()
        assert panel.prompt() == prompt


def test_that_run_asks_only_while_it_can(panel: PromptPanel, qtbot: QtBot) -> None:
    panel.set_runnable(False)
    assert not panel.run.isEnabled()
    panel.set_runnable(True)
    with qtbot.waitSignal(panel.run_requested, timeout=1000):
        panel.run.click()
