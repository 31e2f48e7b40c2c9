"""Trained parts: what makes one particular model exit early.

One folder: `parts.json` (model's fingerprint, offline ranking, how it was trained and how good it is),
`drafter.safetensors`, `predictors.safetensors`, and perhaps `slim.safetensors`, `trimmed.safetensors`,
`lens.safetensors` with `predictors-lens.safetensors`, and `adainfer.safetensors`. Nothing in it can run code.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from core.choices import Head, Lens
from core.config import CANDIDATES
from core.errors import UserError
from core.exits.adainfer import AdaInferParts
from core.exits.predictors import PredictorBank
from core.trace.events import IntArray, ModelInfo

if TYPE_CHECKING:
    import torch

    from core.drafting.guesses import Guesser
    from core.drafting.head import DraftHead
    from core.exits.lens import ExitLens
    from core.model.decoder import Decoder
    from core.model.loading import LoadedModel
    from core.model.slim_head import SlimHead
    from core.model.trimmed_head import TrimmedHead

T = TypeVar("T")

CARD = "parts.json"
DRAFTER = "drafter.safetensors"
PREDICTORS = "predictors.safetensors"
SLIM = "slim.safetensors"
TRIMMED = "trimmed.safetensors"
LENS = "lens.safetensors"
LENS_PREDICTORS = "predictors-lens.safetensors"
ADAINFER = "adainfer.safetensors"
FILES = (DRAFTER, PREDICTORS, SLIM, TRIMMED, LENS, LENS_PREDICTORS, ADAINFER)
FORMAT = 1
SHIPPED = Path(__file__).parents[2] / "resources" / "parts"
"""Parts that come with the program, one folder a model."""


@dataclass(frozen=True)
class TrainedParts:
    """A drafter, its predictors and the offline profile, trained for one model."""

    fingerprint: str
    """Of the model they belong to."""
    drafter: DraftHead
    predictors: PredictorBank
    offline_ranking: IntArray
    """Shape [L-1]: the layers that have predictors, where tokens exit most first."""
    card: Mapping[str, Any] = field(default_factory=dict)
    """Recipe and quality, plain JSON values. Its entry "recommended" holds fields of `RunSettings` by name."""
    adainfer: AdaInferParts | None = None
    """The baseline's classifiers, where they were trained too."""
    slim: SlimHead | None = None
    """The low-rank LM head."""
    lens: ExitLens | None = None
    lens_predictors: PredictorBank | None = None
    """Predictors for what the head sees through the lens; there where the lens is."""
    trimmed: TrimmedHead | None = None
    """The LM head over its most used tokens, to draft through."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why classifiers, head or lens are not there although their file is: a sentence by the field's name."""

    @property
    def pieces(self) -> frozenset[str]:
        """Which of classifiers, head and lens are there, by their fields' names."""
        return frozenset(name for name in ("adainfer", "slim", "lens", "trimmed") if getattr(self, name) is not None)

    def predictors_for(self, lens: Lens) -> PredictorBank:
        """The predictors that were trained for what a run with this lens looks at."""
        if lens is Lens.IDENTITY:
            return self.predictors
        assert self.lens_predictors is not None, "`check_parts` has refused parts without a lens"
        return self.lens_predictors

    def guesser(self, decoder: Decoder, head: Head) -> Guesser:
        """What drafts through one of the heads; `check_parts` has refused one that is not there."""
        from core.drafting.guesses import Guesser

        if head is Head.SLIM and self.slim is not None:
            return Guesser(self.slim.logits)
        if head is Head.TRIMMED and self.trimmed is not None:
            return Guesser(self.trimmed.logits, self.trimmed.tokens)
        return Guesser(decoder.logits)


def find_parts(info: ModelInfo, folder: Path | None = None) -> Path | None:
    """The folder of parts for this model: in `folder`, or what the user trained, or what came with the program.

    `folder` is one folder of parts, or holds several.
    """
    for place in (folder,) if folder else (user_parts(), SHIPPED):
        for candidate in [place, *_subfolders(place)]:
            if _fingerprint_of(candidate) == info.fingerprint:
                return candidate
    return None


def user_parts() -> Path:
    """Where parts that the user trained are kept, one folder a model."""
    import platformdirs

    return Path(platformdirs.user_data_dir("specee-viewer")) / "parts"


def load_parts(folder: Path, model: LoadedModel) -> TrainedParts:
    """The parts in `folder`, on the model's device and in its dtype.

    What SpecEE can do without and cannot be read is left out and explained in `TrainedParts.problems`, so that it
    stands in the way of those runs only that ask for it.

    Raises:
        UserError: they are missing, damaged, not finite, of other shapes, or trained for another model.
    """
    from core.drafting.head import DraftHead
    from core.exits.judge import compiled_judge

    values = _read_card(folder)
    if values.get("fingerprint") != model.info.fingerprint:
        raise UserError(
            f"The trained parts in {folder} belong to another model than {model.info.name}; train parts for this one "
            "with `specee-viewer train`."
        )
    if model.decoder.fused is not None:
        compiled_judge()  # here, so that no run waits for the compiler
    card, layers = values.get("card"), model.config.depth - 1
    return TrainedParts(
        fingerprint=model.info.fingerprint,
        drafter=DraftHead.from_state(model.decoder, _read_finite(folder / DRAFTER)),
        predictors=_read_predictors(folder / PREDICTORS, layers),
        offline_ranking=_ranking(values, layers, folder),
        card=card if isinstance(card, dict) else {},
        **_read_optional(folder, model),
    )


def _read_optional(folder: Path, model: LoadedModel) -> dict[str, Any]:
    """The fields of `TrainedParts` that may be absent."""
    from core.exits.lens import ExitLens
    from core.model.slim_head import SlimHead
    from core.model.trimmed_head import TrimmedHead

    problems: dict[str, str] = {}

    def read(name: str, file: str, make: Callable[[Path], T]) -> T | None:
        try:
            return make(folder / file) if (folder / file).exists() else None
        except UserError as error:
            problems[name] = str(error)
            return None

    layers = model.config.depth - 1
    lens = read("lens", LENS, lambda path: ExitLens.from_state(model.decoder, _read_finite(path)))
    bank = read("lens", LENS_PREDICTORS, lambda path: _read_predictors(path, layers))
    if (lens is None) != (bank is None):
        problems.setdefault("lens", str(_damaged(folder / (LENS if lens is None else LENS_PREDICTORS))))
        lens = bank = None
    return {
        "adainfer": read("adainfer", ADAINFER, lambda path: _read_adainfer(path, model.config.depth)),
        "slim": read("slim", SLIM, lambda path: SlimHead.from_state(model.decoder, _read_finite(path))),
        "trimmed": read("trimmed", TRIMMED, lambda path: TrimmedHead.from_state(model.decoder, _read_tensors(path))),
        "lens": lens,
        "lens_predictors": bank,
        "problems": problems,
    }


def save_parts(folder: Path, parts: TrainedParts, *, drafter_dtype: torch.dtype | None = None) -> None:
    """Write `parts` to `folder`, replacing parts that are there; it is whole or not there at all.

    `drafter_dtype` stores drafter, low-rank head and lens in another number format: float16 halves the files.

    Raises:
        UserError: the folder holds something else, or cannot be written.
    """
    from safetensors.torch import save_file

    _refuse_foreign(folder)
    values = {
        "format": FORMAT,
        "fingerprint": parts.fingerprint,
        "offline_ranking": [int(layer) for layer in parts.offline_ranking],
        "card": dict(parts.card),
    }
    with _written_whole(folder) as partial:
        for file, state in _states(parts, drafter_dtype).items():
            save_file(state, partial / file)
        (partial / CARD).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _states(parts: TrainedParts, dtype: torch.dtype | None) -> dict[str, dict[str, torch.Tensor]]:
    """What each file holds."""
    import torch

    weights = {DRAFTER: parts.drafter, SLIM: parts.slim, TRIMMED: parts.trimmed, LENS: parts.lens}
    arrays = {PREDICTORS: parts.predictors, LENS_PREDICTORS: parts.lens_predictors, ADAINFER: parts.adainfer}
    found = {
        file: {name: _plain(weight, dtype) for name, weight in part.state().items()}
        for file, part in weights.items()
        if part is not None
    }
    for file, bank in arrays.items():
        if bank is not None:
            found[file] = {name: torch.from_numpy(np.array(array)) for name, array in bank.arrays().items()}
    return found


def save_adainfer(source: Path, folder: Path, adainfer: AdaInferParts, quality: Mapping[str, Any]) -> None:
    """Write to `folder` the trained parts of `source`, byte by byte, with these classifiers added or replaced.

    `quality` becomes the card's entry "adainfer". The two folders may be the same.

    Raises:
        UserError: `source` holds no trained parts, or `folder` something else, or it cannot be written.
    """
    values = _read_card(source)
    card = values.get("card")
    values["card"] = {**(card if isinstance(card, dict) else {}), "adainfer": dict(quality)}
    _refuse_foreign(folder)
    with _written_whole(folder) as partial:
        for name in FILES:
            if (source / name).exists():
                shutil.copyfile(source / name, partial / name)
        _write_adainfer(partial, adainfer)
        (partial / CARD).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _write_adainfer(folder: Path, adainfer: AdaInferParts) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({name: torch.from_numpy(array) for name, array in adainfer.arrays().items()}, folder / ADAINFER)


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and not (folder / CARD).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists and holds no trained parts; choose another folder.")


def _plain(weight: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    wanted = dtype if dtype is not None and weight.is_floating_point() else weight.dtype
    return weight.detach().to("cpu", wanted, copy=True).contiguous()


@contextlib.contextmanager
def _written_whole(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its place at the end."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as base:
            partial = Path(base) / "new"
            partial.mkdir()
            yield partial
            old = Path(base) / "old"
            if folder.exists():
                folder.rename(old)
            try:
                partial.rename(folder)
            except OSError:
                if old.exists():
                    old.rename(folder)
                raise
    except OSError as error:
        raise UserError(
            f"The trained parts cannot be written to {folder} ({error.strerror or error}); choose another folder."
        ) from error


def _subfolders(place: Path) -> list[Path]:
    return sorted(one for one in place.iterdir() if one.is_dir()) if place.is_dir() else []


def _fingerprint_of(folder: Path) -> str | None:
    if not (folder / CARD).is_file():
        return None
    try:
        found = _read_card(folder).get("fingerprint")
    except UserError:
        return None
    return found if isinstance(found, str) else None


def _read_card(folder: Path) -> dict[str, Any]:
    path = folder / CARD
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder} holds no trained parts ({CARD} is missing); choose another folder.") from None
    except (OSError, ValueError) as error:
        raise _damaged(path) from error
    if not isinstance(values, dict):
        raise _damaged(path)
    if values.get("format") != FORMAT:
        raise UserError(f"The trained parts in {folder} are of a newer kind; update specee-viewer or train them again.")
    return values


def _read_finite(path: Path) -> dict[str, torch.Tensor]:
    import torch

    state = _read_tensors(path)
    if not all(torch.is_floating_point(one) and bool(torch.isfinite(one).all()) for one in state.values()):
        raise _damaged(path)
    return state


def _read_tensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state: dict[str, torch.Tensor] = load_file(path)
    except (SafetensorError, OSError) as error:
        raise _damaged(path) from error
    return state


def _read_predictors(path: Path, layers: int) -> PredictorBank:
    bank = PredictorBank({name: tensor.float().numpy() for name, tensor in _read_finite(path).items()})
    if bank.layers != layers or bank.inputs != 3 * CANDIDATES:
        raise UserError(
            f"The predictors in {path} are for {bank.layers} layers of {bank.inputs} features, but this model needs "
            f"{layers} layers of {3 * CANDIDATES}; train them again."
        )
    return bank


def _read_adainfer(path: Path, depth: int) -> AdaInferParts:
    adainfer = AdaInferParts({name: tensor.double().numpy() for name, tensor in _read_finite(path).items()})
    if adainfer.layers != depth - 1:
        raise UserError(
            f"AdaInfer's classifiers in {path} are for a model of {adainfer.layers + 1} layers, but this one has "
            f"{depth}; train them again with `specee-viewer train --stage adainfer`."
        )
    return adainfer


def _ranking(values: Mapping[str, Any], layers: int, folder: Path) -> IntArray:
    listed = values.get("offline_ranking")
    whole = isinstance(listed, list) and all(type(layer) is int for layer in listed)
    if not whole or sorted(values["offline_ranking"]) != list(range(layers)):
        raise _damaged(folder / CARD)
    return np.array(listed, dtype=np.int64)


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is missing or damaged; train the parts again with `specee-viewer train`.")
