"""`bench --search-trees`: the fastest token tree of this machine, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app import cli
from app.commands import tree_search as command
from core.choices import DType
from core.config import TreeSettings
from core.exits.parts_writing import save_parts
from core.model.loading import load_model
from core.training import tree_search
from tests import engines
from tests.tiny import make_tiny_model


@pytest.fixture
def argv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(tree_search, "LARGE", TreeSettings("dynamic", nodes=8, depth=2, expand=3))
    monkeypatch.setattr(tree_search, "REPEATS", 1)
    model = make_tiny_model(tmp_path / "tiny", depth=engines.DEPTH)
    save_parts(tmp_path / "parts", engines.parts_that_always_propose(load_model(model, dtype=DType.FLOAT32, threads=1)))
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("the sky\n", encoding="utf-8")
    found = ["bench", "--search-trees", "--model", str(model), "--prompts", str(prompts), "--max-new-tokens", "4"]
    return [*found, "--dtype", "float32", "--parts", str(tmp_path / "parts")]


def test_that_json_holds_the_choice_as_a_tree_and_what_it_was_reckoned_from(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*argv, "--json"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert TreeSettings(**printed["choice"]) == TreeSettings(**printed["shapes"][0]["tree"])
    assert printed["ratio_to_no_tree"] >= 1.0
    assert len(printed["target_seconds"]) == len(tree_search.TARGET_ROWS)
    assert printed["draft_head"] == "full"


def test_that_the_table_gives_each_shape_as_flags_and_ends_in_the_fastest(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("Fastest: --tree ")
    assert any(line.startswith("--tree off ") for line in lines)
    assert max(map(len, lines)) <= 200


def test_that_a_model_without_a_drafter_is_refused_in_one_sentence(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv[: argv.index("--parts")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Decoding token trees needs a drafter trained for" in printed.err


def test_that_a_dynamic_tree_is_asked_for_by_four_flags() -> None:
    tree = {"shape": "dynamic", "nodes": 7, "depth": 3, "expand": 2}
    assert command.flags_of(tree) == "--tree dynamic --tree-nodes 7 --tree-depth 3 --tree-expand 2"
