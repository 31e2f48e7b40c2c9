from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.analysis.summaries import ExitSeries, Outcome
from tests.widgets.plots import DEPTH, click, colour_at, exits, many_exits, painted, shown
from widgets.exit_chart import NO_TOKENS, ExitChart
from widgets.exit_items import clear_of
from widgets.palette import DARK, LIGHT
from widgets.selection import Selection
from widgets.token_plot import FEWEST, FEWEST_EVER, followed_range


@pytest.fixture
def chart(qtbot: QtBot) -> ExitChart:
    chart = ExitChart()
    shown(qtbot, chart)
    return chart


def test_that_a_bar_reaches_its_exit_layer_and_no_further(chart: ExitChart) -> None:
    chart.set_series(exits(30, 20, 12, 12, 12, 12))
    assert colour_at(chart, 3, 11.3) != DARK.surface
    assert colour_at(chart, 6, 13.5) == DARK.surface


def test_that_all_layers_are_in_view_however_many_tokens_there_are(chart: ExitChart) -> None:
    for count in (1, 128, 5000):
        chart.set_series(many_exits(count))
        low, high = chart.view.viewRange()[1]
        assert low <= 1
        assert high > DEPTH


@pytest.mark.parametrize("count", [0, 1, 2, 128, 5000])
def test_that_any_number_of_tokens_is_shown(chart: ExitChart, count: int) -> None:
    chart.set_series(many_exits(count))
    assert not painted(chart).isNull()
    assert chart.message == ("" if count else NO_TOKENS)


def test_that_zooming_out_over_thousands_of_tokens_still_paints_bars_from_end_to_end(chart: ExitChart) -> None:
    chart.set_series(many_exits(5000))
    painted(chart)
    chart._leave_newest()
    chart.view.setXRange(0.5, 5000.5, padding=0)
    for token in (20, 2500, 4980):
        assert colour_at(chart, token, 5) != DARK.surface


def test_that_the_newest_token_stays_in_view_while_following(chart: ExitChart) -> None:
    for count in (1, 30, 200, 1000):
        chart.set_series(many_exits(count))
        low, high = chart.view.viewRange()[0]
        assert low < count <= high


def test_that_panning_stops_the_following_and_a_double_click_resumes_it(chart: ExitChart) -> None:
    chart.set_series(many_exits(1000))
    chart.view.sigRangeChangedManually.emit(chart.view.state["mouseEnabled"])
    chart.view.setXRange(10.5, 100.5, padding=0)
    chart.set_series(many_exits(1100))
    assert chart.view.viewRange()[0] == [10.5, 100.5]
    chart.double_clicked()
    chart.set_series(many_exits(1300))
    assert chart.view.viewRange()[0][1] >= 1300


def test_that_a_new_run_is_followed_again(chart: ExitChart) -> None:
    chart.set_series(many_exits(1000))
    chart._leave_newest()
    chart.clear()
    chart.set_series(many_exits(3))
    assert chart.following


def test_that_the_view_moves_in_strides_and_not_with_every_token() -> None:
    ranges = {followed_range(count, 130) for count in range(131, 131 + 160)}
    assert len(ranges) <= 11
    assert followed_range(1, 130) == (0.5, FEWEST + 0.5)


def test_that_a_run_that_is_over_fills_the_chart_and_one_that_goes_on_has_room(chart: ExitChart) -> None:
    chart.set_count(25)
    assert chart.view.viewRange()[0][1] > 30
    chart.set_growing(False)
    assert chart.view.viewRange()[0] == [0.5, 25.5]
    chart.set_growing(True)
    assert chart.view.viewRange()[0][1] > 30
    assert followed_range(3, 130, grows=False) == (0.5, FEWEST_EVER + 0.5)
    assert followed_range(500, 130, grows=False) == (370.5, 500.5)


def test_that_a_selection_made_before_the_chart_has_a_place_leaves_all_tokens_in_sight(qtbot: QtBot) -> None:
    chart = ExitChart()
    qtbot.addWidget(chart)
    chart.set_growing(False)
    chart.set_series(many_exits(64))
    chart.set_selection(Selection(0))
    chart.resize(600, 200)
    with qtbot.waitExposed(chart):
        chart.show()
    qtbot.waitUntil(lambda: chart.view.viewRange()[0] == [0.5, 64.5])
    assert chart.following


def test_that_a_click_selects_the_token_below_it(qtbot: QtBot, chart: ExitChart) -> None:
    chart.set_series(many_exits(40))
    with qtbot.waitSignal(chart.selected, timeout=1000) as asked:
        click(qtbot, chart, 7.0, 4.0)
    assert asked.args == [Selection(6)]


def test_that_a_click_beside_the_tokens_selects_nothing(qtbot: QtBot, chart: ExitChart) -> None:
    chart.set_series(many_exits(3))
    with qtbot.assertNotEmitted(chart.selected):
        click(qtbot, chart, 20.0, 4.0)


@pytest.mark.parametrize(
    ("key", "token"),
    [
        (Qt.Key.Key_Left, 19),
        (Qt.Key.Key_Right, 21),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_End, 39),
        (Qt.Key.Key_PageUp, 10),
        (Qt.Key.Key_PageDown, 30),
    ],
)
def test_that_keys_move_the_selection_along_the_tokens(qtbot: QtBot, chart: ExitChart, key: Qt.Key, token: int) -> None:
    chart.set_series(many_exits(40))
    chart.set_selection(Selection(20, 5))
    with qtbot.waitSignal(chart.selected, timeout=1000) as asked:
        qtbot.keyClick(chart, key)
    assert asked.args == [Selection(token, 5)]


def test_that_the_selection_never_leaves_the_tokens(qtbot: QtBot, chart: ExitChart) -> None:
    chart.set_series(many_exits(3))
    chart.set_selection(Selection(2))
    with qtbot.waitSignal(chart.selected, timeout=1000) as asked:
        qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert asked.args == [Selection(2)]


def test_that_keys_without_tokens_ask_for_nothing(qtbot: QtBot, chart: ExitChart) -> None:
    with qtbot.assertNotEmitted(chart.selected):
        qtbot.keyClick(chart, Qt.Key.Key_Right)


def test_that_being_given_a_selection_emits_none(qtbot: QtBot, chart: ExitChart) -> None:
    chart.set_series(many_exits(40))
    with qtbot.assertNotEmitted(chart.selected):
        chart.set_selection(Selection(3))


def test_that_selecting_a_token_out_of_view_brings_it_into_view(chart: ExitChart) -> None:
    chart.set_series(many_exits(1000))
    chart.set_selection(Selection(10))
    low, high = chart.view.viewRange()[0]
    assert low < 11 < high


def test_that_the_selected_token_is_highlighted_in_both_themes(chart: ExitChart) -> None:
    chart.set_series(many_exits(40))
    for theme in (DARK, LIGHT):
        chart.apply_theme(theme)
        chart.set_selection(Selection())
        plain = painted(chart)
        chart.set_selection(Selection(5))
        assert painted(chart) != plain


def test_that_a_selection_beyond_the_tokens_is_borne(chart: ExitChart) -> None:
    chart.set_series(many_exits(3))
    chart.set_selection(Selection(99))
    assert not painted(chart).isNull()


def test_that_the_readout_says_layer_and_outcome_counted_from_one(chart: ExitChart) -> None:
    outcomes = np.array([Outcome.PREFILL, Outcome.EARLY_EXIT, Outcome.REFUSED], np.uint8)
    means = np.array([np.nan, 23, 26.5], np.float32)
    chart.set_series(ExitSeries(np.array([30, 23, 30]), outcomes, means, DEPTH))
    assert "token 2 · exit layer 23</b> of 30" in (chart.readout(2, 9) or "")
    assert "refused" in (chart.readout(3, 9) or "")
    assert "26.5" in (chart.readout(3, 9) or "")
    assert "mean" not in (chart.readout(1, 9) or "")
    assert chart.readout(4, 9) is None


def test_that_each_outcome_is_told_by_a_mark_of_its_own(chart: ExitChart) -> None:
    pictures = []
    for outcome in Outcome:
        outcomes = np.array([outcome] * 3, np.uint8)
        chart.set_series(ExitSeries(np.array([30, 30, 30]), outcomes, np.full(3, np.nan, np.float32), DEPTH))
        image = painted(chart)
        pictures.append(bytes(image.constBits()))
    assert len(set(pictures)) == len(Outcome)


def test_that_a_screen_reader_hears_the_mean_and_the_early_exits(chart: ExitChart) -> None:
    chart.set_series(exits(30, 20, 24, 30))
    assert chart.accessibleDescription() == (
        "4 tokens, mean exit layer 24.7 of 30; 2 left early, 0 ran to full depth after a refused exit."
    )


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_that_the_legend_names_every_mark(theme: object) -> None:
    legend = ExitChart.legend_html(DARK)
    assert all(mark in legend for mark in ("▪", "⊘", "mean of 8"))


def wrong_exit(chart: ExitChart) -> None:
    outcomes = np.array([Outcome.PREFILL, Outcome.WRONG_EXIT, Outcome.EARLY_EXIT], np.uint8)
    means = np.array([np.nan, 20, 21], np.float32)
    chart.set_series(ExitSeries(np.array([30, 20, 22]), outcomes, means, DEPTH))


def test_that_a_wrong_exit_is_named_with_both_tokens(chart: ExitChart) -> None:
    wrong_exit(chart)
    assert "full depth gives another token" in (chart.readout(2, 9) or "")
    chart.set_notes(lambda token: f"left early with ‘<{token}>’; full depth gives ‘ blue’")
    assert "wrong exit: left early with ‘&lt;1&gt;’; full depth gives ‘ blue’" in (chart.readout(2, 9) or "")
    assert "wrong" not in (chart.readout(3, 9) or "")
    assert "2 left early, 1 of them wrongly" in chart.accessibleDescription()


def test_that_what_a_branch_was_given_is_marked_and_counted_in_no_mean(chart: ExitChart) -> None:
    looks = []
    for kind in (Outcome.EARLY_EXIT, Outcome.GIVEN):
        outcomes = np.array([Outcome.PREFILL, kind, Outcome.EARLY_EXIT], np.uint8)
        chart.set_series(ExitSeries(np.array([30, 20, 22]), outcomes, np.array([np.nan, 20, 21], np.float32), DEPTH))
        looks.append(chart.grab().toImage())
    assert looks[0] != looks[1]
    assert "given to the branch" in (chart.readout(2, 9) or "")
    assert "mean exit layer 22.0 of 30; 1 left early" in chart.accessibleDescription()
    assert "↳" in ExitChart.legend_html(DARK, branch=True)


def test_that_wrong_exits_stand_in_the_legend_of_an_audited_run_only() -> None:
    assert "≠" in ExitChart.legend_html(DARK, audited=True)
    assert "≠" not in ExitChart.legend_html(DARK)


def test_that_a_new_token_makes_its_own_bar_and_a_moving_selection_none(
    chart: ExitChart, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart.set_series(many_exits(40))
    painted(chart)
    made: list[int] = []
    monkeypatch.setattr(chart.bars, "renew", lambda cells, left, pixels: made.append(cells.shape[1]))
    chart.set_selection(Selection(7))
    painted(chart)
    assert made == []
    chart.set_series(many_exits(41), 40)
    painted(chart)
    assert len(made) == 1
    assert 0 < made[0] < chart.view.width() / 2


def test_that_crowded_marks_give_way_to_the_graver_ones() -> None:
    places, taken = np.array([1.0, 10.0, 21.0, 40.0]), np.array([2.0, 20.0])
    assert clear_of(places, taken, 8.0).tolist() == [10.0, 40.0]
    assert clear_of(places, taken[:0], 8.0).tolist() == places.tolist()
