"""Explanations and terms: there for every panel, with a way to each, and without a link that leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt, QUrl
from pytestqt.qtbot import QtBot

from app.explanations import explanation_of, explanations, slug_of
from app.explanations_dialog import ExplanationsDialog
from app.glossary import found, terms
from app.places import PLACES, PROMPT, Place
from tests.app.window_stage import WindowStage

LINK = re.compile(r"\]\((?P<file>[^)#]*)#(?P<slug>[^)]*)\)")


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()


def opened(stage: WindowStage) -> ExplanationsDialog:
    dialog = stage.window.explainer.dialog
    assert dialog is not None
    return dialog


@pytest.mark.parametrize("place", [None, *PLACES], ids=lambda place: place.key if place else "window")
def test_that_every_place_is_explained_with_how_to_read_it_and_the_paper(place: Place | None) -> None:
    text = explanation_of(place).text
    what, *_ = text.split("\n\n")
    assert len(what) > 40
    assert "**How to read it.**" in text
    assert "**In the papers.**" in text


def test_that_nothing_is_explained_that_is_not_there() -> None:
    assert {entry.title for entry in explanations()} == {"The window", *(place.title for place in PLACES)}


def test_that_every_link_leads_to_another_term() -> None:
    slugs = {term.slug for term in terms()}
    for entry in (*explanations(), *terms()):
        links = list(LINK.finditer(entry.text))
        assert {link["slug"] for link in links} <= slugs, entry.title
        assert entry.text.count("](") == len(links), f"{entry.title} has a link of another kind"
        # so that they also work where the files are read as they are
        assert {link["file"] for link in links} <= {"" if entry in terms() else "glossary.md"}, entry.title
        assert entry not in terms() or entry.slug not in {link["slug"] for link in links}, entry.title


def test_that_the_glossary_is_in_order_says_little_and_leads_on() -> None:
    titles = [term.title for term in terms()]
    assert titles == sorted(titles, key=str.lower)
    assert len({slug_of(title) for title in titles}) == len(titles)
    assert all(len(re.findall(r"[.!?]( |$)", re.sub(r"\([^)]*\)", "", term.text))) <= 4 for term in terms())
    assert sum("](" in term.text for term in terms()) > len(terms()) / 2


def test_that_a_search_finds_titles_first_and_all_words() -> None:
    assert next(entry.title for entry in found(terms(), "exit layer")) == "Exit layer"
    assert "Hyper-token" in [entry.title for entry in found(terms(), "paths draft")]
    assert found(terms(), "no such word anywhere") == []
    assert found(terms(), "") == list(terms())


def test_that_the_panel_with_the_focus_is_explained_by_its_key_and_any_by_its_button(stage: WindowStage) -> None:
    stage.window.activateWindow()
    with stage.qtbot.waitActive(stage.window):
        stage.window.prompt.text.setFocus()
    stage.trigger("explain")
    dialog = opened(stage)
    assert dialog.entry == explanation_of(PROMPT)
    for place in PLACES:
        stage.window.panels[place.key].header.explain_button.click()
        assert opened(stage) is dialog, "one window for all"
        assert dialog.entry == explanation_of(place)
        assert place.title in dialog.text.toPlainText()
    dialog.close()


def test_that_links_lead_on_and_back_returns(stage: WindowStage) -> None:
    stage.trigger("glossary")
    dialog = opened(stage)
    first = dialog.entry
    assert first == terms()[0]
    assert not dialog.back.isEnabled()
    for term in terms():
        dialog.follow(QUrl(f"glossary.md#{term.slug}"))
        assert dialog.entry == term
        assert dialog.list.currentItem().text() == term.title
    for _ in terms()[1:]:
        dialog.back.click()
    assert dialog.entry == first
    dialog.close()
    assert stage.window.explainer.dialog is None


def test_that_the_search_narrows_the_list_and_a_choice_is_explained(stage: WindowStage) -> None:
    stage.trigger("glossary")
    dialog = opened(stage)
    dialog.search.setText("hyper-token")
    titles = [dialog.list.item(row).text() for row in range(dialog.list.count())]
    assert titles[0] == "Panels"
    assert "Hyper-token" in titles
    assert "Prompt" not in titles
    stage.qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    dialog.list.setCurrentRow(titles.index("Hyper-token"))
    assert dialog.entry is not None
    assert dialog.entry.title == "Hyper-token"
    dialog.close()
