"""From a model's name to an engine that is ready to run, without Qt, and without torch until it is asked for.

The window's worker and the command line both load through here, so that they run the same thing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from app.calm import calm_collector, load_library, take_short_turns
from core.choices import DType
from core.config import DEFAULT_MODEL, RunSettings
from core.errors import UserError
from core.progress import Progress, Report, check

if TYPE_CHECKING:
    from core.engine import Engine
    from core.exits.parts import TrainedParts
    from core.model.loading import LoadedModel
    from core.trace.events import Event, FloatArray, IntArray, ModelInfo
    from core.trace.fork import Fork


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Which model to load, and how."""

    ref: str = DEFAULT_MODEL
    """Name of a stored model, local folder, GGUF file or hub id."""
    dtype: DType | None = None
    """None leaves it to what the machine was measured to do well."""
    threads: int | None = None
    """None leaves it to the machine."""
    device: str = "cpu"
    parts_folder: Path | None = None
    """Trained parts to use; None looks for those that fit the model."""
    fetch: bool = False
    """Whether the user has agreed to a download."""


@dataclass(frozen=True, slots=True)
class LoadedSummary:
    """What the window knows of the loaded model: plain values, no tensors."""

    request: ModelRequest
    info: ModelInfo
    has_parts: bool
    parts_problem: str = ""
    """Why early exit is not available, and how to make it so; "" with parts."""
    parts_card: Mapping[str, Any] = field(default_factory=dict)
    """The parts' recipe and measured quality; empty without parts."""
    offline_ranking: IntArray | None = None
    """Shape [L-1], layers that tokens exit at, most frequent first; None without parts."""
    has_chat_template: bool = False
    devices: tuple[str, ...] = ("cpu",)
    """Kinds of device that torch finds on this machine."""
    parts_pieces: frozenset[str] = frozenset()
    """Fields of `TrainedParts` that are there beside drafter and predictors."""
    pieces_problems: Mapping[str, str] = field(default_factory=dict)
    """Why one of them is not there although its file is: a sentence by its name."""


class RunEngine(Protocol):
    """`core.engine.Engine.run`, without its types: they would need torch."""

    def __call__(
        self,
        prompt: str,
        settings: RunSettings,
        run: int,
        stop: threading.Event,
        clock: Callable[[], float],
        fork: Fork | None = None,
    ) -> Iterator[Event]:
        """The events of one run; raises `UserError` before the first for what cannot be run."""


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """A loaded model, with or without trained parts, that runs prompts."""

    summary: LoadedSummary
    run: RunEngine
    weights: Callable[[RunSettings], Mapping[str, FloatArray] | None] = lambda _: None
    """The arrays of the predictors that judge a run with these settings; None where none do."""


Loader = Callable[[ModelRequest, Report, threading.Event], LoadedEngine]
"""Loads what is asked for, tells how far it is, and raises `Cancelled` soon after the event is set.

Raises `ModelMissing` rather than download what the user has not agreed to, and `UserError` for what the user can
put right.
"""


class ModelMissing(UserError):
    """The model is not on this machine yet, and the user has not been asked to download it."""

    def __init__(self, ref: str, size: int | None, licence: str) -> None:
        """`size` is the download in bytes, None where it is not known; `licence` "" likewise."""
        super().__init__(
            f"The model {ref} is not on this machine yet. Download it in the model dialog, or with "
            f"`specee-viewer model fetch {ref}`."
        )
        self.ref = ref
        self.size = size
        self.licence = licence


def load_engine(request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
    """The default `Loader`: from the model store to an engine.

    Raises:
        ModelMissing: it would have to be downloaded and `request.fetch` is False.
        Cancelled: `cancel` was set.
        UserError: the model or the parts that were asked for cannot be used.
    """
    folder = _folder(request, report, cancel)
    report(Progress("Starting the engine"))
    with calm_collector():
        _import_engine()
    check(cancel)
    with calm_collector():
        return _load(folder, request, report, cancel)


def _import_engine() -> None:
    # Read when torch's thread pool starts: spinning threads on a busy machine slow everything down up to 70 times.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    take_short_turns()
    load_library("torch", "libtorch_cpu.so")
    import core.engine
    import core.exits.parts_reading
    import core.model.loading  # noqa: F401 - imported for their cost, which is to be paid here


def _folder(request: ModelRequest, report: Report, cancel: threading.Event) -> Path:
    """The model's folder, downloaded or converted first where need be and allowed."""
    from core.model import store

    models = store.ModelStore()
    ref = request.ref
    ready = models.find(ref)
    if ready is not None:
        return ready
    is_default = ref.casefold() == DEFAULT_MODEL
    is_remote = (is_default or store.HUB_ID.fullmatch(ref)) and not Path(ref).expanduser().exists()
    if is_remote and not request.fetch:
        raise ModelMissing(ref, store.DEFAULT_SIZE if is_default else None, store.DEFAULT_LICENCE if is_default else "")
    return models.resolve(ref, report, cancel)


def _load(folder: Path, request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
    from core.engine import Engine
    from core.model.loading import load_model

    model = load_model(
        folder,
        dtype=request.dtype,
        device=request.device,
        threads=request.threads,
        fuse=True,
        report=report,
        cancel=cancel,
    )
    check(cancel)
    report(Progress("Loading the trained parts"))
    parts, problem = _parts(model, request)
    return ready_to_run(Engine(model, parts), _summary(request, model, parts, problem))


def ready_to_run(engine: Engine, summary: LoadedSummary) -> LoadedEngine:
    """The engine behind the few words that the window has with it."""
    from core.analysis.recorded_parts import to_record
    from core.engine import RunRequest

    def run(
        prompt: str,
        settings: RunSettings,
        run: int,
        stop: threading.Event,
        clock: Callable[[], float],
        fork: Fork | None = None,
    ) -> Iterator[Event]:
        return engine.run(RunRequest(prompt, settings, run, fork), stop, clock)

    def weights(settings: RunSettings) -> Mapping[str, FloatArray] | None:
        parts = engine.parts
        if parts is None or not settings.policy.needs_parts:
            return None
        return to_record(parts.predictors_for(settings.lens), parts.offline_ranking)

    return LoadedEngine(summary, run, weights)


def _parts(model: LoadedModel, request: ModelRequest) -> tuple[TrainedParts | None, str]:
    """The parts to use, or why there are none. Parts that were asked for by name must load."""
    from core.exits.parts_folder import find_parts
    from core.exits.parts_reading import load_parts

    folder = request.parts_folder
    if folder is not None:
        return load_parts(find_parts(model.info, folder) or folder, model), ""
    found = find_parts(model.info)
    if found is None:
        return None, (
            "SpecEE needs a draft head and predictors trained for this very model, and there are none; make them "
            f"with `specee-viewer train --model {_as_argument(request.ref)}`."
        )
    try:
        return load_parts(found, model), ""
    except UserError as error:
        return None, str(error)


def _as_argument(ref: str) -> str:
    """A reference as it is typed: its model's name alone would not be found again."""
    return f'"{ref}"' if any(char.isspace() for char in ref) else ref


def _summary(request: ModelRequest, model: LoadedModel, parts: TrainedParts | None, problem: str) -> LoadedSummary:
    return LoadedSummary(
        request=request,
        info=model.info,
        has_parts=parts is not None,
        parts_problem=problem,
        parts_card=parts.card if parts else {},
        parts_pieces=parts.pieces if parts else frozenset(),
        pieces_problems=parts.problems if parts else {},
        offline_ranking=parts.offline_ranking if parts else None,
        has_chat_template=model.tokenizer.has_chat_template,
        devices=_devices(),
    )


def _devices() -> tuple[str, ...]:
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return ("cpu", *(name for name, present in there.items() if present))
