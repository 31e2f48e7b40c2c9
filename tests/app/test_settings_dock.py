"""The settings form: only what can be run can be entered."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.settings_dock import ModelFacts, SettingsPanel
from core.config import DType, KVPolicy, Policy, RunSettings, SchedulerSettings
from core.errors import UserError

FACTS = ModelFacts("fake", depth=12, context=256, has_parts=True, parts="made for this model")
BARE = ModelFacts("fake", depth=12, context=256, has_parts=False, parts_problem="Train it with `specee-viewer train`.")


@pytest.fixture
def form(qtbot: QtBot) -> SettingsPanel:
    form = SettingsPanel()
    qtbot.addWidget(form)
    form.show()
    form.set_model(FACTS)
    return form


def test_that_an_untouched_form_yields_the_default_settings(form: SettingsPanel) -> None:
    assert form.settings(chat_template=True) == RunSettings()


def test_that_entered_settings_come_out_as_they_went_in(form: SettingsPanel) -> None:
    settings = RunSettings(
        policy=Policy.SPECEE_T1T2,
        threshold=0.93,
        scheduler=SchedulerSettings(window=9, radius=1, offline_layers=3, distinct=True),
        kv_policy=KVPolicy.HOLE,
        max_new_tokens=77,
        chat_template=False,
    )
    form.set_settings(settings)
    assert form.settings(chat_template=False) == settings


@pytest.mark.parametrize(("value", "kept"), [(-1, 0), (12, 11), (999, 11)])
def test_that_m_and_r_cannot_leave_the_models_range(form: SettingsPanel, value: int, kept: int) -> None:
    form.offline.setValue(value)
    form.radius.setValue(value)
    assert form.settings(True).scheduler.offline_layers == kept
    assert form.settings(True).scheduler.radius == kept


@pytest.mark.parametrize(("value", "kept"), [(-0.5, 0.0), (1.5, 1.0), (0.25, 0.25)])
def test_that_the_threshold_cannot_leave_0_to_1(form: SettingsPanel, value: float, kept: float) -> None:
    form.threshold.setValue(value)
    assert form.settings(True).threshold == kept


@pytest.mark.parametrize(("value", "kept"), [(0, 1), (-5, 1), (300, 256)])
def test_that_max_tokens_cannot_be_none_nor_beyond_the_context(form: SettingsPanel, value: int, kept: int) -> None:
    form.max_tokens.setValue(value)
    assert form.settings(True).max_new_tokens == kept


def test_that_spin_box_and_slider_show_the_same_threshold(form: SettingsPanel) -> None:
    form.slider.setValue(93)
    assert form.threshold.value() == 0.93
    form.threshold.setValue(0.07)
    assert form.slider.value() == 7


def test_that_a_model_without_parts_greys_specee_out_beside_the_sentence_that_says_how_to_train(
    form: SettingsPanel,
) -> None:
    form.set_model(BARE)
    enabled = [bool(form.policy.model().index(row, 0).flags().value & 32) for row in range(form.policy.count())]
    assert enabled == [False, False, True]
    assert form.settings(True).policy is Policy.DENSE
    assert form.policy_note.isVisible()
    assert "Train it with “specee-viewer train”." in form.policy_note.text()
    form.set_model(FACTS)
    assert form.settings(True).policy is Policy.SPECEE_T1T2
    assert not form.policy_note.isVisible()


@pytest.mark.parametrize(
    ("policy", "threshold", "scheduler"),
    [(Policy.DENSE, False, False), (Policy.SPECEE_T1, True, False), (Policy.SPECEE_T1T2, True, True)],
)
def test_that_only_what_the_policy_uses_can_be_edited(
    form: SettingsPanel, policy: Policy, threshold: bool, scheduler: bool
) -> None:
    form.set_settings(RunSettings(policy=policy))
    assert form.threshold.isEnabled() == form.kv_policy.isEnabled() == threshold
    assert form.window_n.isEnabled() == form.distinct.isEnabled() == scheduler


def test_that_dtype_and_threads_ask_for_a_reload(form: SettingsPanel, qtbot: QtBot) -> None:
    form.set_load_options(None, None)
    assert not form.note.isVisible()
    form.dtype.setCurrentIndex(2)
    form.threads.setValue(1)
    assert form.load_options() == (DType.BFLOAT16, 1)
    assert "Reload" in form.note.text()
    with qtbot.waitSignal(form.reload_requested, timeout=1000):
        form.reload.click()
    form.set_load_options(DType.BFLOAT16, 1)
    assert form.note.text() == ""


def test_that_a_run_under_way_keeps_the_model_from_being_reloaded(form: SettingsPanel) -> None:
    form.set_running(True)
    assert not form.reload.isEnabled()
    form.set_running(False)
    assert form.reload.isEnabled()


def test_that_what_the_model_cannot_do_is_refused_in_the_form(
    form: SettingsPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    form.offline.setMaximum(50)  # as a range that does not fit would let through
    form.offline.setValue(40)
    with pytest.raises(UserError, match="offline layers M is 40"):
        form.settings(True)
    assert "offline layers M is 40" in form.note.text()
