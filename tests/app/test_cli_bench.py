"""`specee-viewer bench`: who is compared, how figures are made, and what is printed. No figure itself is tested."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest

from app import cli
from app.commands import bench, bench_contest, bench_machine, bench_plan, bench_table
from app.commands.bench_contest import Arrivals, Label, Plan, Turn, compare_tokens
from app.commands.bench_peers import GenerateContender
from core.choices import DType
from core.exits.parts_writing import save_parts
from core.model.loading import load_model
from core.progress import quiet
from tests import engines
from tests.tiny import make_tiny_model

ROW_KEYS = {
    "name",
    "recording",
    "dtype",
    "kv_policy",
    "tokens_per_second",
    "tokens_per_second_quartiles",
    "ratio_to_generate",
    "ratio_to_dense",
    "mean_exit_layer",
    "acceptance_length",
    "agreement",
    "turns",
    "stages",
    "budget",
    "note",
}
PEERS = ["generate", "generate-prompt-lookup", "generate-early-exit"]
ALSO = ["oracle", "fixed:2"]
TREES = ["tree", "specee-t1t2t3"]
OURS = ["dense", "specee-t1", "specee-t1t2", "adainfer-svm", *TREES]
Bench = Callable[..., dict[str, Any]]
FIXED = ("--repeats", "1", "--max-new-tokens", "4")


@pytest.fixture(scope="module")
def run_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Runs `bench --json` on a tiny model with these flags; what it printed."""
    folder = tmp_path_factory.mktemp("bench")
    prompts = folder / "prompts.txt"
    prompts.write_text("the quick brown fox\n\nthe sky\n", encoding="utf-8")
    model = make_tiny_model(folder / "tiny", depth=engines.DEPTH)
    loaded = load_model(model, dtype=DType.FLOAT32, threads=1)
    save_parts(folder / "parts", engines.parts_that_always_propose(loaded))

    def run(*flags: str) -> dict[str, Any]:
        argv = ["bench", "--json", "--model", str(model), "--prompts", str(prompts), "--dtype", "float32"]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main([*argv, *[flag.format(parts=folder / "parts") for flag in flags]])
        assert (code, err.getvalue()) == (0, "")
        printed: dict[str, Any] = json.loads(out.getvalue())
        return printed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_machine, "PROBE_BYTES", 4096)
        yield run


@pytest.fixture(scope="module")
def trained(run_bench: Bench) -> dict[str, Any]:
    """A bench with trained parts, in float32."""
    return run_bench(*FIXED, "--parts", "{parts}", "--tree", "2-1")


@pytest.fixture(scope="module")
def untrained(run_bench: Bench) -> dict[str, Any]:
    """A bench without, in another format, and of two more policies."""
    return run_bench(*FIXED, "--dtype", "bfloat16", "--also", "oracle", "--also", "fixed:2")


def test_that_json_names_every_row_and_says_why_one_is_empty(untrained: dict[str, Any]) -> None:
    assert all(set(row) == ROW_KEYS for row in untrained["rows"])
    rows = [row for row in untrained["rows"] if row["dtype"] == "bfloat16"]
    assert [row["name"] for row in rows] == [*PEERS, *(name for name in (*OURS, *ALSO) for _ in range(3))]
    assert [row["recording"] for row in rows] == ["off"] * 3 + ["off", "live", "audit"] * 8
    for row in rows:
        missing = row["name"] in OURS[1:]
        assert (row["tokens_per_second"] is None) is missing
        assert ("specee-viewer train" in (row["note"] or "")) is missing
    assert rows[3]["ratio_to_dense"] == 1.0
    assert untrained["floor_tokens_per_second"] == untrained["floors_by_dtype"]["bfloat16"] > 0
    assert untrained["machine"]["threads"] >= 1
    run = untrained["run"]
    assert (run["rounds"], run["prompts"], run["tokens"], run["minutes"]) == (2, 2, 4, None)


def test_that_the_faster_generate_is_what_all_are_held_against(untrained: dict[str, Any]) -> None:
    plain = {row["dtype"]: row for row in untrained["rows"] if row["name"] == "generate"}
    assert set(plain) == {"bfloat16", "float32"}
    faster = max(plain.values(), key=lambda row: row["tokens_per_second"])
    assert untrained["generate_dtype"] == faster["dtype"]
    for row in untrained["rows"]:
        if row["tokens_per_second"] is not None:
            ratio = row["tokens_per_second"] / faster["tokens_per_second"]
            assert row["ratio_to_generate"] == pytest.approx(ratio)


def test_that_dense_in_another_format_is_still_held_to_generate_in_float32(untrained: dict[str, Any]) -> None:
    dense = [row["recording"] for row in untrained["rows"] if (row["name"], row["dtype"]) == ("dense", "float32")]
    assert dense == ["off"]
    same = untrained["float32_tokens"]
    assert (same["same"], same["answers"]) == (True, 2)
    assert same["tokens"] >= 2


def test_that_further_policies_are_measured_when_asked_for(untrained: dict[str, Any]) -> None:
    rows = untrained["rows"]
    assert [row["mean_exit_layer"] for row in rows if row["name"] == "fixed:2"] == [2.0] * 3
    assert [row["agreement"] for row in rows if row["name"] == "oracle"] == [None, None, 1.0]


def test_that_only_audited_rows_have_an_agreement_and_peers_no_stages(trained: dict[str, Any]) -> None:
    measured = [row for row in trained["rows"] if row["tokens_per_second"] is not None]
    assert [row["name"] for row in measured] == [*PEERS, *(name for name in (*OURS[:3], *TREES) for _ in range(3))]
    for row in measured:
        assert (row["agreement"] is not None) is (row["recording"] == "audit")
        assert (row["stages"] is None) is (row["name"] in PEERS)
        assert 1 <= row["mean_exit_layer"] <= engines.DEPTH


def test_that_only_trees_emit_more_than_a_token_a_pass(trained: dict[str, Any]) -> None:
    for row in (row for row in trained["rows"] if row["stages"]):
        least, most = (1, 3) if row["name"] in TREES else (1, 1)
        assert least <= row["acceptance_length"] <= most
    assert {row["acceptance_length"] for row in trained["rows"] if row["name"] in PEERS} == {None}


def test_that_without_a_tree_none_is_measured(run_bench: Bench) -> None:
    rows = run_bench(*FIXED, "--parts", "{parts}", "--tree", "off")["rows"]
    assert not {row["name"] for row in rows} & set(TREES)


def test_that_stages_add_up_and_the_budget_is_the_sum_of_its_parts(trained: dict[str, Any]) -> None:
    for row in (row for row in trained["rows"] if row["stages"]):
        stages = dict(row["stages"])
        total = stages.pop("total")
        assert sum(stages.values()) == pytest.approx(total)
        assert all(seconds >= 0 for seconds in stages.values())
        budget = row["budget"]
        assert budget["total"] == pytest.approx(sum(budget[part] for part in ("layers", "head", "draft", "predictor")))
        if row["name"] not in TREES:
            assert budget["layers"] == row["mean_exit_layer"]


def test_that_the_tables_name_rows_machine_reasons_and_the_check(trained: dict[str, Any]) -> None:
    text = bench_table.table(trained)
    lines = text.splitlines()
    assert "float32" in lines[0]
    assert lines[2].startswith("generate ")
    assert "Not measured: adainfer-svm" in text
    assert "Where a token's time goes" in text
    assert "budget of a token in layer-times" in text
    assert "In float32, dense emits generate's tokens" in text
    assert max(len(line) for line in lines if line.startswith(("dense", "specee", " "))) <= 125
    assert "torch" in lines[-1]


def test_that_a_peer_that_fails_leaves_a_row_that_says_why(run_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    original = GenerateContender.take_turn

    def take_turn(self: GenerateContender, prompt: str, tokens: int) -> Turn:
        if self.label.name == "generate-early-exit":
            raise ValueError("no such\nlayer")
        return original(self, prompt, tokens)

    monkeypatch.setattr(GenerateContender, "take_turn", take_turn)
    row = run_bench(*FIXED)["rows"][2]
    assert row["note"] == "It fails on this model: ValueError: no such layer"
    assert {row[key] for key in ("tokens_per_second", "ratio_to_generate", "mean_exit_layer")} == {None}


def test_that_without_numbers_a_pilot_chooses_them(run_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "LEAST_SECONDS", 0.1)
    run = run_bench("--minutes", "0.0001")["run"]
    assert run["minutes"] == 0.0001
    assert (run["rounds"], run["tokens"]) == (bench_plan.LEAST_ROUNDS, bench_plan.LENGTHS[-1])


class Counter:
    """A contender that writes down when its turns come."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.label = Label(name, "off", "float32")
        self._log = log

    def take_turn(self, prompt: str, tokens: int) -> Turn:
        self._log.append(f"{self.label.name}{prompt}")
        return Turn((1,), (4,), None)


def still() -> float:
    return 0.0


def play(plan: Plan, clock: Callable[[], float] = still) -> tuple[list[str], bench_contest.Turns]:
    log: list[str] = []
    contenders = [Counter(name, log) for name in "ab"]
    return log, bench_contest.contest(contenders, ["1", "2"], plan, clock, quiet, None)


def test_that_contenders_take_turns_and_each_round_starts_with_another() -> None:
    log, turns = play(Plan(8, 3))
    assert log == ["a1", "b1", "b2", "a2", "a1", "b1"]
    assert {label.name: sorted(its) for label, its in turns.items()} == {"a": [0, 1, 2], "b": [0, 1, 2]}


def test_that_slow_contenders_sit_out() -> None:
    log, _ = play(Plan(8, 3, {Label("b", "off", "float32"): 3}))
    assert log == ["a1", "b1", "a2", "a1"]


def test_that_no_round_begins_that_would_end_too_late() -> None:
    ticks = iter(range(100))
    log, _ = play(Plan(8, 9, deadline=4.5), lambda: float(next(ticks)))
    assert len(log) == 2 * 3


@pytest.mark.parametrize(
    ("stamps", "speed"),
    [([], None), ([3.0], None), ([3.0, 3.5, 4.0], 2.0), ([3.0, 3.0], None), ([3.0, 3.0, 4.0, 4.0], 2.0)],
)
def test_that_speed_counts_tokens_after_the_first_over_the_time_after_it(
    stamps: list[float], speed: float | None
) -> None:
    assert Arrivals(still, stamps).tokens_per_second == speed


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [((1, 2, 3), (1, 2, 3), None), ((1, 2, 3), (1, 9, 3), 1), ((1, 2), (1, 2, 3), 2)],
)
def test_that_the_first_difference_is_found(
    one: tuple[int, ...], other: tuple[int, ...], difference: int | None
) -> None:
    result = compare_tokens({0: Turn(one, (), None)}, {0: Turn(other, (), None), 1: Turn((9,), (), None)})
    assert (result.same, result.first_difference, result.answers) == (difference is None, difference, 1)


@pytest.mark.parametrize(
    ("same", "said"),
    [
        ({"same": False, "answers": 1, "tokens": 3, "first_difference": 1}, "DIFFER, first at token 2"),
        (None, "was not checked"),
    ],
)
def test_that_a_difference_is_said_loudly(same: dict[str, Any] | None, said: str) -> None:
    assert said in bench_table.same_line(same)


def test_that_our_own_prompts_are_six_different_ones() -> None:
    assert len(set(bench.OUR_PROMPTS)) == 6
