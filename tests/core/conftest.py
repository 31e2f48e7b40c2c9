"""One tiny model, and an engine over it, for all tests of the decode loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.choices import DType
from core.engine import Engine
from core.model.loading import LoadedModel, load_model
from tests.core.recordings import Recorder
from tests.engines import DEPTH, parts_that_always_propose
from tests.tiny import make_tiny_model


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), depth=DEPTH)


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> LoadedModel:
    return load_model(tiny_folder, dtype=DType.FLOAT32, threads=1)


@pytest.fixture(scope="session")
def eager(tiny: LoadedModel) -> Engine:
    """An engine whose every active predictor proposes an exit, so that only verification decides."""
    return Engine(tiny, parts_that_always_propose(tiny))


@pytest.fixture(scope="session")
def recorder(tiny_folder: Path) -> Recorder:
    """An engine with predictors that tell layers apart, and every run it has made."""
    return Recorder(tiny_folder)
