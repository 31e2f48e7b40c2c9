"""The command line on real tiny models, through the real loader and engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import cli
from core.analysis.summaries import agreement
from core.choices import DType
from core.exits.parts_writing import save_parts
from core.model.loading import load_model
from core.progress import quiet
from core.trace.jsonl import read_events
from core.trace.trace import Trace
from tests import engines
from tests.app.test_cli_run import JSON_KEYS
from tests.tiny import make_tiny_model

DEPTH = 4


class TestOnATinyModel:
    """The real loader and engine."""

    @pytest.fixture
    def model(self, tmp_path: Path) -> str:
        return str(make_tiny_model(tmp_path / "tiny"))

    def run(self, model: str, *flags: str) -> int:
        return cli.main(["run", "--model", model, "--max-new-tokens", "6", *flags])

    def test_that_json_and_plain_output_tell_the_same_text(
        self, model: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(model, "--prompt", "the sky", "--policy", "dense", "--json") == 0
        result = json.loads(capsys.readouterr().out)
        assert self.run(model, "--prompt", "the sky", "--policy", "dense") == 0
        assert capsys.readouterr() == (result["text"] + "\n", "")
        assert list(result) == JSON_KEYS
        assert len(result["token_ids"]) == len(result["exit_layers"]) <= 6
        assert set(result["exit_layers"]) == {DEPTH}

    @pytest.mark.parametrize(
        "flags",
        [
            ["--prompt", "sun " * 400],
            ["--prompt", "x", "--policy", "specee-t1"],
            ["--prompt", "x", "--offline-layers", "4"],
            ["--prompt", "x", "--radius", "9"],
            ["--prompt", "x", "--policy", "adainfer-crf"],
            ["--prompt", "x", "--policy", "fixed:0"],
            ["--prompt", "x", "--policy", "fixed:5"],
            ["--prompt", "x", "--policy", "nowhere.py:Mine"],
        ],
        ids=[
            "prompt longer than the context",
            "policy without parts",
            "M beyond depth",
            "r beyond depth",
            "policy without classifiers",
            "no layer at all",
            "layer beyond depth",
            "own policy that is not there",
        ],
    )
    def test_that_what_the_model_cannot_do_gets_exit_code_2_and_one_sentence(
        self, flags: list[str], model: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(model, *flags) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)

    def test_that_an_audited_run_has_an_agreement_and_its_file_the_same_text(
        self, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "events.jsonl"
        flags = ["--policy", "fixed:2", "--record", "audit", "--json", "--out", str(out)]
        assert self.run(model, "--prompt", "the sky", *flags) == 0
        result = json.loads(capsys.readouterr().out)
        with out.open(encoding="utf-8") as lines:
            trace = Trace.of(read_events(lines))
        assert result["agreement"] == agreement(trace)
        assert result["agreement"] is not None
        assert trace.text_bytes.decode(errors="replace") == result["text"]

    def test_that_the_same_seed_draws_the_same_text(self, model: str, capsys: pytest.CaptureFixture[str]) -> None:
        drawn = []
        for seed in ("1", "1", "2"):
            flags = ["--policy", "dense", "--temperature", "1.5", "--top-p", "0.95", "--seed", seed, "--json"]
            assert self.run(model, "--prompt", "the sky", *flags) == 0
            drawn.append(json.loads(capsys.readouterr().out)["token_ids"])
        assert drawn[0] == drawn[1] != drawn[2]

    def test_that_a_model_that_is_nowhere_is_told_without_a_download(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["run", "--model", "nowhere.gguf", "--prompt", "x"]) == 2
        assert "the default model is" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "damage", ["no config", "no weights", "pickled weights", "another architecture", "no folder"]
    )
    def test_that_a_folder_that_is_no_model_gets_exit_code_2_and_one_sentence(
        self, damage: str, model: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = Path(model)
        weights = folder / "model.safetensors"
        if damage == "no config":
            (folder / "config.json").unlink()
        elif damage == "no weights":
            weights.unlink()
        elif damage == "pickled weights":
            weights.rename(folder / "pytorch_model.bin")
        elif damage == "another architecture":
            config = json.loads((folder / "config.json").read_text())
            config["architectures"] = ["GPT2LMHeadModel"]
            (folder / "config.json").write_text(json.dumps(config))
        else:
            model = str(folder / "nowhere")
        assert self.run(model, "--prompt", "x", "--policy", "dense") == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)


class TestWithTrainedParts:
    """The real loader and engine, with parts whose predictors always propose."""

    @pytest.fixture
    def model(self, tmp_path: Path) -> Path:
        return make_tiny_model(tmp_path / "tiny", depth=engines.DEPTH)

    @pytest.fixture
    def parts(self, model: Path, tmp_path: Path) -> Path:
        loaded = load_model(model, dtype=DType.FLOAT32, threads=1, report=quiet, cancel=None)
        save_parts(tmp_path / "parts", engines.parts_that_always_propose(loaded))
        return tmp_path / "parts"

    def test_that_specee_runs_and_reports_its_active_layers(
        self, model: Path, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        flags = ["--prompt", "the sky", "--dtype", "float32", "--max-new-tokens", "8", "--json"]
        assert cli.main(["run", "--model", str(model), "--parts", str(parts), *flags]) == 0
        out, err = capsys.readouterr()
        result = json.loads(out)
        assert err == ""
        assert 0 < result["active_layers_mean"] <= engines.DEPTH - 1
        assert all(1 <= layer <= engines.DEPTH for layer in result["exit_layers"])
        assert result["exit_layers"][0] == engines.DEPTH

    def test_that_parts_of_another_model_get_exit_code_2_and_one_sentence(
        self, parts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        other = make_tiny_model(tmp_path / "other", depth=engines.DEPTH, seed=1)
        assert cli.main(["run", "--model", str(other), "--parts", str(parts), "--prompt", "x"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
