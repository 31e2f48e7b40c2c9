"""What is remembered between launches, and what a spoilt settings file does."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QByteArray, QSettings

from app.settings import FIRST_PROMPT, RECENT_MODELS, Preferences, ThemeMode
from core.config import DEFAULT_MODEL, DType, KVPolicy, Policy, RunSettings, SchedulerSettings


@pytest.fixture
def store() -> QSettings:
    return QSettings("specee-viewer-tests", "settings")


def test_that_a_first_launch_has_a_prompt_the_default_model_and_no_wishes(store: QSettings) -> None:
    preferences = Preferences(store)
    assert preferences.prompt == FIRST_PROMPT
    assert preferences.model == DEFAULT_MODEL
    assert preferences.theme is ThemeMode.SYSTEM
    assert preferences.run_settings is None
    assert (preferences.dtype, preferences.threads) == (None, None)
    assert preferences.layout.isEmpty()
    assert preferences.geometry.isEmpty()


def test_that_everything_comes_back_as_it_was_put(store: QSettings) -> None:
    settings = RunSettings(
        policy=Policy.SPECEE_T1,
        threshold=0.93,
        scheduler=SchedulerSettings(7, 1, 4, True),
        kv_policy=KVPolicy.HOLE,
        max_new_tokens=33,
        chat_template=False,
    )
    written = Preferences(store)
    written.run_settings = settings
    written.prompt = "하늘은 왜 파란가요?\nIn two lines."
    written.theme = ThemeMode.LIGHT
    written.dtype = DType.BFLOAT16
    written.threads = 3
    written.layout = QByteArray(b"\x00\x01layout")
    store.sync()
    read = Preferences(QSettings("specee-viewer-tests", "settings"))
    assert read.run_settings == settings
    assert read.prompt == "하늘은 왜 파란가요?\nIn two lines."
    assert read.theme is ThemeMode.LIGHT
    assert (read.dtype, read.threads) == (DType.BFLOAT16, 3)
    assert read.layout == QByteArray(b"\x00\x01layout")


@pytest.mark.parametrize(
    "spoilt", ["{", "[]", "3", '{"policy": "magic"}', '{"policy": "dense", "threshold": 7}', "\x00", "null"]
)
def test_that_spoilt_run_settings_are_as_good_as_none(store: QSettings, spoilt: str) -> None:
    store.setValue("run/settings", spoilt)
    assert Preferences(store).run_settings is None


@pytest.mark.parametrize("spoilt", ["blue", "", 3, ["a", "b"]])
def test_that_spoilt_choices_are_the_default(store: QSettings, spoilt: object) -> None:
    for key in ("view/theme", "model/dtype", "model/threads", "window/geometry", "model/recent"):
        store.setValue(key, spoilt)
    preferences = Preferences(store)
    assert preferences.theme is ThemeMode.SYSTEM
    assert preferences.dtype is None
    assert preferences.geometry.isEmpty()
    assert preferences.recent_models == []


def test_that_recent_models_are_newest_first_without_repeats_and_few(store: QSettings) -> None:
    preferences = Preferences(store)
    for number in range(RECENT_MODELS + 3):
        preferences.remember_model(f"model-{number}")
    preferences.remember_model("model-5")
    preferences.remember_model(DEFAULT_MODEL)
    assert preferences.recent_models[0] == "model-5"
    assert len(preferences.recent_models) == len(set(preferences.recent_models)) == RECENT_MODELS
    assert preferences.model == DEFAULT_MODEL
