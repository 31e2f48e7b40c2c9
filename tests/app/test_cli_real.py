"""The command line on real tiny models, through the real loader and engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import cli
from core.config import DType
from core.exits.parts import save_parts
from core.model.loading import load_model
from core.progress import quiet
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
        ],
        ids=["prompt longer than the context", "policy without parts", "M beyond depth", "r beyond depth"],
    )
    def test_that_what_the_model_cannot_do_gets_exit_code_2_and_one_sentence(
        self, flags: list[str], model: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(model, *flags) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)

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

    def test_that_bench_compares_generate_dense_and_both_specee_policies(
        self, model: Path, parts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("app.commands.bench_report.PROBE_BYTES", 4096)
        flags = ["--repeats", "1", "--max-new-tokens", "3", "--dtype", "float32", "--json"]
        assert cli.main(["bench", "--model", str(model), "--parts", str(parts), *flags]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [row["name"] for row in rows] == ["generate", "dense", "specee-t1", "specee-t1t2"]
        assert [row["recording"] for row in rows] == ["off", "live", "live", "live"]
        assert all(row["mean_exit_layer"] <= engines.DEPTH for row in rows)
