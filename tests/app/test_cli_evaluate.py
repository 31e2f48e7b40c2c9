"""`specee-viewer evaluate`, and the prompt files that it and `bench` read."""

from __future__ import annotations

import io
import json
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import core.evaluation
from app import cli
from app.commands import evaluate
from app.commands.prompt_files import FilePrompt, in_turns, of_split, read_prompts
from core.analysis.evaluation import FIGURES
from core.choices import DType
from core.errors import UserError
from core.exits.parts_writing import save_parts
from core.model.loading import load_model
from core.training import prompts as training_prompts
from core.training.prompts import Split
from core.training.texts import text_hash
from tests import engines
from tests.tiny import make_tiny_model

KEYS = [
    "agreement",
    "agreement_dense",
    "exit_precision",
    "perplexity_dense",
    "perplexity",
    "mean_exit_layer",
    "exit_share",
    "refusal_rate",
    "verifications_per_token",
    "shortlist_miss_rate",
    "scheduler_hit_rate",
    "scheduler_chance",
    "hit_rate_curve",
    "active_layers_mean",
    "predictor_time_share",
    "drafter_top1",
    "drafter_top4",
    "predictor_accuracy",
    "predictor_auc",
    "predictor_ece",
    "acceptance_length",
    "slimspec_rho",
    "slimspec_nu",
    "slimspec_kappa",
]
Evaluate = Callable[..., tuple[int, str, str]]


def write_prompts(path: Path, count: int = 20) -> Path:
    lines = [{"prompt": f"say {number} words", "category": "ab"[number % 2]} for number in range(count)]
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run_evaluate(tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    """Runs `evaluate` on a tiny model; exit code, stdout, stderr."""
    folder = tmp_path_factory.mktemp("evaluate")
    file = write_prompts(folder / "p.jsonl")
    model = make_tiny_model(folder / "tiny", depth=engines.DEPTH)
    loaded = load_model(model, dtype=DType.FLOAT32, threads=1)
    save_parts(folder / "parts", engines.parts_that_always_propose(loaded))
    paths = {"prompts": file, "parts": folder / "parts"}

    def run(*flags: str) -> tuple[int, str, str]:
        argv = ["evaluate", "--model", str(model), "--prompts", str(file), "--dtype", "float32"]
        argv += ["--max-new-tokens", "6", *[flag.format(**paths) for flag in flags]]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main(argv)
        return code, out.getvalue(), err.getvalue()

    run.parts = folder / "parts"  # type: ignore[attr-defined]
    return run


def test_that_json_holds_exactly_the_promised_figures_for_all_and_each_category(run_evaluate: Evaluate) -> None:
    code, out, err = run_evaluate("--json", "--parts", "{parts}")
    result = json.loads(out)
    assert code == 0
    assert list(result) == [*KEYS, "by_category"]
    assert list(FIGURES) == KEYS
    assert {name: list(figures) for name, figures in result["by_category"].items()} == {"a": KEYS, "b": KEYS}
    assert err == "2 of 20 prompts were taken (--split test).\n"
    assert 0 <= result["agreement"] <= 1
    assert result["active_layers_mean"] is not None


def test_that_what_was_not_measured_is_null_and_a_dash(run_evaluate: Evaluate) -> None:
    _, out, err = run_evaluate("--json", "--limit", "1")
    result = json.loads(out)
    assert result["drafter_top1"] is None
    assert result["exit_precision"] is None
    assert "so this is dense" in err
    _, text, _ = run_evaluate("--limit", "1")
    lines = {line[:24].strip(): line[24:].split() for line in text.splitlines()}
    assert lines["drafter top1"] == ["–"]
    assert lines["agreement"] == ["100.0", "%"]
    assert lines["mean exit layer"] == [f"{engines.DEPTH:.2f}"]


def parts_that_know(folder: Path, texts: list[str], name: str) -> Path:
    """A copy of trained parts whose card says that they were made from these texts."""
    target = folder.with_name(name)
    shutil.copytree(folder, target)
    values = json.loads((target / "parts.json").read_text(encoding="utf-8"))
    values["card"] = {"data": {"learned_from": [text_hash(text) for text in texts]}}
    (target / "parts.json").write_text(json.dumps(values), encoding="utf-8")
    return target


def test_that_prompts_the_parts_were_made_from_are_left_out_and_counted(run_evaluate: Evaluate) -> None:
    parts, texts = run_evaluate.parts, [f"say {number} words" for number in range(20)]  # type: ignore[attr-defined]
    some = parts_that_know(parts, texts[1:], "some")
    code, out, err = run_evaluate("--json", "--parts", str(some), "--split", "all")
    assert code == 0
    assert list(json.loads(out)["by_category"]) == ["a"]
    assert "19 prompts were left out: the trained parts were made from them." in err
    every = parts_that_know(parts, texts, "every")
    code, out, err = run_evaluate("--parts", str(every))
    assert (code, out) == (2, "")
    assert err.startswith("The trained parts were made from all of these prompts")
    code, _, err = run_evaluate("--parts", str(every), "--split", "tune")
    assert code == 0
    assert "so the figures flatter them" in err


def test_that_the_model_card_holds_the_figures_of_every_category(run_evaluate: Evaluate, tmp_path: Path) -> None:
    code, out, _ = run_evaluate("--json", "--parts", "{parts}", "--card", str(tmp_path / "new" / "CARD.md"))
    text = (tmp_path / "new" / "CARD.md").read_text(encoding="utf-8")
    figures = json.loads(out)
    assert code == 0
    shown = [f"{100 * part['agreement']:.1f} %" for part in (figures, *figures["by_category"].values())]
    assert f"| agreement | {' | '.join(shown)} |" in text
    assert "## Online hit rate over N" in text
    code, out, err = run_evaluate("--limit", "1", "--card", str(tmp_path / "none.md"))
    assert (code, out) == (2, "")
    assert "there is no card to write" in err


def test_that_every_setting_reaches_the_runs(run_evaluate: Evaluate) -> None:
    code, out, _ = run_evaluate(
        "--json", "--limit", "1", "--policy", "fixed:2", "--kv-policy", "hole", "--split", "all"
    )
    assert (code, json.loads(out)["mean_exit_layer"]) == (0, 2.0)


@pytest.mark.parametrize(
    "flags",
    [
        ("--policy", "specee-t1"),
        ("--policy", "adainfer-svm"),
        ("--policy", "fixed:99"),
        ("--policy", "nowhere.py:Mine"),
        ("--offline-layers", "6"),
    ],
)
def test_that_what_the_model_cannot_do_is_one_sentence(flags: tuple[str, ...], run_evaluate: Evaluate) -> None:
    code, out, err = run_evaluate(*flags)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_that_a_prompt_that_does_not_fit_is_named_before_anything_runs(
    run_evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.evaluation, "evaluate_prompts", lambda *_: pytest.fail("it ran"))
    (tmp_path / "long.txt").write_text("sun " * 400, encoding="utf-8")
    code, out, err = run_evaluate("--prompts", str(tmp_path / "long.txt"), "--split", "all")
    assert (code, out) == (2, "")
    assert err.startswith("The prompt 'sun sun")


def test_that_ctrl_c_leaves_with_130_and_prints_nothing(
    run_evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = core.evaluation.evaluate_prompts

    def interrupted(*arguments: Any) -> Iterator[Any]:
        samples = original(*arguments)
        yield next(samples)
        signal.raise_signal(signal.SIGINT)
        yield from samples

    monkeypatch.setattr(core.evaluation, "evaluate_prompts", interrupted)
    assert run_evaluate("--json") == (130, "", "")


def test_that_a_run_that_fails_midway_leaves_with_1_and_its_sentence(
    run_evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Iterator[Any]:
        raise ArithmeticError("The model's logits are not finite.")
        yield

    monkeypatch.setattr(core.evaluation, "evaluate_prompts", fail)
    assert run_evaluate() == (1, "", "The model's logits are not finite.\n")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("agreement", None, "–"), ("agreement", 0.9871, "98.7 %"), ("perplexity", 3.14159, "3.14")],
)
def test_that_shares_are_shown_in_per_cent(name: str, value: float | None, text: str) -> None:
    assert evaluate.shown(name, value) == text


def test_that_a_table_of_one_category_says_it_once() -> None:
    assert evaluate.table({"agreement": 1.0}, {"a": {"agreement": 1.0}}).splitlines()[0].split() == ["all"]
    two = {"a": {"agreement": 1.0}, "b": {"agreement": None}}
    assert evaluate.table({"agreement": 1.0}, two).splitlines()[0].split() == ["all", "a", "b"]


@pytest.mark.parametrize("split", Split)
def test_that_a_split_is_the_one_that_training_makes_of_the_same_file(split: Split, tmp_path: Path) -> None:
    file = write_prompts(tmp_path / "p.jsonl", 40)
    trained = {prompt.text for prompt in training_prompts.read_prompts([file]) if prompt.split is split}
    assert {prompt.text for prompt in of_split(read_prompts([file]), split)} == trained
    assert trained


def test_that_prompts_too_few_to_train_on_are_for_testing(tmp_path: Path) -> None:
    prompts = read_prompts([write_prompts(tmp_path / "p.jsonl", 2)])
    assert of_split(prompts, None) == of_split(prompts, Split.TEST) == prompts
    with pytest.raises(UserError, match="--split all"):
        of_split(prompts, Split.TRAIN)


def test_that_categories_take_turns() -> None:
    prompts = [FilePrompt(text, category) for text, category in zip("12345", "aaabb", strict=True)]
    assert [prompt.text for prompt in in_turns(prompts)] == ["1", "4", "2", "5", "3"]


@pytest.mark.parametrize(
    ("name", "content", "prompts"),
    [
        ("p.txt", "one\n\ntwo\r\none\n", [("one", "p"), ("two", "p")]),
        (
            "q.jsonl",
            '{"prompt": "one\\nline", "category": "c"}\n{"prompt": "two\u2028", "category": 3}\n',
            [("one\nline", "c"), ("two\u2028", "q")],
        ),
    ],
)
def test_that_prompt_files_are_read_a_prompt_a_line(
    name: str, content: str, prompts: list[tuple[str, str]], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert read_prompts([tmp_path / name]) == [FilePrompt(*prompt) for prompt in prompts]


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
        ("p.jsonl", b"[" * 100_000),
    ],
)
def test_that_a_file_without_prompts_is_refused_by_name(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=name):
        read_prompts([tmp_path / name])


def test_that_plain_text_in_another_encoding_is_not_called_bad_json(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes("é\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"p\.txt is not UTF-8 text"):
        read_prompts([tmp_path / "p.txt"])
