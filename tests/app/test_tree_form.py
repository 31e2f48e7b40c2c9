from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.settings_dock import SettingsPanel
from app.tree_form import FIRST_SPEC, SPEC, TreeForm, size_words
from core.choices import Mapping, Policy
from core.config import EAGLE_SHAPE, SamplingSettings, TreeSettings
from core.errors import UserError
from tests.app.settings_form import BARE, FACTS


@pytest.fixture
def form(qtbot: QtBot) -> TreeForm:
    made = TreeForm()
    qtbot.addWidget(made)
    made.show()
    return made


def choose_shape(form: TreeForm, shape: str) -> None:
    form.shape.setCurrentIndex(form.shape.findData(shape))


@pytest.mark.parametrize(
    "tree",
    [
        TreeSettings(),
        TreeSettings("dynamic", 12, 3, 5, Mapping.MEAN, True),
        TreeSettings(EAGLE_SHAPE, mapping=Mapping.INDEPENDENT),
        TreeSettings("8-4-2"),
    ],
)
def test_that_a_tree_comes_out_of_the_form_as_it_went_in(form: TreeForm, tree: TreeSettings) -> None:
    form.setValue(tree)
    assert form.value() == tree
    form.check()


@pytest.mark.parametrize(
    ("typed", "words"),
    [("", "has no levels"), ("4-", "is none"), ("4-0", "is none"), ("9-9-9", "at most 128"), ("-", "is none")],
)
def test_that_what_is_no_tree_is_said_while_it_is_typed_and_refused_when_it_is_to_run(
    form: TreeForm, typed: str, words: str
) -> None:
    choose_shape(form, SPEC)
    form.spec.setText(typed)
    assert form.value().shape == FIRST_SPEC
    assert words in form.note.text()
    with pytest.raises(UserError, match=words):
        form.check()
    form.spec.setText("2-2")
    assert form.value().shape == "2-2"
    assert form.note.text() == "6 draft nodes in 2 levels, 4 hyper-tokens"
    form.check()


def test_that_only_what_the_shape_uses_is_shown(form: TreeForm) -> None:
    parts = {"spec": form.spec, "nodes": form.nodes, "mapping": form.mapping, "ngrams": form.ngrams}
    for shape, shown in (
        ("off", set[str]()),
        ("dynamic", {"nodes", "mapping", "ngrams"}),
        (EAGLE_SHAPE, {"mapping", "ngrams"}),
        (SPEC, {"spec", "mapping", "ngrams"}),
    ):
        choose_shape(form, shape)
        assert {name for name, part in parts.items() if part.isVisible()} == shown
    form.allow_mapping(False)
    assert not form.mapping.isVisible()


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (TreeSettings(), "off"),
        (TreeSettings("dynamic"), "dynamic, 24 nodes"),
        (TreeSettings("4-2", mapping=Mapping.MEAN, ngrams=True), "4-2, mean, n-grams"),
    ],
)
def test_that_the_folded_section_says_what_it_holds(form: TreeForm, tree: TreeSettings, words: str) -> None:
    form.setValue(tree)
    assert form.summary() == words


def test_that_the_size_of_a_static_tree_is_counted() -> None:
    assert size_words(TreeSettings("4-2-2-1-1")) == "60 draft nodes in 5 levels, 16 hyper-tokens"
    assert size_words(TreeSettings("1")) == "1 draft node in 1 level, 1 hyper-token"


def test_that_a_run_gets_the_tree_only_where_a_drafter_can_grow_it(qtbot: QtBot) -> None:
    panel, tree = SettingsPanel(), TreeSettings("4-2")
    qtbot.addWidget(panel)
    panel.set_model(FACTS)
    panel.set_values(replace(panel.values(), policy=Policy.DENSE, tree=tree))
    assert panel.settings(True).tree == tree
    panel.set_model(BARE)
    assert panel.settings(True).tree == TreeSettings()
    assert panel.values().tree == tree


def test_that_a_tree_with_a_temperature_is_refused_in_the_form(qtbot: QtBot) -> None:
    panel = SettingsPanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.set_model(FACTS)
    panel.set_values(replace(panel.values(), tree=TreeSettings("4-2"), sampling=SamplingSettings(0.7)))
    with pytest.raises(UserError, match="greedy decoding only"):
        panel.settings(True)
    assert panel.note.isVisible()
    assert "temperature to 0" in panel.note.text()


def test_that_an_unfinished_tree_stands_in_the_way_of_a_run_and_of_nothing_else(qtbot: QtBot) -> None:
    panel = SettingsPanel()
    qtbot.addWidget(panel)
    panel.set_model(FACTS)
    choose_shape(panel.tree, SPEC)
    panel.tree.spec.setText("4-")
    with pytest.raises(UserError, match="is none"):
        panel.settings(True)
    assert panel.values().tree.shape == FIRST_SPEC
