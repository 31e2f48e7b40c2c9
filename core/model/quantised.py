"""Models that were quantised before they were stored (AWQ, GPTQ, bitsandbytes, torchao, …).

transformers makes their modules, each of which knows how to multiply by its packed weights; our decoder takes the
modules over as its products, and everything else as plain tensors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from core.errors import UserError
from core.memory import is_shortage
from core.model.config import ModelConfig
from core.model.decoder import Decoder, Weight
from core.model.folders import model_name
from core.model.int8 import hushed, rows_of
from core.model.placement import Placement

OURS = {"bitsandbytes", "bitsandbytes_4bit", "bitsandbytes_8bit", "torchao"}
"""Methods whose libraries the extra `quantised` installs."""

LIBRARIES = {"awq": "gptqmodel", "gptq": "gptqmodel optimum", "compressed-tensors": "compressed-tensors"}
"""What to install for some others: large, or built on the user's machine, so not in the extra."""


def quantisation(folder: Path) -> str | None:
    """The method that the model in `folder` was quantised by, as transformers calls it; None for plain weights."""
    try:
        raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # read_config tells of it
    settings = raw.get("quantization_config") if isinstance(raw, dict) else None
    if not isinstance(settings, dict):
        return None
    named = settings.get("quant_method")
    if named:
        return str(named)
    return "bitsandbytes" if settings.get("load_in_8bit") or settings.get("load_in_4bit") else "unknown"


def load_quantised(folder: Path, method: str, config: ModelConfig, dtype: torch.dtype, place: Placement) -> Decoder:
    """A decoder over the packed weights in `folder`, with activations in `dtype`.

    Raises:
        UserError: the method's library is missing, or the method cannot run here.
    """
    try:
        with hushed():
            model = _modules(folder, dtype, place)
    except ImportError as error:
        raise UserError(_missing(folder, method)) from error
    except (RuntimeError, ValueError, OSError) as error:
        if is_shortage(error):
            raise
        raise UserError(
            f"{model_name(folder)} is quantised by {method}, which cannot be loaded on {place} "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__}); choose another device, or the "
            "model without quantisation."
        ) from error
    return decoder_over(model, config, dtype, place)


def decoder_over(model: nn.Module, config: ModelConfig, dtype: torch.dtype, place: Placement) -> Decoder:
    """Our decoder over the modules of a transformers model whose products are packed."""
    weights: dict[str, Weight] = dict(model.named_parameters())
    for name, module in model.named_modules():
        if name.endswith("_proj"):
            weights[f"{name}.weight"] = module
    head = model.get_submodule("lm_head")
    plain = isinstance(head, nn.Linear) and _is_plain(head.weight)
    if not plain and not config.tied:
        with torch.inference_mode():
            weights["lm_head.weight"] = rows_of(head, config.hidden, dtype, place.head)
    decoder = Decoder(config, weights, dtype, place)
    if not plain:
        decoder.head = head
    return decoder


def _is_plain(weight: Tensor) -> bool:
    return type(weight) in (Tensor, nn.Parameter) and weight.dtype.is_floating_point


def _modules(folder: Path, dtype: torch.dtype, place: Placement) -> Any:
    from accelerate.hooks import remove_hook_from_module
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, device_map=_device_map(place), local_files_only=True, use_safetensors=True
    )
    # Over several devices accelerate wraps every module so that it moves its input; our decoder has moved it.
    return remove_hook_from_module(model.eval(), recurse=True)


def _device_map(place: Placement) -> dict[str, torch.device]:
    if len(place.devices) == 1:
        return {"": place.head}
    layers = {f"model.layers.{index}": device for index, device in enumerate(place.layers)}
    ends = {"model.norm": place.head, "lm_head": place.head}
    return {"model.embed_tokens": place.embedding, "model.rotary_emb": place.embedding, **layers, **ends}


def _missing(folder: Path, method: str) -> str:
    library = LIBRARIES.get(method, method)
    install = "'specee-viewer[quantised]'" if method in OURS else library
    return (
        f"{model_name(folder)} is quantised by {method}, whose library is not installed here; install it with "
        f"`pip install {install}`, or choose the model without quantisation."
    )
