"""Packed weights run through the same decoder, and give the logits that their own library gives."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, PreTrainedModel

from core.choices import DType
from core.errors import UserError
from core.model import int8, quantised
from core.model.config import read_config
from core.model.decoder import Decoder
from core.model.int8 import to_int8
from core.model.loading import load_model
from core.model.placement import on_one
from core.model.quantised import decoder_over, quantisation
from tests.decoders import pair
from tests.tiny import make_tiny_model

CPU = torch.device("cpu")
IDS = torch.arange(20) % 97


class Packed(nn.Module):
    """A product whose weight is kept as int8 rows and scales, and that has no floating-point `weight`."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        scale = linear.weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("weight", (linear.weight / scale).round().to(torch.int8))
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype) * self.scale, self.bias)


def pack(model: nn.Module, *, head: bool = False) -> None:
    for name, module in list(model.named_modules()):
        if name.endswith("_proj") or (head and name == "lm_head"):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, Packed(module))


def logits(decoder: Decoder, ids: Tensor = IDS) -> Tensor:
    with torch.inference_mode():
        return decoder.logits(decoder.norm(decoder.forward(ids, 0, decoder.new_cache(len(ids)))))


def theirs(model: nn.Module, ids: Tensor = IDS) -> Tensor:
    with torch.inference_mode():
        return model(ids[None]).logits[0]


@pytest.mark.parametrize("family", ["llama", "llama, tied head", "llama, attention bias", "qwen2", "qwen3"])
def test_that_packed_products_give_what_the_model_that_owns_them_gives(family: str) -> None:
    reference, plain = pair(family)
    with torch.inference_mode():
        pack(reference)
    decoder = decoder_over(reference, plain.config, torch.float32, on_one(CPU, plain.config.depth))
    torch.testing.assert_close(logits(decoder), theirs(reference), atol=1e-4, rtol=0)
    assert not torch.allclose(logits(decoder), logits(plain), atol=1e-4)


def test_that_candidates_are_scored_by_the_very_rows_that_a_packed_head_multiplies_by() -> None:
    reference, plain = pair("llama")
    with torch.inference_mode():
        pack(reference, head=True)
    decoder = decoder_over(reference, plain.config, torch.float32, on_one(CPU, plain.config.depth))
    torch.testing.assert_close(logits(decoder), theirs(reference), atol=1e-4, rtol=0)
    normed = torch.randn(3, plain.config.hidden)
    torch.testing.assert_close(F.linear(normed, decoder.head_weight), decoder.logits(normed), atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", ["llama, attention bias", "qwen2", "smollm3"])
def test_that_int8_replaces_every_product_and_stays_close(family: str) -> None:
    reference, plain = pair(family)
    decoder = Decoder(plain.config, reference.state_dict(), torch.float32, CPU)
    seen: list[tuple[int, ...]] = []

    def quantise(module: nn.Module) -> None:
        assert isinstance(module, nn.Linear)
        seen.append(tuple(module.weight.shape))
        packed = Packed(module)
        module.weight = nn.Parameter(packed.weight * packed.scale, requires_grad=False)

    to_int8(decoder, quantise)
    assert len(seen) == 4 * plain.config.depth + 1
    exact, near = logits(plain), logits(decoder)
    assert 0 < (near - exact).norm() < 0.1 * exact.norm()


def test_that_int8_without_its_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torchao.quantization", None)
    with pytest.raises(
        UserError, match=r"int8 weights need torchao; install it with `pip install 'specee-viewer\[quan"
    ):
        load_model(make_tiny_model(tmp_path / "tiny"), dtype=DType.INT8)


def quantised_folder(folder: Path, method: str | None, **settings: Any) -> Path:
    make_tiny_model(folder)
    path = folder / "config.json"
    named = {} if method is None else {"quant_method": method}
    path.write_text(json.dumps({**json.loads(path.read_text()), "quantization_config": {**named, **settings}}))
    return folder


@pytest.mark.parametrize(
    ("method", "install"),
    [
        ("bitsandbytes", r"'specee-viewer\[quantised\]'"),
        ("gptq", "gptqmodel optimum"),
        ("awq", "gptqmodel"),
        ("compressed-tensors", "compressed-tensors"),
    ],
)
def test_that_a_missing_library_is_one_sentence_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, install: str
) -> None:
    def missing(*_: Any) -> None:
        raise ImportError("no such library")

    monkeypatch.setattr(quantised, "_modules", missing)
    with pytest.raises(UserError, match=f"tiny is quantised by {method}, whose library .* `pip install {install}`"):
        load_model(quantised_folder(tmp_path / "tiny", method, bits=4))


def test_that_a_method_that_cannot_run_here_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("GPU is required to run it.\nand more")

    monkeypatch.setattr(quantised, "_modules", fails)
    with pytest.raises(UserError, match=r"gptq, which cannot be loaded on cpu \(GPU is required to run it\.\); choose"):
        load_model(quantised_folder(tmp_path / "tiny", "gptq"))


@pytest.mark.parametrize("dtype", [DType.INT8, DType.NATIVE])
def test_that_a_quantised_model_is_not_quantised_again(tmp_path: Path, dtype: DType) -> None:
    with pytest.raises(UserError, match=rf"already quantised, by gptq; choose a floating-point dtype .* {dtype.value}"):
        load_model(quantised_folder(tmp_path / "tiny", "gptq"), dtype=dtype)


@pytest.mark.parametrize(
    ("method", "settings", "found"),
    [
        ("awq", {}, "awq"),
        (None, {"load_in_8bit": True}, "bitsandbytes"),
        (None, {"load_in_4bit": True}, "bitsandbytes"),
        (None, {"bits": 4}, "unknown"),
    ],
)
def test_that_the_method_is_read_from_the_config(
    tmp_path: Path, method: str | None, settings: dict[str, Any], found: str
) -> None:
    assert quantisation(quantised_folder(tmp_path, method, **settings)) == found


def test_that_plain_weights_have_no_method(tmp_path: Path) -> None:
    assert quantisation(make_tiny_model(tmp_path)) is None


def test_that_a_loaded_model_tells_how_it_was_quantised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = quantised_folder(tmp_path / "tiny", "gptq")

    def stand_in(folder: Path, dtype: torch.dtype, place: object) -> PreTrainedModel:
        plain = make_tiny_model(folder.parent / "plain")
        model = AutoModelForCausalLM.from_pretrained(plain, dtype=dtype)
        with torch.inference_mode():
            pack(model)
        return model

    monkeypatch.setattr(quantised, "_modules", stand_in)
    model = load_model(folder, dtype=DType.FLOAT32)
    assert model.info.dtype == "gptq, float32"
    assert logits(model.decoder).isfinite().all()


needs_torchao = pytest.mark.skipif(importlib.util.find_spec("torchao") is None, reason="needs the extra quantised")
needs_bitsandbytes = pytest.mark.skipif(
    importlib.util.find_spec("bitsandbytes") is None, reason="needs the extra quantised"
)
# What these libraries say of missing kernels and of torch's own future is not ours to act on.
noisy = pytest.mark.filterwarnings("ignore")


@noisy
@needs_torchao
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_that_int8_by_torchao_is_close_to_float32(tmp_path: Path, family: str) -> None:
    folder = make_tiny_model(tmp_path / "tiny", family, hidden=64, mlp=96)
    exact = load_model(folder, dtype=DType.FLOAT32)
    packed = load_model(folder, dtype=DType.INT8)
    assert packed.info.dtype == "int8"
    expected, ours = logits(exact.decoder), logits(packed.decoder).float()
    assert 0 < (ours - expected).norm() < 0.1 * expected.norm()


def save_quantised(plain: Path, folder: Path, settings: Any) -> PreTrainedModel:
    model = AutoModelForCausalLM.from_pretrained(
        plain, dtype=torch.float32, quantization_config=settings, device_map="cpu"
    )
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((plain / name).read_bytes())
    return model.eval()


@noisy
@needs_torchao
def test_that_a_folder_quantised_by_torchao_gives_what_transformers_gives(tmp_path: Path) -> None:
    with int8.hushed():
        from torchao.quantization import Int8WeightOnlyConfig
        from transformers import TorchAoConfig
    plain = make_tiny_model(tmp_path / "plain", hidden=64, mlp=96, tied=False)
    reference = save_quantised(plain, tmp_path / "packed", TorchAoConfig(Int8WeightOnlyConfig()))
    ours = load_model(tmp_path / "packed", dtype=DType.FLOAT32)
    torch.testing.assert_close(logits(ours.decoder), theirs(reference), atol=1e-4, rtol=0)


@noisy
@needs_bitsandbytes
@pytest.mark.parametrize("bits", [8, 4])
def test_that_a_folder_quantised_by_bitsandbytes_gives_what_transformers_gives(tmp_path: Path, bits: int) -> None:
    from transformers import BitsAndBytesConfig

    plain = make_tiny_model(tmp_path / "plain", hidden=64, mlp=96, tied=False)
    settings = BitsAndBytesConfig(**{f"load_in_{bits}bit": True}, bnb_4bit_compute_dtype=torch.float32)
    reference = save_quantised(plain, tmp_path / "packed", settings)
    ours = load_model(tmp_path / "packed", dtype=DType.FLOAT32)
    assert read_config(tmp_path / "packed").depth == ours.info.depth
    torch.testing.assert_close(logits(ours.decoder), theirs(reference), atol=1e-3, rtol=0)
