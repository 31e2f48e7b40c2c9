"""Loading must give the stored weights or a sentence; the fingerprint must know a model from any other."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.choices import DType
from core.errors import UserError
from core.model import devices, loading
from core.model.config import read_config
from core.model.devices import check_format, fastest_dtype
from core.model.fingerprint import fingerprint
from core.model.loading import load_model, read_weights
from core.progress import Cancelled, Progress
from tests.tiny import make_tiny_model

INDEX = "model.safetensors.index.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "tiny")


def mark(folder: Path) -> str:
    return fingerprint(folder, read_config(folder))


def rewrite(folder: Path, change: dict[str, torch.Tensor | None]) -> None:
    """Replace tensors of the model's one file; None drops one."""
    path = folder / "model.safetensors"
    weights = {**{name: tensor.clone() for name, tensor in load_file(path).items()}, **change}
    save_file({name: tensor for name, tensor in weights.items() if tensor is not None}, path)


def shard(folder: Path) -> None:
    """Split the model's one file in two, with an index."""
    path = folder / "model.safetensors"
    weights = {name: tensor.clone() for name, tensor in load_file(path).items()}
    path.unlink()
    names = sorted(weights)
    halves = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, part in halves.items():
        save_file({name: weights[name] for name in part}, folder / file)
    mapping = {name: file for file, part in halves.items() for name in part}
    (folder / INDEX).write_text(json.dumps({"weight_map": mapping}))


def test_that_a_loaded_model_tells_what_it_is(folder: Path) -> None:
    model = load_model(folder, dtype=DType.FLOAT32, threads=1)
    assert model.info.name == "tiny"
    assert (model.info.depth, model.info.hidden_size, model.info.vocabulary) == (4, 32, 300)
    assert (model.info.dtype, model.info.device, model.info.threads) == ("float32", "cpu", 1)
    assert model.info.fingerprint == mark(folder)


@pytest.mark.parametrize("dtype", [d for d in DType if d.activations == d.value])
def test_that_weights_take_the_dtype_that_is_asked_for(folder: Path, dtype: DType) -> None:
    decoder = load_model(folder, dtype=dtype, threads=1).decoder
    assert decoder.embedding.dtype == decoder.layers[0].qkv.dtype == getattr(torch, dtype.value)


def test_that_shards_hold_the_same_model(folder: Path) -> None:
    whole, before = read_weights(folder), mark(folder)
    whole = {name: tensor.clone() for name, tensor in whole.items()}
    shard(folder)
    parts = read_weights(folder)
    assert parts.keys() == whole.keys()
    assert all(torch.equal(parts[name], whole[name]) for name in whole)
    assert mark(folder) == before


def test_that_a_missing_shard_is_named(folder: Path) -> None:
    shard(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(UserError, match="lacks model-00002-of-00002"):
        load_model(folder)


def test_that_an_index_cannot_point_outside_the_folder(folder: Path) -> None:
    (folder.parent / "outside.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / INDEX).write_text(json.dumps({"weight_map": {"x": "../outside.safetensors"}}))
    with pytest.raises(UserError, match="download the model again"):
        load_model(folder)


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_that_truncated_weights_are_one_sentence(folder: Path, keep: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"damaged or incomplete; download the model again"):
        load_model(folder)


@pytest.mark.parametrize(
    "data", [b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]", b'\x0e\0\0\0\0\0\0\0{"a":{"b":[]}}', b"\x04\0\0\0\0\0\0\0true"]
)
def test_that_random_bytes_for_weights_are_one_sentence(folder: Path, data: bytes) -> None:
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(UserError, match="damaged or incomplete"):
        load_model(folder)


def test_that_a_missing_weight_is_named(folder: Path) -> None:
    rewrite(folder, {"model.norm.weight": None})
    with pytest.raises(UserError, match=r"model\.norm\.weight"):
        load_model(folder)


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("warp", r"'warp' is no device that torch knows; choose cuda:0, cuda:1, cpu or auto"),
        ("meta", r"has no device meta; choose cuda:0, cuda:1, cpu or auto"),
        ("cuda:2", r"has no device cuda:2; choose cuda:0"),
        ("mps", r"has no device mps; choose cuda:0"),
    ],
)
def test_that_a_device_that_is_not_there_is_refused_with_those_that_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, device: str, sentence: str
) -> None:
    monkeypatch.setattr(devices, "devices", lambda: ["cuda:0", "cuda:1", "cpu"])
    with pytest.raises(UserError, match=sentence):
        load_model(folder, device=device)


def test_that_no_threads_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="ask for at least 1"):
        load_model(folder, threads=0)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_that_too_little_memory_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def run_out(_: object) -> None:
        raise error

    monkeypatch.setattr(loading, "load_file", run_out)
    with pytest.raises(UserError, match="not enough memory to load tiny"):
        load_model(folder)


def test_that_a_model_larger_than_the_free_memory_is_refused_before_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "free_on", lambda device: 10_000)
    monkeypatch.setattr(loading, "read_weights", lambda *_: pytest.fail("it was read"))
    with pytest.raises(UserError, match=r"load tiny: it takes \d+ KiB in float32, and 10 KiB are free on cpu; close"):
        load_model(folder, dtype=DType.FLOAT32)


def test_that_running_out_while_reading_says_how_much_was_asked_and_is_free(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "load_file", lambda _: torch.empty(2**55))
    with pytest.raises(UserError, match=r"load tiny; \d+\.0 GiB more were needed at once, and \d.* are free; close"):
        load_model(folder)


def test_that_auto_takes_the_cpu_where_there_is_nothing_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "devices", lambda: ["cpu"])
    assert load_model(folder, dtype=DType.FLOAT32, device="auto").info.device == "cpu"


def test_that_a_number_format_that_a_device_lacks_is_refused() -> None:
    with pytest.raises(UserError, match=r"The device cpu does not compute in complex64; choose another dtype"):
        check_format(torch.device("cpu"), torch.complex64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_that_the_cpu_computes_in_every_floating_point_format(dtype: torch.dtype) -> None:
    check_format(torch.device("cpu"), dtype)


def test_that_loading_can_be_cancelled(folder: Path) -> None:
    cancel = threading.Event()

    def report(progress: Progress) -> None:
        if progress.message == "Reading the model's files":
            cancel.set()

    with pytest.raises(Cancelled):
        load_model(folder, report=report, cancel=cancel)


def test_that_the_measured_dtype_is_stable() -> None:
    cpu = torch.device("cpu")
    assert fastest_dtype(cpu) in (DType.FLOAT32, DType.BFLOAT16)
    assert fastest_dtype(cpu) is fastest_dtype(cpu)


def test_that_the_fingerprint_ignores_what_does_not_make_the_model(folder: Path) -> None:
    before = mark(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "transformers_version": "9", "use_cache": False, "torch_dtype": "float16"}))
    rewrite(folder, {"lm_head.weight": load_file(folder / "model.safetensors")["model.embed_tokens.weight"].clone()})
    assert mark(folder) == before
    assert mark(make_tiny_model(folder.parent / "copy")) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: make_tiny_model(folder, seed=1),
        lambda folder: make_tiny_model(folder, dtype="bfloat16"),
        lambda folder: make_tiny_model(folder, rope_theta=5000.0),
        lambda folder: rewrite(folder, {"model.norm.weight": torch.zeros(32)}),
        lambda folder: rewrite(folder, {"model.layers.3.input_layernorm.weight": None}),
    ],
)
def test_that_another_model_has_another_fingerprint(folder: Path, change) -> None:  # type: ignore[no-untyped-def]
    before = mark(folder)
    change(folder)
    assert mark(folder) != before
