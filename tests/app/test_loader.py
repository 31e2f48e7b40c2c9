"""The default loader, on a tiny random model in a folder: nothing is downloaded."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest

from app.loader import LoadedEngine, ModelMissing, ModelRequest, load_engine
from app.model_flow import facts_of
from core.choices import DType, Policy
from core.config import DEFAULT_MODEL, RunSettings
from core.errors import UserError
from core.exits.parts_folder import ADAINFER
from core.exits.parts_writing import save_parts
from core.model.loading import load_model
from core.progress import Cancelled, Progress, quiet
from core.trace.events import LayerRun, RunEnded, RunStarted
from tests.engines import DEPTH, parts_that_always_propose
from tests.pieces import random_slim
from tests.tiny import make_tiny_model


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """What the loader exempts from garbage collection would look like a leak to later tests."""
    interval = sys.getswitchinterval()
    yield
    gc.unfreeze()
    sys.setswitchinterval(interval)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "tiny")


def load(folder: Path | str, **options: object) -> LoadedEngine:
    request = ModelRequest(str(folder), dtype=DType.FLOAT32, **options)  # type: ignore[arg-type]
    return load_engine(request, quiet, threading.Event())


def test_that_a_model_without_trained_parts_runs_dense_and_says_how_to_train_them(folder: Path) -> None:
    loaded = load(folder)
    summary = loaded.summary
    assert not summary.has_parts
    assert f"`specee-viewer train --model {folder}`" in summary.parts_problem
    assert summary.has_chat_template
    settings = RunSettings(policy=Policy.DENSE, max_new_tokens=3)
    events = list(loaded.run("the sky", settings, 7, threading.Event(), perf_counter))
    assert isinstance(events[0], RunStarted)
    assert events[0].run == 7
    assert isinstance(events[-1], RunEnded)
    assert any(isinstance(event, LayerRun) for event in events)


def test_that_the_processor_is_the_first_of_the_devices_to_choose_from(folder: Path) -> None:
    devices = load(folder).summary.devices
    assert devices[0] == "cpu"
    assert set(devices) <= {"cpu", "cuda", "mps"}


def test_that_early_exit_without_trained_parts_is_refused_before_the_first_event(folder: Path) -> None:
    loaded = load(folder)
    with pytest.raises(UserError, match="specee-viewer train"):
        next(iter(loaded.run("the sky", RunSettings(policy=Policy.SPECEE_T1), 0, threading.Event(), perf_counter)))


def test_that_nothing_is_downloaded_unasked() -> None:
    with pytest.raises(ModelMissing) as missing:
        load(DEFAULT_MODEL)
    assert missing.value.licence == "Apache-2.0"
    assert missing.value.size is not None
    assert missing.value.size > 10_000_000


def test_that_the_size_of_a_hub_model_is_left_open() -> None:
    with pytest.raises(ModelMissing) as missing:
        load("someone/some-model")
    assert (missing.value.size, missing.value.licence) == (None, "")


@pytest.mark.parametrize("ref", ["./nowhere", "/nowhere/at/all", "nowhere.gguf", "~/nowhere"])
def test_that_a_path_that_leads_nowhere_is_not_offered_for_download(ref: str) -> None:
    with pytest.raises(UserError) as refused:
        load(ref)
    assert not isinstance(refused.value, ModelMissing)


def test_that_a_folder_without_a_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        load(tmp_path)


def test_that_parts_that_were_asked_for_must_be_there(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no trained parts"):
        load(folder, parts_folder=tmp_path / "empty")


def test_that_one_bad_piece_of_the_parts_leaves_the_others_to_the_window(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "deep", depth=DEPTH)
    model = load_model(folder, dtype=DType.FLOAT32, threads=1)
    parts = replace(parts_that_always_propose(model), slim=random_slim(model))
    save_parts(tmp_path / "parts", parts)
    (tmp_path / "parts" / ADAINFER).write_bytes(b"nothing")
    summary = load(folder, parts_folder=tmp_path / "parts").summary
    assert (summary.has_parts, summary.parts_pieces) == (True, {"slim"})
    assert f"{ADAINFER} is missing or damaged" in summary.pieces_problems["adainfer"]
    facts = facts_of(summary)
    assert not facts.why_not(Policy.SPECEE_T1)
    assert facts.why_not(Policy.ADAINFER_SVM) == summary.pieces_problems["adainfer"]


def test_that_a_cancelled_load_ends_before_the_model_is_read(folder: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        load_engine(ModelRequest(str(folder)), quiet, cancel)


def test_that_loading_tells_what_it_is_doing(folder: Path) -> None:
    heard: list[Progress] = []
    load_engine(ModelRequest(str(folder), dtype=DType.FLOAT32), heard.append, threading.Event())
    assert len(heard) >= 3
    assert all(progress.message for progress in heard)


def test_that_a_model_that_is_let_go_of_frees_its_weights_although_the_collector_skips_it(folder: Path) -> None:
    loaded = load(folder)
    decoder = weakref.ref(inspect.getclosurevars(loaded.run).nonlocals["engine"].model.decoder)
    assert decoder() is not None
    del loaded
    assert decoder() is None
