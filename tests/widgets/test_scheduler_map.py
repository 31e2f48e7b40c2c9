from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from core.analysis.summaries import SchedulerMap
from core.trace.overview import CellState
from tests.widgets.plots import DEPTH, click, colour_at, painted, schedule, shown
from widgets.palette import DARK, LIGHT, Theme
from widgets.scheduler_cells import cell_kinds, offline_colour, online_colour, tints
from widgets.scheduler_map import NO_TOKENS, SchedulerMapView, describe_state
from widgets.selection import Selection


@pytest.fixture
def view(qtbot: QtBot) -> SchedulerMapView:
    view = SchedulerMapView()
    shown(qtbot, view)
    return view


@pytest.mark.parametrize("count", [0, 1, 128, 5000])
def test_that_any_number_of_tokens_is_shown(view: SchedulerMapView, count: int) -> None:
    view.set_map(schedule(count))
    assert not painted(view).isNull()
    assert view.states.shape == (count, DEPTH)
    assert view.message == ("" if count else NO_TOKENS)


def test_that_rows_are_replaced_from_the_first_given_one_on(view: SchedulerMapView) -> None:
    view.set_map(schedule(100))
    changed = schedule(3, first=99)
    changed.states[:, 2] = CellState.EVALUATED
    view.set_map(changed)
    assert view.states.shape == (102, DEPTH)
    assert (view.states[:99] == schedule(99).states).all()
    assert (view.states[99:, 2] == CellState.EVALUATED).all()


def test_that_growing_token_by_token_shows_what_setting_all_at_once_shows(qtbot: QtBot, view: SchedulerMapView) -> None:
    whole = schedule(150)
    whole.states[::3, 10] = CellState.ONLINE
    for token in range(150):
        view.set_map(SchedulerMap(token, whole.states[token : token + 1]))
    at_once = SchedulerMapView()
    shown(qtbot, at_once)
    at_once.set_map(whole)
    assert painted(view) == painted(at_once)


def test_that_a_shorter_run_leaves_nothing_of_the_longer_one_before(qtbot: QtBot, view: SchedulerMapView) -> None:
    view.set_map(schedule(60))
    view.set_map(schedule(5))
    fresh = SchedulerMapView()
    shown(qtbot, fresh)
    fresh.set_map(schedule(5))
    assert painted(view) == painted(fresh)


def test_that_a_model_of_another_depth_replaces_everything(view: SchedulerMapView) -> None:
    view.set_map(schedule(20))
    view.set_map(SchedulerMap(0, np.full((2, 12), CellState.EVALUATED, np.uint8)))
    assert view.states.shape == (2, 12)
    assert not painted(view).isNull()


def test_that_the_row_in_flight_grows(view: SchedulerMapView) -> None:
    data = schedule(10)
    data.states[9, 20:] &= ~np.uint8(CellState.EVALUATED | CellState.EXITED | CellState.PROPOSED)
    view.set_map(data)
    before = painted(view)
    grown = SchedulerMap(9, data.states[9:].copy())
    grown.states[0, 20] |= CellState.EVALUATED
    view.set_map(grown)
    assert painted(view) != before


def test_that_dim_bright_offline_online_and_both_are_painted_in_their_own_tints(view: SchedulerMapView) -> None:
    view.set_map(schedule(24))
    assert colour_at(view, 3, 20) == offline_colour(DARK)
    assert colour_at(view, 3, 23) == online_colour(DARK)
    assert colour_at(view, 3, 22.3) == offline_colour(DARK)
    assert colour_at(view, 3, 21.7) == online_colour(DARK)
    assert colour_at(view, 3, 25) not in (online_colour(DARK), DARK.surface)
    assert colour_at(view, 3, 18) == DARK.surface


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "all": np.tile([0.2126, 0.7152, 0.0722], (3, 1)),
}


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_that_no_two_states_look_alike_to_any_eyes(blindness: str, theme: Theme) -> None:
    table = tints(theme).astype(float)
    table[:, 0] = QColor(theme.surface).getRgb()[:3]
    linear = (table / 255) ** 2.2
    seen = np.clip(linear @ BLINDNESS[blindness].T, 0, 1) ** (1 / 2.2) * 255
    for a, b in itertools.combinations((0, 1, 2, 3, 5, 6, 7), 2):
        assert np.abs(seen[:, a] - seen[:, b]).max() >= 12, f"kinds {a} and {b}"


def test_that_a_layer_evaluated_without_a_schedule_has_a_tint_of_its_own() -> None:
    assert cell_kinds(np.array([[CellState.EVALUATED, CellState.NONE]], np.uint8)).tolist() == [[8, 0]]


def test_that_a_click_selects_token_and_layer(qtbot: QtBot, view: SchedulerMapView) -> None:
    view.set_map(schedule(30))
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        click(qtbot, view, 5.0, 21.0)
    assert asked.args == [Selection(4, 20)]


@pytest.mark.parametrize(
    ("start", "key", "end"),
    [
        (Selection(4, 20), Qt.Key.Key_Up, Selection(4, 21)),
        (Selection(4, 20), Qt.Key.Key_Down, Selection(4, 19)),
        (Selection(4, 20), Qt.Key.Key_Right, Selection(5, 20)),
        (Selection(4, DEPTH - 1), Qt.Key.Key_Up, Selection(4, DEPTH - 1)),
        (Selection(4, 0), Qt.Key.Key_Down, Selection(4, 0)),
        (Selection(4), Qt.Key.Key_Up, Selection(4, 23)),
        (Selection(), Qt.Key.Key_Up, Selection(29, 23)),
        (Selection(99, 3), Qt.Key.Key_Up, Selection(29, 4)),
    ],
)
def test_that_arrow_keys_move_through_tokens_and_layers(
    qtbot: QtBot, view: SchedulerMapView, start: Selection, key: Qt.Key, end: Selection
) -> None:
    view.set_map(schedule(30))
    view.set_selection(start)
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        qtbot.keyClick(view, key)
    assert asked.args == [end]


def test_that_the_selected_cell_is_outlined(view: SchedulerMapView) -> None:
    view.set_map(schedule(30))
    view.set_selection(Selection(4))
    column = painted(view)
    view.set_selection(Selection(4, 20))
    assert painted(view) != column


def test_that_hovering_an_online_layer_says_which_exit_added_it(view: SchedulerMapView) -> None:
    asked: list[tuple[int, int]] = []

    def sources(token: int, layer: int) -> str:
        asked.append((token, layer))
        return "Added by token 3 <exit 24>."

    view.set_map(schedule(30))
    view.set_sources(sources)
    text = view.readout(6.0, 23.0)
    assert text is not None
    assert "token 6 · layer 23" in text
    assert "Added by token 3 &lt;exit 24&gt;." in text
    assert asked == [(5, 22)]
    assert "Added" not in (view.readout(6.0, 20.0) or "")


@pytest.mark.parametrize(
    ("state", "layer", "words"),
    [
        (CellState.OFFLINE | CellState.EVALUATED, 3, "offline set · evaluated"),
        (CellState.OFFLINE | CellState.ONLINE, 25, "offline and online set · not reached"),
        (CellState.NONE, 3, "in neither set · not evaluated"),
        (
            CellState.ONLINE | CellState.EVALUATED | CellState.PROPOSED | CellState.REFUSED,
            3,
            "online set · evaluated · exit proposed and refused",
        ),
        (
            CellState.ONLINE | CellState.EVALUATED | CellState.PROPOSED | CellState.EXITED,
            3,
            "online set · evaluated · the pass ended here",
        ),
        (CellState.ONLINE | CellState.EVALUATED | CellState.PROPOSED, 3, "online set · evaluated · exit proposed"),
    ],
)
def test_that_every_state_has_words(state: CellState, layer: int, words: str) -> None:
    assert describe_state(state, layers_run=20, layer=layer) == words


def test_that_every_mark_changes_the_picture(view: SchedulerMapView) -> None:
    base = schedule(24)
    pictures = set()
    for layer, flags in ((23, 0), (21, CellState.REFUSED), (DEPTH - 1, CellState.EXITED)):
        data = SchedulerMap(0, base.states.copy())
        data.states[4, layer] |= flags
        view.set_map(data)
        pictures.add(bytes(painted(view).constBits()))
    assert len(pictures) == 3


def test_that_a_screen_reader_hears_how_much_was_watched_and_evaluated(view: SchedulerMapView) -> None:
    view.set_map(schedule(2))
    assert view.accessibleDescription() == (
        "2 tokens by 30 layers: on average 6.0 layers watched and 5.0 evaluated a token; 0 proposed exits refused."
    )


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_the_legend_names_every_tint_and_mark(theme: Theme) -> None:
    legend = SchedulerMapView.legend_html(theme)
    for word in ("offline", "online", "dim", "● ", "exit", "■ full depth", "▲", "refused"):
        assert word.strip() in legend
    assert offline_colour(theme) in legend


def test_that_clearing_leaves_an_empty_map(view: SchedulerMapView) -> None:
    view.set_map(schedule(30))
    view.clear()
    assert view.states.shape[0] == 0
    assert view.message == NO_TOKENS


def test_that_a_wrong_exit_has_a_mark_a_note_and_a_word_of_its_own(view: SchedulerMapView) -> None:
    view.set_map(schedule(24))
    right = painted(view)
    data = schedule(24)
    data.states[5, 23] |= np.uint8(CellState.WRONG)
    view.set_map(data)
    assert painted(view) != right
    view.set_notes(lambda token: "left early with ‘ red’; full depth gives ‘ blue’")
    assert "wrong exit<br>left early with ‘ red’" in (view.readout(6, 24) or "")
    assert "red" not in (view.readout(7, 24) or "")
    assert "1 wrong exits" in view.accessibleDescription()
    assert "✕" in view.legend_html(DARK, audited=True)
    assert "✕" not in view.legend_html(DARK)


def test_that_tallies_kept_up_from_the_tail_describe_the_whole_map(qtbot: QtBot, view: SchedulerMapView) -> None:
    whole = schedule(100)
    whole.states[40:, 3] = CellState.ONLINE
    at_once = SchedulerMapView()
    shown(qtbot, at_once)
    at_once.set_map(whole)
    for first in (0, 60, 50, 99):
        view.set_map(SchedulerMap(first, whole.states[first:]))
    assert view.accessibleDescription() == at_once.accessibleDescription()
    assert view.view.viewRange() == at_once.view.viewRange()
    view.set_map(SchedulerMap(40, whole.states[:0]))
    assert view.view.viewRange()[1][0] > 10
