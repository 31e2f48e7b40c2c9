"""Engine settings as files: what was saved comes back, and a bad file is told of in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.form_values import FormValues
from app.settings_files import KIND, LARGEST, read_settings, write_settings
from core.choices import Head, Policy, Record
from core.config import SamplingSettings, SchedulerSettings, TreeSettings
from core.errors import UserError

VALUES = FormValues(
    policy=Policy.SPECEE_T1,
    threshold=0.83,
    layer_thresholds=((3, 0.5), (7, 0.25)),
    scheduler=SchedulerSettings(4, 1, 6, True),
    check=Head.SLIM,
    record=Record.AUDIT,
    sampling=SamplingSettings(0.7, 0.9, 11),
    tree=TreeSettings(shape="dynamic", nodes=12, depth=3, expand=2),
    stop=("\n\n", "übrigens"),
    max_new_tokens=7,
)


def test_that_what_is_saved_comes_back_and_what_is_left_out_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    for values in (VALUES, FormValues()):
        write_settings(path, values)
        assert read_settings(path) == values
    assert [one for one in tmp_path.iterdir() if one.is_file()] == [path]
    path.write_text(json.dumps({"kind": KIND, "version": 1, "settings": {"threshold": 0.25}}))
    assert read_settings(path) == replace(FormValues(), threshold=0.25)


def test_that_a_file_that_is_passed_on_does_not_name_the_home_folder(tmp_path: Path) -> None:
    home = str(Path.home())
    given = {f"{home}/rules/own.py:Own": "~/rules/own.py:Own", f"/mnt{home}/own.py:Own": f"/mnt{home}/own.py:Own"}
    for reference, saved in given.items():
        write_settings(tmp_path / "mine.json", replace(VALUES, policy=Policy.CUSTOM, custom=reference))
        assert read_settings(tmp_path / "mine.json").custom == saved


def settings(**changed: Any) -> str:
    return json.dumps({"kind": KIND, "version": 1, "settings": changed})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        (b"\xff\xfe".decode("latin1"), "no JSON"),
        ("[]", "no engine settings"),
        ('{"kind": "else"}', "no engine settings"),
        (json.dumps({"kind": KIND, "version": 2, "settings": {}}), "another version"),
        (settings(thresold=0.5, zeal=1), "“thresold”, “zeal”"),
        (settings(threshold="0.5"), "threshold is '0.5' instead of a number"),
        (settings(threshold=1.5), "threshold"),
        (settings(threshold=True), "threshold"),
        (settings(policy="brave"), "brave"),
        (settings(scheduler={"window": 5, "width": 3}), "width"),
        (settings(scheduler={"window": -5}), "put that right"),
        (settings(max_new_tokens=0), "put that right"),
        (settings(sampling={"temperature": -1.0}), "put that right"),
        (settings(stop="now"), "stop"),
        (" " * (LARGEST + 1), "too large"),
    ],
)
def test_that_a_bad_file_is_told_of_in_one_sentence_that_names_it(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"bad\.json") as raised:
        read_settings(path)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_that_a_file_that_is_not_there_and_a_folder_that_is_none_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_settings(tmp_path / "gone.json")
    with pytest.raises(UserError, match="cannot be read"):
        read_settings(tmp_path)
    with pytest.raises(UserError, match="cannot be written"):
        write_settings(tmp_path / "no folder" / "mine.json", VALUES)
