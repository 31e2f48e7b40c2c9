from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QColor, QPalette, QResizeEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.widgets.plots import DEPTH, alike, audited, candidates, click, painted, pixel, shown
from widgets.candidate_legend import STYLES, CandidateLegend, Entry
from widgets.curve_items import DOTTED, SOLID, STRIP, THIN, exit_label, runs, strip_y
from widgets.palette import DARK, LIGHT
from widgets.probability_curves import NO_DRAFT, NO_TOKEN, PREFILL, ProbabilityCurvesView, readout
from widgets.selection import Selection


@pytest.fixture
def view(qtbot: QtBot) -> ProbabilityCurvesView:
    view = ProbabilityCurvesView()
    shown(qtbot, view)
    return view


def test_that_a_dense_token_is_told_to_have_no_candidates(view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates())
    view.set_curves(None)
    assert view.message == NO_DRAFT
    assert view.accessibleDescription() == NO_DRAFT
    assert view.canvas.isHidden()
    assert view.legend.isHidden()


def test_that_the_prefill_token_is_told_apart_from_a_dense_run(view: ProbabilityCurvesView) -> None:
    view.set_curves(None, PREFILL)
    assert view.message == PREFILL
    view.clear()
    assert view.message == NO_TOKEN


def test_that_curves_take_the_place_of_the_sentence(view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates())
    assert view.message == ""
    assert not view.canvas.isHidden()


def test_that_nothing_is_laid_out_anew_where_a_sentence_stood_for_a_while(view: ProbabilityCurvesView) -> None:
    view.show()
    view.set_curves(candidates())
    QApplication.processEvents()
    sizes: list[QSize] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if isinstance(event, QResizeEvent):
                sizes.append(event.size())
            return False

    watch, place = Watch(view), view.canvas.geometry()
    view.canvas.installEventFilter(watch)
    view.set_curves(None, PREFILL)
    QApplication.processEvents()
    view.set_curves(candidates())
    QApplication.processEvents()
    assert sizes == []
    assert view.canvas.geometry() == place


@pytest.mark.parametrize("layers", [(), (11,), (11, 12, 13), tuple(range(29))])
def test_that_any_number_of_evaluated_layers_is_shown(view: ProbabilityCurvesView, layers: tuple[int, ...]) -> None:
    view.set_curves(candidates(layers, exit_layer=0, emitted=-1))
    assert not painted(view).isNull()
    assert "in flight" in view.accessibleDescription()


def test_that_the_x_axis_spans_all_layers_whichever_were_evaluated(view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates((20, 21)))
    assert view.view.viewRange()[0] == [0.5, 30.5]


def test_that_the_emitted_candidate_is_drawn_differently(view: ProbabilityCurvesView) -> None:
    pictures = set()
    for emitted in (-1, 0, 1, 2, 3):
        view.set_curves(candidates(emitted=emitted))
        pictures.add(bytes(painted(view).constBits()))
    assert len(pictures) == 5


def test_that_no_two_candidates_share_line_style_or_marker() -> None:
    lines, markers = zip(*STYLES, strict=True)
    assert len(set(lines)) == len(set(markers)) == 4


def test_that_hiding_the_scores_gives_their_room_to_the_curves(view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates())
    assert view.view.viewRange()[1][0] < STRIP[0]
    with_scores = painted(view)
    view.score_box.click()
    assert view.view.viewRange()[1][0] > STRIP[1]
    assert painted(view) != with_scores
    view.score_box.click()
    assert painted(view) == with_scores


def test_that_toggling_the_scores_of_no_token_changes_nothing(view: ProbabilityCurvesView) -> None:
    view.score_box.setChecked(False)
    assert view.message == NO_TOKEN


@pytest.mark.parametrize(("layer", "label"), [(23, "exit 23"), (30, "exit 30, full depth")])
def test_that_the_exit_is_labelled_counting_layers_from_one(layer: int, label: str) -> None:
    assert exit_label(candidates(exit_layer=layer)) == label


def test_that_the_readout_tells_all_values_and_whether_an_exit_was_proposed() -> None:
    text = readout(candidates(), 22, DARK)
    assert "<b>layer 23</b> · score 0.80 &gt; 0.50" in text
    assert "<b>·blue</b>" in text
    assert "0.900" in text
    assert "·&lt;red&gt;" in text
    assert "score 0.20 ≤ 0.50" in readout(candidates(), 11, DARK)


@pytest.mark.parametrize(("layer", "words"), [(3, "not evaluated"), (27, "not run: the token left at 23")])
def test_that_the_readout_says_why_a_layer_has_no_values(layer: int, words: str) -> None:
    assert words in readout(candidates(), layer, DARK)


def test_that_a_layer_is_held_against_its_own_threshold(view: ProbabilityCurvesView) -> None:
    made = candidates()
    own = made.thresholds.copy()
    own[11:16] = 0.15
    strict = replace(made, thresholds=own)
    assert "score 0.20 ≤ 0.50" in readout(made, 11, LIGHT)
    assert "score 0.20 &gt; 0.15" in readout(strict, 11, LIGHT)
    for curves, level in ((made, 0.5), (strict, 0.15)):
        view.set_curves(curves)
        assert {one: dashes_at(view, 14, one) > 0 for one in (0.15, 0.5)} == {one: one == level for one in (0.15, 0.5)}


def dashes_at(view: ProbabilityCurvesView, layer: int, score: float) -> int:
    """Pixels of the threshold's line beside this place of the strip."""
    image = painted(view)
    at = view.canvas.pos() + pixel(view, layer, float(strip_y(score)))
    near = [(at.x() + x, at.y() + y) for x in range(-8, 9) for y in (-1, 0, 1)]
    return sum(image.pixelColor(*place).name() == DARK.muted for place in near)


def test_that_a_very_long_token_text_is_cut_in_the_readout() -> None:
    made = candidates()
    texts = ("x" * 400, *made.candidate_texts[1:])
    made = type(made)(**{name: getattr(made, name) for name in made.__slots__} | {"candidate_texts": texts})
    assert "x" * 40 not in readout(made, 22, DARK)


def test_that_a_click_selects_the_layer_below_it(qtbot: QtBot, view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates())
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        click(qtbot, view, 17.0, 0.5)
    assert asked.args == [Selection(3, 16)]


@pytest.mark.parametrize(
    ("start", "key", "layer"),
    [
        (15, Qt.Key.Key_Right, 19),
        (15, Qt.Key.Key_Left, 11),
        (17, Qt.Key.Key_Right, 19),
        (17, Qt.Key.Key_Left, 15),
        (22, Qt.Key.Key_Right, 22),
        (None, Qt.Key.Key_Right, 11),
        (None, Qt.Key.Key_Left, 22),
        (15, Qt.Key.Key_Home, 11),
        (15, Qt.Key.Key_End, 22),
    ],
)
def test_that_arrow_keys_go_from_one_evaluated_layer_to_the_next(
    qtbot: QtBot, view: ProbabilityCurvesView, start: int | None, key: Qt.Key, layer: int
) -> None:
    view.set_curves(candidates())
    view.set_selection(Selection(3, start))
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        qtbot.keyClick(view, key)
    assert asked.args == [Selection(3, layer)]


def test_that_the_selected_layer_is_highlighted_in_both_themes(view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates())
    for theme in (DARK, LIGHT):
        view.apply_theme(theme)
        view.set_selection(Selection(3))
        plain = painted(view)
        view.set_selection(Selection(3, 15))
        assert painted(view) != plain


def test_that_a_screen_reader_hears_the_candidates_at_the_last_layer(view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates())
    assert view.accessibleDescription() == (
        "Token 4, 4 of 30 layers evaluated; exit 23. At layer 23: ·blue 0.90, ·<red> 0.05, ·하늘 0.03, ·so 0.02."
    )


@pytest.mark.parametrize("width", [120, 700])
def test_that_an_expected_legend_looks_as_one_that_was_not(qtbot: QtBot, width: int) -> None:
    pictures = []
    for expected in (False, True):
        legend = CandidateLegend()
        qtbot.addWidget(legend)
        legend.set_entries(tuple(Entry(text, 0.3, False) for text in ("a", "b")))
        legend.resize(width, 40)
        coming = tuple(Entry(f"·text {i}", 0.1 * i, i == 1) for i in range(4))
        if expected:
            legend.expect(coming)
        legend.set_entries(coming)
        legend.setAutoFillBackground(True)
        legend.setPalette(QPalette(QColor(DARK.surface)))
        pictures.append(legend.grab().toImage())
    assert alike(*pictures)


@pytest.mark.parametrize("width", [120, 300, 700])
def test_that_the_legend_fits_whatever_the_texts(qtbot: QtBot, width: int) -> None:
    legend = CandidateLegend()
    qtbot.addWidget(legend)
    legend.set_entries(tuple(Entry("·incomprehensibilities" * 3, 0.4, i == 1) for i in range(4)))
    legend.resize(width, legend.heightForWidth(width))
    rows = legend._rows(width, 4)
    assert sum(legend._column_widths(legend._entries, -(-4 // rows))) <= max(width, 2 * 40)
    assert not legend.grab().isNull()
    assert legend.toolTip().count("·incomprehensibilities") == 12


def test_that_what_an_audit_adds_is_drawn_apart_from_what_the_run_computed() -> None:
    assert runs([0, 1, 2, 3, 4, 5, 6], {2, 3}, exit_layer=5) == [
        (THIN, [0, 1, 2]),
        (SOLID, [2, 3]),
        (THIN, [3, 4]),
        (DOTTED, [4, 5, 6]),
    ]
    assert runs([2, 5, 9], {2, 5, 9}, exit_layer=10) == [(SOLID, [2, 5, 9])]
    assert runs([0, 1, 2], {0, 1}, exit_layer=0) == [(SOLID, [0, 1]), (THIN, [1, 2])]


def test_that_an_audited_token_is_drawn_at_all_layers_and_its_silent_scores_too(view: ProbabilityCurvesView) -> None:
    view.set_curves(candidates())
    live = painted(view)
    view.set_curves(audited(candidates()))
    with_scores = painted(view)
    assert with_scores != live
    assert "At layer 30" in view.accessibleDescription()


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (3, "not evaluated<br>audited score 0.90 &gt; 0.50"),
        (27, "not run: the token left at 23<br>audited score 0.90"),
        (22, "· score 0.80 &gt; 0.50"),
    ],
)
def test_that_the_readout_of_an_audited_layer_has_values_and_says_who_computed_them(layer: int, words: str) -> None:
    text = readout(audited(candidates()), layer, DARK)
    assert words in text
    assert "<table" in text


def test_that_the_whole_vocabulary_can_be_chosen_where_it_was_audited(
    qtbot: QtBot, view: ProbabilityCurvesView
) -> None:
    view.set_curves(audited(candidates()))
    local = painted(view)
    view.full_button.click()
    assert painted(view) != local
    assert "0.090" in (view.readout(23, 0.5) or "")
    assert "in the whole vocabulary: " in view.accessibleDescription()
    view.local_button.click()
    assert painted(view) == local


@pytest.mark.parametrize(("exit_layer", "why"), [(23, "was not audited"), (0, "once the token has left")])
def test_that_without_an_audit_the_toggle_says_why_it_cannot_be_used(
    view: ProbabilityCurvesView, exit_layer: int, why: str
) -> None:
    view.set_curves(candidates(exit_layer=exit_layer))
    assert not view.full_button.isEnabled()
    assert why in view.full_button.toolTip()
    view.set_curves(audited(candidates()))
    assert view.full_button.isEnabled()
    assert "all stay low" in view.full_button.toolTip()


def test_that_the_choice_of_the_whole_vocabulary_outlives_a_token_without_audit(view: ProbabilityCurvesView) -> None:
    view.set_curves(audited(candidates()))
    view.full_button.click()
    view.set_curves(candidates(exit_layer=0, emitted=-1))
    assert view.local_button.isChecked()
    view.set_curves(audited(candidates()))
    assert view.full_button.isChecked()
    assert view.full


def test_that_arrow_keys_visit_every_layer_of_an_audited_token(qtbot: QtBot, view: ProbabilityCurvesView) -> None:
    view.set_curves(audited(candidates()))
    view.set_selection(Selection(3, 22))
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert asked.args == [Selection(3, 23)]
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        qtbot.keyClick(view, Qt.Key.Key_End)
    assert asked.args == [Selection(3, DEPTH - 1)]


def test_that_only_an_audit_puts_layers_that_did_not_run_into_the_legend() -> None:
    assert "not run" in ProbabilityCurvesView.legend_html(DARK, audited=True)
    assert "not run" not in ProbabilityCurvesView.legend_html(DARK)
