"""Profiles in the settings form: the paper's values, the model's recommendation, and one's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.form_values import FOLLOW_MODEL
from app.profiles import CUSTOM, PAPER
from app.settings_dock import ModelFacts, SettingsPanel
from core.choices import Head, Lens, Policy
from core.config import RunSettings, SchedulerSettings
from tests.app.cards import card
from tests.app.settings_form import MEASURED, WHOLE, shown_form


@pytest.fixture
def form(qtbot: QtBot) -> SettingsPanel:
    return shown_form(qtbot)


def profiles(form: SettingsPanel) -> list[str]:
    return [form.exits.profile.itemData(row) for row in range(form.exits.profile.count())]


def choose_profile(form: SettingsPanel, key: str) -> None:
    form.exits.profile.setCurrentIndex(profiles(form).index(key))
    form.exits.profile.activated.emit(form.exits.profile.currentIndex())


def test_that_a_fresh_form_takes_the_models_recommendation(form: SettingsPanel) -> None:
    form.set_model(MEASURED)
    assert form.exits.profile.currentText() == "recommended"
    assert form.settings(True).threshold == 0.95
    assert "99.2% agreement, mean exit 11.4 of 12" in form.exits.measured.text()


def test_that_without_a_recommendation_a_fresh_form_takes_the_papers_values(form: SettingsPanel) -> None:
    assert form.exits.profile.currentText() == PAPER
    assert form.values().profile == FOLLOW_MODEL  # the next model may have one


def test_that_choosing_a_profile_enters_its_values_and_shows_its_figures(form: SettingsPanel) -> None:
    form.set_model(MEASURED)
    form.scheduler.window_n.setValue(9)
    choose_profile(form, PAPER)
    assert form.settings(True).threshold == 0.5
    assert form.settings(True).scheduler == SchedulerSettings()
    assert "83.6% agreement" in form.exits.measured.text()


def test_that_a_changed_value_makes_the_profile_custom_and_changing_it_back_names_it_again(
    form: SettingsPanel,
) -> None:
    form.set_model(MEASURED)
    form.exits.threshold.setValue(0.9)
    assert form.exits.profile.currentText() == CUSTOM
    assert "Not measured" in form.exits.measured.text()
    form.exits.threshold.setValue(0.95)
    assert form.exits.profile.currentText() == "recommended"
    form.scheduler.distinct.setChecked(True)
    assert form.exits.profile.currentText() == CUSTOM


def test_that_a_users_own_values_outlast_another_model(form: SettingsPanel) -> None:
    form.exits.threshold.setValue(0.83)
    form.set_model(MEASURED)
    assert form.exits.threshold.value() == 0.83
    assert form.exits.profile.currentText() == CUSTOM


def test_that_calms_confidence_is_no_part_of_a_profile(form: SettingsPanel) -> None:
    form.set_model(MEASURED)
    form.set_settings(RunSettings(policy=Policy.CALM, threshold=0.31))
    form.set_settings(RunSettings(policy=Policy.SPECEE_T1T2, threshold=0.95))
    assert form.exits.profile.currentText() == "recommended"
    assert form.values().confidence == 0.31


TUNED = {"threshold": 0.4, "lens": "tuned", "gate": 0.25, "check": "slim", "draft_head": "slim"}


def recommending(**point: object) -> ModelFacts:
    return replace(WHOLE, card={**card(), "recommended": {**TUNED, **point}})


def test_that_a_recommended_point_enters_lens_gate_and_heads_and_the_paper_s_takes_them_back(
    form: SettingsPanel,
) -> None:
    form.set_model(recommending(scheduler={"offline_layers": 3}))
    settings = form.settings(True)
    assert form.exits.profile.currentText() == "recommended"
    assert (settings.threshold, settings.lens, settings.gate) == (0.4, Lens.TUNED, 0.25)
    assert (settings.check, settings.draft_head, settings.scheduler.offline_layers) == (Head.SLIM, Head.SLIM, 3)
    choose_profile(form, PAPER)
    assert form.settings(True) == RunSettings()


def test_that_changing_the_gate_makes_the_profile_custom(form: SettingsPanel) -> None:
    form.set_model(recommending())
    form.checks.gate.setValue(0.3)
    assert form.exits.profile.currentText() == CUSTOM
    form.checks.gate.setValue(0.25)
    assert form.exits.profile.currentText() == "recommended"


def test_that_layers_own_thresholds_come_with_a_profile_and_leave_with_the_threshold(form: SettingsPanel) -> None:
    form.set_model(recommending(layer_thresholds=[[3, 0.8]]))
    assert form.settings(True).layer_thresholds == ((3, 0.8),)
    form.checks.gate.setValue(0.3)
    assert form.settings(True).layer_thresholds == ((3, 0.8),)
    form.exits.threshold.setValue(0.5)
    assert form.settings(True).layer_thresholds == ()


def test_that_a_recommendation_the_parts_cannot_follow_is_not_offered(form: SettingsPanel) -> None:
    form.set_model(replace(recommending(), pieces=frozenset({"lens"})))
    assert profiles(form) == [PAPER, CUSTOM]


def test_that_the_folded_section_says_what_it_holds(form: SettingsPanel) -> None:
    form.set_model(recommending())
    assert form.checks.summary() == "tuned lens, gate 0.25, shortlist, slim drafts"
    choose_profile(form, PAPER)
    assert form.checks.summary() == "identity lens"
