"""The trained parts' card in words and tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from PySide6.QtWidgets import QAbstractItemView, QLabel, QTableWidget
from pytestqt.qtbot import QtBot

from app.parts_card import Section, sections
from app.parts_dialog import NO_MODEL, NOTHING, PartsDialog
from app.settings_dock import ModelFacts
from tests.app.cards import card, point

FACTS = ModelFacts("fake", 12, 256, has_parts=True, card=card())


def titled(title: str, values: dict[str, Any] | None = None) -> Section:
    return next(one for one in sections(values or card()) if one.title == title)


def rows(title: str) -> dict[str, tuple[str, ...]]:
    table = titled(title).table
    assert table is not None
    assert all(len(row) == len(table.heads) for row in table.rows)
    return {row[0]: row[1:] for row in table.rows}


def test_that_the_card_is_told_in_the_order_of_the_training() -> None:
    titles = [section.title for section in sections(card())]
    assert titles == [
        *("Training", "Drafter", "Low-rank head", "Exit lens", "Predictors", "Thresholds"),
        *("Offline profile", "Operating point", "AdaInfer"),
    ]


def test_that_the_drafters_hits_are_shown_overall_and_by_category() -> None:
    assert rows("Drafter") == {"all": ("16,222", "38.6%", "59.8%"), "code": ("4,000", "45.0%", "66.0%")}


def test_that_predictors_are_shown_as_means_and_by_layer_counted_from_1() -> None:
    found = rows("Predictors")
    assert found["mean, every layer watched"] == ("88.0%", "0.810", "0.043", "40.0%")
    assert list(found)[2:] == [f"layer {number}" for number in range(1, 12)]


def test_that_the_recommended_threshold_is_marked_in_words() -> None:
    assert list(rows("Thresholds")) == ["0.50", "0.95 ← recommended"]


def test_that_a_point_of_the_lens_says_so_and_alone_is_marked_where_it_is_recommended() -> None:
    tuned = [point(0.95, 0.991, 10.1) | {"lens": "tuned"}]
    values = card() | {"frontier": [*card()["frontier"], *tuned], "recommended": {"threshold": 0.95, "lens": "tuned"}}
    table = titled("Thresholds", values).table
    assert table is not None
    assert [row[0] for row in table.rows] == ["0.50", "0.95", "0.95, with the lens ← recommended"]


def test_that_the_low_rank_head_stands_beside_a_trimmed_and_the_full_one() -> None:
    found = rows("Low-rank head")
    assert list(found) == ["rank 72", "6,216 most used tokens", "full"]
    assert found["rank 72"] == ("0.981", "38.0%", "59.0%")
    assert dict(titled("Low-rank head").facts)["Pays"] == "yes, from ρτ 0.921 on"


def test_that_the_lens_shows_each_layer_without_and_with_it() -> None:
    assert rows("Exit lens")["layer 1"] == ("10.0% → 30.0%", "0.0% → 4.0%")
    assert dict(titled("Exit lens").facts)["Costs"] == "2.3% of a layer"


def test_that_the_chosen_setting_is_marked_among_those_that_were_run() -> None:
    assert rows("Operating point")["cheapest above 99.0% ← recommended"] == ("99.2%", "10.80", "0.20", "1.07×")


def test_that_the_offline_profile_names_layers_from_1_most_exits_first() -> None:
    assert dict(titled("Offline profile").facts)["Exit layers met most"] == "10 (9×), 11 (5×), 9 (3×)"


def test_that_what_is_not_there_is_not_shown() -> None:
    assert sections({}) == ()
    assert sections({"recipe": {"epochs": 2}, "hit_rate": 0.5}) == ()
    assert [one.title for one in sections({"seed": 0})] == ["Training"]


anything = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(some.sampled_from(sorted(card())), anything)
def test_that_a_spoilt_entry_never_keeps_the_others_from_being_shown(name: str, spoilt: object) -> None:
    assert len(sections({**card(), name: spoilt})) >= 5


def test_that_the_dialog_shows_every_section_and_nothing_can_be_edited(qtbot: QtBot) -> None:
    dialog = PartsDialog(FACTS)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.tabs.count() == 9
    for table in dialog.findChildren(QTableWidget):
        assert table.editTriggers() == QAbstractItemView.EditTrigger.NoEditTriggers
        assert table.accessibleName()
    assert any("EAGLE-1" in label.text() for label in dialog.findChildren(QLabel))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (None, NO_MODEL),
        (
            ModelFacts("fake", 12, 256, has_parts=False, parts_problem="Make them with `train`."),
            "Make them with “train”.",
        ),
        (ModelFacts("fake", 12, 256, has_parts=True), NOTHING),
    ],
)
def test_that_the_dialog_says_in_a_sentence_why_there_is_nothing(
    qtbot: QtBot, facts: ModelFacts | None, words: str
) -> None:
    dialog = PartsDialog(facts)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.note.text() == words
    assert not dialog.tabs.isVisible()
