"""Where an unfinished training run keeps what it has, so that it can go on after being interrupted.

A folder beside the parts, with one subfolder a stage: safetensors for arrays, JSON for everything else. Files are
written under another name first and then renamed, so a kill leaves the last whole one.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.errors import UserError
from core.training.options import Stage, outdated_by


class Workspace:
    """The folder of one training run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reset(self, stages: tuple[Stage, ...]) -> None:
        """Throw away what these stages and those built on them have made."""
        for stage in outdated_by(stages):
            shutil.rmtree(self.folder / stage.value, ignore_errors=True)

    def path(self, stage: Stage, name: str) -> Path:
        """A file of a stage."""
        return self.folder / stage.value / name

    def files(self, stage: Stage, pattern: str) -> list[Path]:
        """The stage's files of this pattern, in the order of their names."""
        return sorted((self.folder / stage.value).glob(pattern))

    def save_json(self, stage: Stage, name: str, values: Mapping[str, Any]) -> None:
        """Write plain values."""
        with self._written(stage, name) as partial:
            partial.write_text(json.dumps(values, indent=1), encoding="utf-8")

    def load_json(self, stage: Stage, name: str) -> dict[str, Any] | None:
        """What `save_json` wrote; None where there is nothing.

        Raises:
            UserError: the file is damaged.
        """
        path = self.path(stage, name)
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise _damaged(path) from error
        return dict(values)

    def save_text(self, stage: Stage, name: str, text: str) -> Path:
        """Write text; the file."""
        with self._written(stage, name) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
        return self.path(stage, name)

    def save_lines(self, stage: Stage, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write plain values, an object a line."""
        with self._written(stage, name) as partial:
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            partial.write_text(text, encoding="utf-8", newline="\n")

    def load_lines(self, stage: Stage, name: str) -> list[dict[str, Any]]:
        """What `save_lines` wrote; nothing where there is no file.

        Raises:
            UserError: the file is damaged.
        """
        path = self.path(stage, name)
        try:
            return [dict(json.loads(line)) for line in path.read_text(encoding="utf-8").split("\n") if line]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError) as error:
            raise _damaged(path) from error

    def save_tensors(self, stage: Stage, name: str, tensors: Mapping[str, Tensor]) -> None:
        """Write tensors."""
        with self._written(stage, name) as partial:
            save_file({key: tensor.detach().contiguous() for key, tensor in tensors.items()}, partial)

    def load_tensors(self, stage: Stage, name: str) -> dict[str, Tensor]:
        """What `save_tensors` wrote.

        Raises:
            UserError: the file is missing or damaged.
        """
        path = self.path(stage, name)
        try:
            return dict(load_file(path))
        except (OSError, SafetensorError) as error:
            raise _damaged(path) from error

    @contextmanager
    def _written(self, stage: Stage, name: str) -> Iterator[Path]:
        """A file to write that takes its place once it is whole."""
        path = self.path(stage, name)
        partial = path.with_name(path.name + ".partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield partial
            partial.replace(path)
        except (OSError, SafetensorError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UserError(
                f"{path} cannot be written ({reason}); free space there, or choose another --out."
            ) from error


class Timer:
    """Seconds that a stage has taken, over all the runs that worked on it."""

    def __init__(self, before: float, limit: float) -> None:
        self.limit = limit
        self._start = time.monotonic() - before

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    @property
    def share(self) -> float:
        """How much of the limit is used up, 0…1."""
        return min(1.0, self.elapsed / self.limit)

    @property
    def over(self) -> bool:
        return self.elapsed >= self.limit


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is missing or damaged; train again without --resume.")
