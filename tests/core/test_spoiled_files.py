"""Faults that spoiled files brought to light, each held here by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.why import why_plain
from core.choices import DType
from core.errors import UserError
from core.model.loading import load_model
from core.trace.events import TreeAccepted
from core.trace.session_file import SessionFile
from core.trace.trace import Trace
from core.training.prompts import read_prompts
from tests.core.sessions import written
from tests.fakes import fake_run_events
from tests.tiny import make_tiny_model
from tests.tree_passes import TreePlan, tree_trace


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


@pytest.mark.parametrize("setting", ["hidden_size", "num_hidden_layers"])
def test_that_an_infinite_size_in_a_config_is_refused(tmp_path: Path, setting: str) -> None:
    folder = make_tiny_model(tmp_path / "model", depth=2)
    changed(folder / "config.json", **{setting: float("inf")})
    with pytest.raises(UserError, match="lacks or garbles a setting"):
        load_model(folder, dtype=DType.FLOAT32, threads=1)


def test_that_an_end_token_of_half_a_character_ends_nothing(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", depth=2)
    changed(folder / "tokenizer_config.json", eos_token="\ud800")
    assert load_model(folder, dtype=DType.FLOAT32, threads=1).tokenizer.end_ids


def test_that_a_chat_template_of_half_a_character_is_refused(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", depth=2)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    changed(folder / "tokenizer_config.json", chat_template="\ud800")
    with pytest.raises(UserError, match="chat template cannot be used"):
        load_model(folder, dtype=DType.FLOAT32, threads=1).tokenizer.encode_chat("why?")


def test_that_a_training_prompt_of_half_a_character_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"prompt": "why?"}\n{"prompt": "\\ud800"}\n', encoding="utf-8")
    with pytest.raises(UserError, match="line 2 has a prompt of broken characters"):
        read_prompts([tmp_path / "p.jsonl"])


def test_that_a_pass_that_left_before_any_layer_was_judged_is_told_of_without_scores() -> None:
    events = [
        replace(event, exit_layer=3) if isinstance(event, TreeAccepted) else event
        for event in tree_trace(TreePlan()).events
    ]
    trace = Trace.of(events)
    assert "What the predictors said there was not recorded." in why_plain(trace, 1, None)


def test_that_a_session_whose_table_names_are_broken_is_called_damaged(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(3))
    data = path.read_bytes()
    path.write_bytes(data.replace(b"CREATE TABLE facts(", b"CREATE TABLE f\xe5cts("))
    with pytest.raises(UserError, match="is damaged"):
        SessionFile(path)
