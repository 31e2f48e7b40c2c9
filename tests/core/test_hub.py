"""Hub models must come as safetensors, JSON and tokenizer only, and every refusal as a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import UserError
from core.model.hub import wanted_files
from tests.core.store_fakes import Workshop, fake_hub
from tests.tiny import make_tiny_model

CONFIG = {"architectures": ["LlamaForCausalLM"]}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_that_a_hub_model_is_fetched_whole_and_found_by_its_id(workshop: Workshop) -> None:
    files = make_tiny_model(workshop.folder / "repository")
    listing = {
        "files": {one.name: one.stat().st_size for one in files.iterdir()}
        | {"onnx/model.onnx": 10**15, "README.md": 1},
        "config": json.loads((files / "config.json").read_text()),
    }
    store = workshop.store(hub=fake_hub(workshop.folder, listing, files))
    folder = store.resolve("owner/tiny-model")
    assert store.find("owner/tiny-model") == folder
    assert [model.name for model in store.stored()] == ["owner/tiny-model"]
    assert not (folder / "README.md").exists()


@pytest.mark.parametrize(
    ("listing", "sentence"),
    [
        ({"error": "RepositoryNotFoundError"}, "There is no public model owner/name"),
        ({"error": "GatedRepoError"}, "accept its licence first"),
        ({"error": "ConnectError"}, "hub does not answer.*copy on this machine"),
        ({"files": {"pytorch_model.bin": 1}, "config": CONFIG}, "pickle format, which can run code"),
        ({"files": {"model-Q4.gguf": 1}, "config": CONFIG}, "GGUF files; download one of them"),
        ({"files": {"README.md": 1}, "config": None}, "holds no model weights"),
        (
            {"files": {"model.safetensors": 1}, "config": {"architectures": ["GPT2LMHeadModel"]}},
            "GPT2LMHeadModel; specee-viewer runs LlamaForCausalLM",
        ),
        ({"files": {"model.safetensors": 10**17}, "config": None}, "does not hold a model's settings"),
    ],
)
def test_that_an_unusable_hub_model_is_refused_in_one_sentence(
    workshop: Workshop, listing: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        workshop.store(hub=fake_hub(workshop.folder, listing)).resolve("owner/name")
    assert workshop.store().find("owner/name") is None
    assert workshop.leftovers() == []


def test_that_a_broken_download_is_taken_up_by_the_next_try(workshop: Workshop) -> None:
    files = make_tiny_model(workshop.folder / "repository")
    sizes: dict[str, Any] = {one.name: one.stat().st_size for one in files.iterdir()}
    listing = {"files": {**sizes, "merges.txt": 1}, "config": json.loads((files / "config.json").read_text())}
    with pytest.raises(UserError, match="hub does not answer"):
        workshop.store(hub=fake_hub(workshop.folder, listing, files)).resolve("owner/name")
    partial = workshop.root / "models" / ".partial-owner--name" / "model"
    assert (partial / "model.safetensors").is_file()
    assert workshop.store().find("owner/name") is None
    (files / "merges.txt").write_text("")
    listing = {**listing, "files": sizes}
    assert workshop.store(hub=fake_hub(workshop.folder, listing, files)).resolve("owner/name").is_dir()
    assert workshop.leftovers() == ["owner--name"]


def test_that_a_hub_model_too_big_for_the_disk_is_refused_before_the_download(workshop: Workshop) -> None:
    config = json.loads((make_tiny_model(workshop.folder / "tiny") / "config.json").read_text())
    listing = {"files": {"model.safetensors": 10**17}, "config": config}
    with pytest.raises(UserError, match=r"is full; free \d+ MB"):
        workshop.store(hub=fake_hub(workshop.folder, listing)).resolve("owner/name")


def test_that_only_files_that_we_read_are_downloaded() -> None:
    kept = ["model-00001-of-00002.safetensors", "model.safetensors.index.json", "config.json", "tokenizer.json"]
    other = ["pytorch_model.bin", "consolidated.safetensors", "onnx/tokenizer.json", "evil.py", "README.md"]
    assert list(wanted_files(dict.fromkeys(kept + other, 1))) == kept
