"""The child process that turns a GGUF file into a folder of safetensors and tokenizer; see `core.model.convert`.

Run as `python -m core.model.gguf_child FILE FOLDER`. Weights are written as float32: a 4-bit grid's points, scale
times a small integer plus an offset, fit neither bfloat16 nor float16 exactly (checked on the default model: not one
of its quantised tensors survives either round trip).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from core.model.convert import REFUSED

DROPPED = ("quantization_config", "_model_name_or_path", "_name_or_path", "transformers_version", "gguf_file")
"""What transformers notes in a config beside the model's shape; it would make the same model look different."""

PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "smollm": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        ],
    },
}
"""How text is split before BPE, by the GGUF's `tokenizer.ggml.pre`, where transformers' conversion loses it."""


ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")
"""GGUF's names of the families that `core.model.decoder` runs and transformers reads from GGUF."""

NOT_FROM_GGUF = {"smollm3": "SmolLM3"}
"""Families that we run, but that transformers (5.24) cannot read from GGUF: name there, and ours."""


def main(arguments: list[str]) -> int:
    source, folder = (Path(argument) for argument in arguments)
    architecture = _field(source, "general.architecture")
    if architecture not in ARCHITECTURES:
        sys.stdout.write(_refusal(source.name, architecture) + "\n")
        return REFUSED
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(source, folder)
    write_model(source, folder)
    return 0


def _refusal(name: str, architecture: str) -> str:
    if architecture in NOT_FROM_GGUF:
        return (
            f"{name} is a {NOT_FROM_GGUF[architecture]} model, which transformers cannot read from GGUF; open its "
            "folder with safetensors or its hub id instead."
        )
    return (
        f"{name} is a model of the architecture {architecture or 'unknown'}; specee-viewer runs "
        f"{', '.join(ARCHITECTURES[:-1])} and {ARCHITECTURES[-1]}."
    )


def write_tokenizer(source: Path, folder: Path) -> None:
    """The GGUF's vocabulary, merges, special tokens and chat template, as transformers stores them."""
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(folder)
    split = PRE_TOKENIZERS.get(_field(source, "tokenizer.ggml.pre"))
    if split is not None:
        path = folder / "tokenizer.json"
        tokenizer = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(tokenizer | {"pre_tokenizer": split}, ensure_ascii=False), encoding="utf-8")


def write_model(source: Path, folder: Path) -> None:
    """Dequantised weights, config and generation config."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    config = {key: value for key, value in model.config.to_dict().items() if key not in DROPPED}
    config["architectures"] = [type(model).__name__]
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True), encoding="utf-8")
    if model.generation_config is not None:
        model.generation_config.save_pretrained(folder)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    if config.get("tie_word_embeddings"):
        weights.pop("lm_head.weight", None)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _field(source: Path, name: str) -> str:
    from gguf import GGUFReader

    field = GGUFReader(source).fields.get(name)
    return "" if field is None else str(field.contents())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
