from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from widgets.palette import LIGHT
from widgets.runs_line import RunsLine
from widgets.tree_words import Run

RUNS = (Run("layer 3 ", "text", bold=True), Run("⊘ refused", "caution"), Run(" because of many words"))


@pytest.fixture
def line(qtbot: QtBot) -> RunsLine:
    made = RunsLine("Stage")
    qtbot.addWidget(made)
    made.set_runs(*RUNS)
    return made


def test_that_words_which_do_not_fit_are_whole_in_tooltip_and_description(line: RunsLine) -> None:
    line.resize(60, 20)
    assert not line.grab().isNull()
    assert line.toolTip() == line.accessibleDescription() == line.text()
    assert line.text() == "layer 3 ⊘ refused because of many words"


def test_that_a_line_never_asks_its_layout_for_the_width_of_its_words(line: RunsLine) -> None:
    narrow = line.sizeHint()
    line.set_runs(Run("x" * 500))
    assert line.sizeHint() == narrow
    assert line.minimumSizeHint().width() == 0


def test_that_each_run_has_its_own_colour(line: RunsLine) -> None:
    line.apply_theme(LIGHT)
    line.resize(300, 20)
    before = line.grab().toImage()
    line.set_runs(RUNS[0], Run("⊘ refused", "accent"), RUNS[2])
    assert line.grab().toImage() != before
