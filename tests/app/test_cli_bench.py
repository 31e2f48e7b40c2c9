"""`specee-viewer bench`: who is compared, how figures are made, and what is printed. No figure itself is tested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import cli
from app.commands import bench, bench_contest, bench_report
from app.commands.bench_contest import Stopwatch, Turn, compare_tokens
from core.errors import UserError
from core.progress import quiet
from tests.tiny import make_tiny_model

ROW_KEYS = {
    "name",
    "recording",
    "dtype",
    "tokens_per_second",
    "tokens_per_second_quartiles",
    "ratio_to_generate",
    "ratio_to_dense",
    "mean_exit_layer",
    "agreement",
}


@pytest.fixture
def measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> str:
    """What `bench` printed for a tiny model with the flags of the test's parameter."""
    monkeypatch.setattr(bench_report, "PROBE_BYTES", 4096)
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("the quick brown fox\n\nthe sky\n", encoding="utf-8")
    model = make_tiny_model(tmp_path / "tiny")
    argv = ["bench", "--model", str(model), "--prompts", str(prompts), "--repeats", "1", "--max-new-tokens", "5"]
    assert cli.main([*argv, *request.param]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("measured", [["--json", "--dtype", "float32"]], indirect=True)
def test_that_json_holds_a_row_for_each_contender_and_the_floor(measured: str) -> None:
    result = json.loads(measured)
    assert [row["name"] for row in result["rows"]] == ["generate", "dense"]
    for row in result["rows"]:
        assert set(row) == ROW_KEYS
        assert row["dtype"] == "float32"
    assert result["rows"][0]["ratio_to_generate"] == 1.0
    assert result["rows"][1]["ratio_to_dense"] == 1.0
    assert result["floor_tokens_per_second"] > 0
    assert result["machine"]["threads"] >= 1


@pytest.mark.parametrize(
    "measured", [["--json", "--dtype", "float32"], ["--json", "--dtype", "bfloat16"]], indirect=True
)
def test_that_dense_emits_generates_tokens_in_float32_whatever_the_dtype_measured(measured: str) -> None:
    same = json.loads(measured)["float32_tokens"]
    assert same["same"] is True
    assert same["answers"] == 2
    assert same["tokens"] >= 2


@pytest.mark.parametrize("measured", [["--dtype", "float32"]], indirect=True)
def test_that_the_table_names_contenders_machine_and_the_check(measured: str) -> None:
    lines = measured.splitlines()
    assert lines[1].startswith("generate")
    assert lines[2].startswith("dense")
    assert "In float32, dense emits generate's tokens" in measured
    assert "torch" in lines[-1]


class Counter:
    """A contender that writes down when its turns come."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self._log = log

    def take_turn(self, prompt: str) -> Turn:
        self._log.append(f"{self.name}{prompt}")
        return Turn((1,), (4,), None)


def test_that_contenders_take_turns_and_each_repeat_starts_with_another() -> None:
    log: list[str] = []
    contenders = [Counter(name, log) for name in "ab"]
    turns = bench_contest.contest(contenders, ["1", "2"], 2, quiet, None)
    assert log == ["a1", "b1", *["a1", "b1", "a2", "b2"], *["b1", "a1", "b2", "a2"]]
    assert {name: len(its) for name, its in turns.items()} == {"a": 4, "b": 4}


@pytest.mark.parametrize(("stamps", "speed"), [([], None), ([3.0], None), ([3.0, 3.5, 4.0], 2.0), ([3.0, 3.0], None)])
def test_that_speed_counts_tokens_after_the_first_over_the_time_after_it(
    stamps: list[float], speed: float | None
) -> None:
    assert Stopwatch(stamps).tokens_per_second == speed


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [((1, 2, 3), (1, 2, 3), None), ((1, 2, 3), (1, 9, 3), 1), ((1, 2), (1, 2, 3), 2)],
)
def test_that_the_first_difference_is_found(
    one: tuple[int, ...], other: tuple[int, ...], difference: int | None
) -> None:
    result = compare_tokens([Turn(one, (), None)], [Turn(other, (), None)])
    assert (result.same, result.first_difference) == (difference is None, difference)


def test_that_a_difference_is_said_loudly() -> None:
    same = {"same": False, "answers": 1, "tokens": 3, "first_difference": 1}
    assert bench_report.same_line(same) == ("In float32, dense and generate DIFFER, first at token 2 of an answer.")


@pytest.mark.parametrize(
    ("name", "content", "prompts"),
    [
        ("p.txt", "one\n\ntwo\n", ["one", "two"]),
        ("p.jsonl", '{"prompt": "one\\nline"}\n{"prompt": "two", "id": 3}\n', ["one\nline", "two"]),
    ],
)
def test_that_prompt_files_are_read_a_prompt_a_line(
    name: str, content: str, prompts: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert bench.read_prompts(tmp_path / name) == prompts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.txt", b"\n"),
        ("p.txt", b"\xff\xfe"),
        ("p.jsonl", b"one\n"),
        ("p.jsonl", b'{"text": "one"}'),
        ("p.jsonl", b'["one"]'),
        ("p.jsonl", b'{"prompt": 3}'),
        ("p.jsonl", b'{"prompt": " "}'),
    ],
)
def test_that_a_file_without_prompts_is_refused_by_name(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=name):
        bench.read_prompts(tmp_path / name)


def test_that_our_own_prompts_are_six_different_ones() -> None:
    assert len(set(bench.OUR_PROMPTS)) == 6
