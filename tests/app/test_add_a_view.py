"""The example of `docs/add-a-view.md` is short, is a working panel, and shows what it promises."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.panel import Panel
from app.places import PLACES, Place
from core.trace.trace import Trace
from tests.app.window_stage import WindowStage
from tests.fakes import fake_run_events
from widgets.palette import LIGHT
from widgets.selection import Selection

TEXT = (Path(__file__).parents[2] / "docs" / "add-a-view.md").read_text(encoding="utf-8")
CODE, PLACE = re.findall(r"```python\n(.*?)```", TEXT, re.S)
NAME = "app.tools.earliest"


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """The example's module, as though its file had been saved."""
    path = tmp_path / "earliest.py"
    path.write_text(CODE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(NAME, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[NAME] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[NAME]


def test_that_the_example_is_short() -> None:
    assert len(CODE.splitlines()) < 60


def test_that_the_place_is_one_that_is_free() -> None:
    found: dict[str, object] = {"Place": Place}
    exec(PLACE, found)
    place = found["EARLIEST"]
    assert isinstance(place, Place)
    assert place.tool == f"{NAME.rpartition('.')[2]}:Earliest"
    for name in ("key", "title", "shortcut"):
        assert getattr(place, name) not in {getattr(one, name) for one in PLACES}
    assert place.behind in {one.key for one in PLACES}


def test_that_the_example_shows_the_earliest_exits_and_shares_the_selection(module: ModuleType, qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    panel = Panel(Place("earliest", "Earliest", "panel-exits", "", ""))
    qtbot.addWidget(panel)
    tool = module.Earliest(stage.work, panel)
    panel.set_view(tool.build())
    tool.apply_theme(LIGHT)
    assert tool.draw(0), "without a run it says what to do"
    trace = Trace.of(fake_run_events(12))
    stage.session.show_trace(trace)
    tool.selected.connect(stage.session.select)
    assert tool.draw(0) is None
    exits = trace.exit_layers[tool.tokens]
    assert np.array_equal(exits, np.sort(trace.exit_layers[1:]))
    rows = tool.view.rows
    assert [int(rows.row(at).cells[2]) for at in range(11)] == exits.tolist()
    tool.view.chosen.emit(3)
    assert stage.session.selection == Selection(int(tool.tokens[3]))
    tool.draw(None)
    assert tool.view.currentIndex().row() == 3
    stage.window.close()
