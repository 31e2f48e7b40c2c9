"""The settings form: only what can be run can be entered, and only what the policy uses is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.choices import CHECKS, DRAFT_HEADS, DTYPES, KV_POLICIES, LENSES, MAPPINGS, POLICIES, RECORDS
from app.form_values import FormValues
from app.model_form import LoadOptions
from app.settings_dock import ModelFacts, SettingsPanel
from core.choices import DType, Head, KVPolicy, Lens, Mapping, Policy, Record
from core.config import RunSettings, SamplingSettings
from core.errors import UserError
from tests.app.settings_form import BARE, FACTS, MEASURED, WHOLE, shown_form
from tests.app.test_form_values import FULL


@pytest.fixture
def form(qtbot: QtBot) -> SettingsPanel:
    return shown_form(qtbot)


def rows(form: SettingsPanel) -> dict[str, bool]:
    """By policy, whether it can be chosen."""
    box, enabled = form.exits.policy, Qt.ItemFlag.ItemIsEnabled
    found = range(box.count())
    return {box.itemData(row): bool(box.model().index(row, 0).flags() & enabled) for row in found if box.itemData(row)}


def test_that_every_member_of_the_cores_enums_is_offered() -> None:
    assert {choice.value for choice in POLICIES} == set(Policy)
    assert {choice.value for choice in KV_POLICIES} == set(KVPolicy)
    assert {choice.value for choice in RECORDS} == set(Record)
    assert {choice.value for choice in DTYPES} == {"", *DType}
    assert {choice.value for choice in LENSES} == set(Lens)
    assert {choice.value for choice in MAPPINGS} == set(Mapping)
    assert {choice.value for choice in CHECKS} == set(Head) - {Head.TRIMMED}
    assert {choice.value for choice in DRAFT_HEADS} == set(Head)


def test_that_an_untouched_form_yields_the_default_settings(form: SettingsPanel) -> None:
    assert form.settings(chat_template=True) == RunSettings()


@pytest.mark.parametrize("policy", Policy)
def test_that_a_runs_settings_come_out_of_the_form_as_they_went_in(form: SettingsPanel, policy: Policy) -> None:
    form.set_model(MEASURED)
    settings = replace(FULL, policy=policy).run_settings(chat_template=False)
    form.set_settings(settings)
    assert form.settings(chat_template=False) == settings


def test_that_everything_entered_comes_back_whatever_the_policy(form: SettingsPanel) -> None:
    form.set_values(FULL)
    assert form.values() == FULL


@pytest.mark.parametrize(("value", "kept"), [(-1, 0), (12, 11), (999, 11)])
def test_that_m_and_r_cannot_leave_the_models_range(form: SettingsPanel, value: int, kept: int) -> None:
    form.scheduler.offline.setValue(value)
    form.scheduler.radius.setValue(value)
    assert form.settings(True).scheduler.offline_layers == kept
    assert form.settings(True).scheduler.radius == kept


@pytest.mark.parametrize(("value", "kept"), [(-0.5, 0.0), (1.5, 1.0), (0.25, 0.25), (0.955, 0.955)])
def test_that_the_threshold_cannot_leave_0_to_1(form: SettingsPanel, value: float, kept: float) -> None:
    form.exits.threshold.setValue(value)
    assert form.settings(True).threshold == kept


@pytest.mark.parametrize(("value", "kept"), [(0, 1), (-5, 1), (300, 256)])
def test_that_max_tokens_cannot_be_none_nor_beyond_the_context(form: SettingsPanel, value: int, kept: int) -> None:
    form.max_tokens.setValue(value)
    assert form.settings(True).max_new_tokens == kept


@pytest.mark.parametrize(("value", "kept"), [(0, 1), (5, 5), (99, 12)])
def test_that_the_fixed_exit_layer_is_one_of_the_models(form: SettingsPanel, value: int, kept: int) -> None:
    form.set_values(FormValues(policy=Policy.FIXED))
    form.exits.fixed_layer.setValue(value)
    assert form.settings(True).fixed_layer == kept


def test_that_spin_box_and_slider_show_the_same_threshold(form: SettingsPanel) -> None:
    form.exits.threshold.slider.setValue(93)
    assert form.exits.threshold.value() == 0.93
    form.exits.threshold.setValue(0.07)
    assert form.exits.threshold.slider.value() == 7


def test_that_a_model_without_parts_greys_specee_out_beside_the_sentence_that_says_how_to_train(
    form: SettingsPanel,
) -> None:
    form.set_model(BARE)
    enabled = {policy for policy, can in rows(form).items() if can}
    assert enabled == {Policy.DENSE, Policy.CALM, Policy.FIXED, Policy.ORACLE, Policy.CUSTOM}
    assert form.settings(True).policy is Policy.DENSE
    assert form.exits.policy_note.isVisible()
    assert "Train it with “specee-viewer train”." in form.exits.policy_note.text()
    form.set_model(FACTS)
    assert form.settings(True).policy is Policy.SPECEE_T1T2
    assert not form.exits.policy_note.isVisible()


def test_that_adainfer_can_be_chosen_once_its_classifiers_are_trained(form: SettingsPanel) -> None:
    assert not rows(form)[Policy.ADAINFER_SVM]
    form.set_model(MEASURED)
    assert rows(form)[Policy.ADAINFER_SVM]
    assert rows(form)[Policy.ADAINFER_CRF]


def test_that_a_policy_that_cannot_be_chosen_says_why(form: SettingsPanel) -> None:
    box = form.exits.policy
    svm, t1 = (box.findData(policy.value) for policy in (Policy.ADAINFER_SVM, Policy.SPECEE_T1))

    def tip(row: int) -> str:
        return str(box.itemData(row, Qt.ItemDataRole.ToolTipRole))

    assert "“specee-viewer train --stage adainfer” makes them" in tip(svm)
    form.set_model(replace(FACTS, pieces_problems={"adainfer": "adainfer.safetensors is damaged."}))
    assert tip(svm) == "adainfer.safetensors is damaged."
    assert "SpecEE" in tip(t1)
    form.set_model(BARE)
    assert tip(t1) == "Train it with “specee-viewer train”."


SHOWN = {
    Policy.DENSE: {"tree"},
    Policy.SPECEE_T1: {"threshold", "profile", "kv_policy", "lens", "gate", "heads", "tree"},
    Policy.SPECEE_T1T2: {"threshold", "profile", "kv_policy", "scheduler", "lens", "gate", "heads", "tree"},
    Policy.CALM: {"confidence", "kv_policy", "lens"},
    Policy.FIXED: {"fixed_layer", "kv_policy", "lens"},
    Policy.ORACLE: {"kv_policy", "lens"},
    Policy.ADAINFER_SVM: {"kv_policy"},
    Policy.ADAINFER_CRF: {"kv_policy"},
    Policy.CUSTOM: {"own", "threshold", "kv_policy", "scheduler", "lens", "gate", "heads"},
}


@pytest.mark.parametrize("policy", Policy)
def test_that_only_what_the_policy_uses_is_shown(form: SettingsPanel, policy: Policy) -> None:
    form.set_model(MEASURED)
    form.set_values(replace(FULL, policy=policy))
    exits = form.exits
    inputs: dict[str, QWidget] = {
        "threshold": exits.threshold,
        "confidence": exits.confidence,
        "profile": exits.profile,
        "fixed_layer": exits.fixed_layer,
        "own": exits.own,
        "kv_policy": exits.kv_policy,
        "scheduler": form.scheduler,
        "lens": form.checks.lens,
        "gate": form.checks.gate,
        "heads": form.checks.draft_head,
        "tree": form.tree.shape,
    }
    assert {name for name, widget in inputs.items() if widget.isVisible()} == SHOWN[policy]
    assert form.sampling.temperature.isEnabled() == policy.samples
    assert form.sampling.note.isVisible() != policy.samples


def test_that_top_p_and_seed_matter_only_where_tokens_are_drawn(form: SettingsPanel) -> None:
    assert form.sampling.temperature.text() == "greedy"
    assert not form.sampling.seed.isEnabled()
    form.sampling.temperature.setValue(0.8)
    form.sampling.seed.setText("12345678901")
    assert form.settings(True).sampling == SamplingSettings(0.8, 1.0, 12345678901)
    form.sampling.seed.clear()
    assert form.settings(True).sampling.seed == 0


def test_that_a_policy_without_a_file_is_refused_in_the_form(form: SettingsPanel) -> None:
    form.set_values(FormValues(policy=Policy.CUSTOM))
    with pytest.raises(UserError):
        form.settings(True)
    assert "FILE.py:Class" in form.note.text()
    form.exits.own.setValue("mine.py:Mine")
    assert not form.note.isVisible()
    assert form.settings(True).custom == "mine.py:Mine"


def test_that_audit_says_what_it_costs_and_gives(form: SettingsPanel) -> None:
    assert not form.audit_note.isVisible()
    form.record.setCurrentIndex(form.record.findData(Record.AUDIT.value))
    assert "Slower" in form.audit_note.text()
    assert form.settings(True).record is Record.AUDIT


def choosable(form: SettingsPanel) -> list[bool]:
    boxes = (form.checks.lens, form.checks.check, form.checks.draft_head)
    return [bool(box.model().index(1, 0).flags() & Qt.ItemFlag.ItemIsEnabled) for box in boxes]


def test_that_what_the_parts_lack_cannot_be_chosen_and_the_form_says_why(form: SettingsPanel) -> None:
    assert choosable(form) == [False, False, False]
    assert "“specee-viewer train --stage lens” makes one" in form.checks.note.text()
    assert "low-rank head" in form.checks.note.text()
    form.set_model(WHOLE)
    assert choosable(form) == [True, True, True]
    assert not form.checks.note.isVisible()
    damaged = replace(
        WHOLE, pieces=frozenset({"slim", "trimmed"}), pieces_problems={"lens": "lens.safetensors is damaged."}
    )
    form.set_model(damaged)
    assert choosable(form) == [False, True, True]
    assert form.checks.note.text() == "lens.safetensors is damaged."


def test_that_a_policy_without_checks_hears_nothing_of_the_low_rank_head(form: SettingsPanel) -> None:
    form.set_values(FormValues(policy=Policy.CALM))
    assert "low-rank" not in form.checks.note.text()


# Loading


def test_that_dtype_and_threads_ask_for_a_reload(form: SettingsPanel, qtbot: QtBot) -> None:
    form.set_load_options(LoadOptions())
    assert not form.model.note.isVisible()
    form.model.dtype.setCurrentIndex(form.model.dtype.findData(DType.BFLOAT16.value))
    form.model.threads.setValue(1)
    assert form.load_options() == LoadOptions(DType.BFLOAT16, 1)
    assert "Reload" in form.model.note.text()
    with qtbot.waitSignal(form.reload_requested, timeout=1000):
        form.model.reload.click()
    form.set_load_options(LoadOptions(DType.BFLOAT16, 1))
    assert form.model.note.text() == ""


def test_that_only_devices_that_are_there_are_offered(form: SettingsPanel) -> None:
    box = form.model.device
    assert ([box.itemText(row) for row in range(box.count())], box.isEnabled()) == (["cpu"], False)
    form.set_model(replace(FACTS, devices=("cpu", "cuda")))
    assert ([box.itemText(row) for row in range(box.count())], box.isEnabled()) == (["cpu", "cuda", "auto"], True)
    form.set_load_options(LoadOptions(device="cuda"))
    form.set_model(replace(FACTS, devices=("cpu", "cuda")))
    assert form.load_options().device == "cuda"


def test_that_a_run_under_way_keeps_the_model_from_being_reloaded(form: SettingsPanel) -> None:
    form.set_running(True)
    assert not form.model.reload.isEnabled()
    form.set_running(False)
    assert form.model.reload.isEnabled()


def test_that_what_the_model_cannot_do_is_refused_in_the_form(form: SettingsPanel) -> None:
    form.scheduler.offline.setMaximum(50)  # as a range that does not fit would let through
    form.scheduler.offline.setValue(40)
    with pytest.raises(UserError, match="offline layers M is 40"):
        form.settings(True)
    assert "offline layers M is 40" in form.note.text()


# Looks


@pytest.mark.parametrize("facts", [MEASURED, WHOLE, BARE])
def test_that_no_input_is_cut_off_in_a_narrow_dock(qtbot: QtBot, facts: ModelFacts) -> None:
    area, form = QScrollArea(), SettingsPanel()
    qtbot.addWidget(area)
    area.setWidgetResizable(True)
    area.setWidget(form)
    area.resize(268, 500)
    area.show()
    form.set_model(facts)
    form.set_unfolded(["scheduler", "checks", "tree", "sampling", "model"])
    for policy in Policy:
        form.set_values(replace(FULL, policy=policy))
        form.layout().activate()
        assert form.minimumSizeHint().width() <= area.viewport().width(), policy


def test_that_tab_goes_from_top_to_bottom(form: SettingsPanel) -> None:
    visited: list[Any] = []
    widget = form.exits.policy.nextInFocusChain()
    while widget is not form.exits.policy:
        visited.append(widget)
        widget = widget.nextInFocusChain()
    inputs = [form.exits.profile, form.exits.threshold.spin, form.exits.kv_policy, form.record, form.max_tokens]
    folds = [form.folds[0].header, form.scheduler.window_n, form.folds[1].header, form.checks.lens, form.checks.gate]
    folds += [form.checks.check, form.checks.draft_head, form.folds[2].header, form.tree.shape]
    folds += [form.folds[3].header, form.sampling.temperature, form.sampling.stop]
    folds += [form.folds[4].header, form.model.dtype, form.model.reload, form.model.parts]
    places = [visited.index(one) for one in [*inputs, *folds]]
    assert places == sorted(places)
