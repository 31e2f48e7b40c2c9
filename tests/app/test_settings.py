"""What is remembered between launches, and what a spoilt settings file does."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QByteArray, QSettings

from app.form_values import FormValues
from app.model_form import LoadOptions
from app.settings import FIRST_PROMPT, RECENT_MODELS, Preferences, ThemeMode
from core.choices import DType
from core.config import DEFAULT_MODEL
from tests.app.test_form_values import FULL


@pytest.fixture
def store() -> QSettings:
    return QSettings("specee-viewer-tests", "settings")


def test_that_a_first_launch_has_a_prompt_the_default_model_and_no_wishes(store: QSettings) -> None:
    preferences = Preferences(store)
    assert preferences.prompt == FIRST_PROMPT
    assert preferences.model == DEFAULT_MODEL
    assert preferences.theme is ThemeMode.SYSTEM
    assert preferences.form == FormValues()
    assert preferences.chat_template
    assert preferences.unfolded is None
    assert preferences.load_options == LoadOptions()
    assert preferences.layout.isEmpty()
    assert preferences.geometry.isEmpty()


def test_that_everything_comes_back_as_it_was_put(store: QSettings) -> None:
    written = Preferences(store)
    written.form = FULL
    written.chat_template = False
    written.unfolded = ["sampling"]
    written.prompt = "하늘은 왜 파란가요?\nIn two lines."
    written.theme = ThemeMode.LIGHT
    written.load_options = LoadOptions(DType.BFLOAT16, 3, "cuda:1")
    written.layout = QByteArray(b"\x00\x01layout")
    store.sync()
    read = Preferences(QSettings("specee-viewer-tests", "settings"))
    assert read.form == FULL
    assert read.chat_template is False
    assert read.unfolded == ["sampling"]
    assert read.prompt == "하늘은 왜 파란가요?\nIn two lines."
    assert read.theme is ThemeMode.LIGHT
    assert read.load_options == LoadOptions(DType.BFLOAT16, 3, "cuda:1")
    assert read.layout == QByteArray(b"\x00\x01layout")


@pytest.mark.parametrize("spoilt", ["{", "[]", "3", '{"policy": "magic"}', "\x00", "null", 5, ["a", "b"]])
def test_that_a_spoilt_form_is_the_default_one(store: QSettings, spoilt: object) -> None:
    store.setValue("run/form", spoilt)
    store.setValue("view/unfolded", spoilt)
    assert Preferences(store).form == FormValues()
    assert not Preferences(store).unfolded


@pytest.mark.parametrize("threads", ["0", "-1", "1e3", "99999999999999999999", "two"])
def test_that_spoilt_threads_are_left_to_the_machine(store: QSettings, threads: str) -> None:
    store.setValue("model/threads", threads)
    assert Preferences(store).load_options.threads is None


@pytest.mark.parametrize("spoilt", ["blue", "", 3, ["a", "b"]])
def test_that_spoilt_choices_are_the_default(store: QSettings, spoilt: object) -> None:
    for key in ("view/theme", "model/dtype", "model/device", "run/chat-template", "window/geometry", "model/recent"):
        store.setValue(key, spoilt)
    preferences = Preferences(store)
    assert preferences.theme is ThemeMode.SYSTEM
    assert preferences.load_options == LoadOptions()
    assert preferences.chat_template in (True, False)
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
