import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from core.errors import UserError
from core.exits.official import read_bank, read_predictor

HIDDEN = 512
LAYERS = 31


class MLP(torch.nn.Module):
    """What the release pickles whole."""

    def __init__(self, inputs: int = 12, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.fc1 = torch.nn.Linear(inputs, hidden)
        self.relu = torch.nn.ReLU()
        self.fc2 = torch.nn.Linear(hidden, 1)
        self.sigmoid = torch.nn.Sigmoid()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scored: torch.Tensor = self.sigmoid(self.fc2(self.relu(self.fc1(x))))
        return scored


MLP.__module__ = "__main__"


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as the authors' trainer writes it."""
    return write(tmp_path / "model15.pth", MLP(), monkeypatch)


def write(path: Path, module: object, monkeypatch: pytest.MonkeyPatch) -> Path:
    import __main__

    monkeypatch.setattr(__main__, "MLP", MLP, raising=False)
    torch.save(module, path)
    return path


class Hostile:
    """Runs a command where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.marker,)  # type: ignore[return-value]


def test_that_an_imported_predictor_computes_what_the_released_module_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = MLP()
    path = write(tmp_path / "model15.pth", module, monkeypatch)
    inputs = torch.randn(64, 12, dtype=torch.float64)
    bank, layers = read_bank([path], LAYERS)
    wide = {name: array[15].astype(np.float64) for name, array in bank.arrays().items()}
    raw = np.maximum(inputs.numpy() @ wide["w1"] + wide["b1"], 0) @ wide["w2"] + wide["b2"]
    assert layers == [15]
    np.testing.assert_allclose(1 / (1 + np.exp(-raw)), module.double()(inputs)[:, 0].detach().numpy(), atol=1e-6)


def test_that_layers_without_a_file_never_propose(released: Path) -> None:
    bank, _ = read_bank([released], LAYERS)
    assert bank.score(14, np.full(12, 50, np.float32)) < 1e-6


def test_that_a_pickle_that_would_run_something_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    path = tmp_path / "model15.pth"
    torch.save(Hostile(marker), path)
    with pytest.raises(UserError, match="more than reading numbers"):
        read_predictor(path)
    assert not marker.exists()


def test_that_a_hostile_attribute_inside_an_mlp_is_refused_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = MLP()
    module.extra = Hostile(tmp_path / "ran")  # type: ignore[assignment]
    path = write(tmp_path / "model15.pth", module, monkeypatch)
    with pytest.raises(UserError, match="more than reading numbers"):
        read_predictor(path)
    assert not (tmp_path / "ran").exists()


def test_that_a_file_cannot_replace_a_method_of_what_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = MLP()
    module.__dict__["__setstate__"] = "replaced"
    module.__dict__["kept"] = {"_modules": {}}
    path = write(tmp_path / "model15.pth", module, monkeypatch)
    assert set(read_predictor(path)) == {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}


def test_that_torch_never_advises_the_user_to_unpickle(tmp_path: Path) -> None:
    path = tmp_path / "model15.pth"
    torch.save(Hostile(tmp_path / "ran"), path)
    with pytest.raises(UserError) as refused:
        read_predictor(path)
    assert "weights_only" not in str(refused.value)


def test_that_a_plain_pickle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model15.pth"
    path.write_bytes(pickle.dumps(Hostile(tmp_path / "ran")))
    with pytest.raises(UserError, match=r"torch\.save"):
        read_predictor(path)
    assert not (tmp_path / "ran").exists()


def test_that_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model15.pth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model15/data.pkl", bytes(2**25))
    with pytest.raises(UserError, match="unpacks"):
        read_predictor(path)


def test_that_an_archive_of_a_version_to_come_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model15.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model15/data.pkl", b"")
    spoiled = bytearray(path.read_bytes())
    spoiled[spoiled.index(b"PK\x01\x02") + 6] = 99  # the version that reading the entry needs, in tenths
    path.write_bytes(spoiled)
    with pytest.raises(UserError, match=r"torch\.save"):
        read_predictor(path)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (MLP(inputs=8), "12 inputs"),
        (MLP().state_dict(), "12 inputs"),
        (torch.zeros(3), "12 inputs"),
        (MLP().double().half(), None),
    ],
)
def test_that_only_a_predictors_shape_is_taken(
    module: object, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "model3.pth", module, monkeypatch)
    if reason is None:
        assert len(read_predictor(path)) == 4
        return
    with pytest.raises(UserError, match=reason):
        read_predictor(path)


def test_that_weights_that_are_not_finite_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = MLP()
    with torch.no_grad():
        module.fc1.weight[0, 0] = float("nan")
    with pytest.raises(UserError, match="not finite"):
        read_predictor(write(tmp_path / "model3.pth", module, monkeypatch))


@pytest.mark.parametrize(("name", "reason"), [("predictor.pth", "no layer"), ("model99.pth", "layer index 99")])
def test_that_a_file_must_name_a_layer_of_the_model(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=reason):
        read_bank([write(tmp_path / name, MLP(), monkeypatch)], LAYERS)


def test_that_a_layer_is_given_once(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = write(tmp_path / "again15.pth", MLP(), monkeypatch)
    with pytest.raises(UserError, match="second file for layer 16"):
        read_bank([released, other], LAYERS)


def test_that_predictors_of_one_bank_are_equally_wide(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write(tmp_path / "model3.pth", MLP(hidden=64), monkeypatch)
    with pytest.raises(UserError, match="differ in hidden width"):
        read_bank([released, other], LAYERS)
