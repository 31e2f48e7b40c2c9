"""Published draft heads and predictors become trained parts that run."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from core.choices import DType, Policy
from core.config import RunSettings
from core.drafting.eagle import read_eagle, rename
from core.drafting.head import DraftHead
from core.engine import Engine, RunRequest
from core.errors import UserError
from core.exits.importing import import_parts
from core.exits.official import NEVER
from core.exits.parts_reading import load_parts
from core.exits.parts_writing import save_parts
from core.model.loading import LoadedModel, load_model
from core.trace.trace import Trace
from tests.pieces import whole_sequences
from tests.tiny import make_tiny_model

LAYER = "layers.0."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(make_tiny_model(tmp_path_factory.mktemp("importing") / "tiny"), dtype=DType.FLOAT32, threads=1)


def published(head: DraftHead) -> dict[str, Tensor]:
    """The weights of `head` as EAGLE's release names them."""
    config, state = head.decoder.config, head.state()
    sizes = [config.heads * config.head_dim, *[config.kv_heads * config.head_dim] * 2]
    q, k, v = torch.split(state["layer.qkv"], sizes)
    gate, up = state["layer.gate_up"].chunk(2)
    return {
        "fc.weight": state["fc.weight"],
        "embed_tokens.weight": torch.zeros(2, 2),
        **{
            f"{LAYER}self_attn.{name}_proj.weight": one.contiguous() for name, one in zip("qkv", (q, k, v), strict=True)
        },
        f"{LAYER}self_attn.o_proj.weight": state["layer.out"],
        f"{LAYER}mlp.gate_proj.weight": gate.contiguous(),
        f"{LAYER}mlp.up_proj.weight": up.contiguous(),
        f"{LAYER}mlp.down_proj.weight": state["layer.down"],
        f"{LAYER}post_attention_layernorm.weight": state["layer.mlp_norm"],
    }


@pytest.fixture
def head(model: LoadedModel) -> DraftHead:
    state = DraftHead.random(model.decoder, torch.Generator().manual_seed(3)).state()
    state.pop("layer.attention_norm", None)  # EAGLE's first layer has none
    return DraftHead.from_state(model.decoder, state)


@pytest.fixture
def predictor_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    from tests.core.test_official import MLP, write

    return [write(tmp_path / f"model{layer}.pth", MLP(), monkeypatch) for layer in (2, 0)]


def test_that_a_published_head_drafts_as_the_head_it_was_made_from(
    head: DraftHead, model: LoadedModel, tmp_path: Path
) -> None:
    save_file(published(head), tmp_path / "model.safetensors")
    read = DraftHead.from_state(model.decoder, read_eagle(tmp_path))
    embedded, features = torch.randn(1, 5, model.config.hidden), torch.randn(1, 5, model.config.hidden)
    torch.testing.assert_close(whole_sequences(read, embedded, features), whole_sequences(head, embedded, features))


def test_that_imported_parts_run_after_being_saved(
    head: DraftHead, model: LoadedModel, predictor_files: list[Path], tmp_path: Path
) -> None:
    save_file(published(head), tmp_path / "head.safetensors")
    parts = import_parts(model, drafter=tmp_path / "head.safetensors", predictors=predictor_files)
    save_parts(tmp_path / "parts", parts)
    loaded = load_parts(tmp_path / "parts", model)
    settings = RunSettings(policy=Policy.SPECEE_T1, max_new_tokens=6, chat_template=False)
    trace = Trace.of(Engine(model, loaded).run(RunRequest("the fox", settings), threading.Event()))
    assert loaded.offline_ranking.tolist() == [2, 0, 1]
    assert loaded.predictors.b2[1] == np.float32(NEVER)
    assert trace.ended is not None
    assert trace.emitted_count >= 1


def test_that_what_is_not_imported_comes_from_the_base(
    head: DraftHead, model: LoadedModel, predictor_files: list[Path], tmp_path: Path
) -> None:
    save_file(published(head), tmp_path / "head.safetensors")
    save_parts(
        tmp_path / "base", import_parts(model, drafter=tmp_path / "head.safetensors", predictors=predictor_files)
    )
    parts = import_parts(model, predictors=predictor_files[:1], base=tmp_path / "base")
    assert parts.offline_ranking.tolist() == [2, 0, 1]
    torch.testing.assert_close(parts.drafter.fc, head.fc)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"layers.1.mlp.up_proj.weight": torch.zeros(1)}, "only heads of one layer"),
        ({f"{LAYER}self_attn.k_proj.weight": None}, "lacks its weight"),
        ({f"{LAYER}self_attn.k_proj.weight": torch.zeros(3, 5)}, "do not fit each other"),
    ],
)
def test_that_another_layout_is_refused_by_name(change: dict[str, Tensor | None], reason: str, head: DraftHead) -> None:
    changed = {name: tensor for name, tensor in {**published(head), **change}.items() if tensor is not None}
    with pytest.raises(UserError, match=reason):
        rename(changed)


def test_that_a_pickled_head_is_never_read(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(b"anything")
    with pytest.raises(UserError, match="never read"):
        read_eagle(path)


def test_that_a_head_for_a_model_of_another_width_is_refused(model: LoadedModel, head: DraftHead) -> None:
    narrow = rename({**published(head), "fc.weight": torch.zeros(2, 4)})
    with pytest.raises(UserError, match=r"fc\.weight does not fit this model"):
        DraftHead.from_state(model.decoder, narrow)


def test_that_parts_need_both_pieces_or_a_base(model: LoadedModel, predictor_files: list[Path]) -> None:
    with pytest.raises(UserError, match="name a draft head too"):
        import_parts(model, predictors=predictor_files)
    with pytest.raises(UserError, match="nothing to import"):
        import_parts(model)
