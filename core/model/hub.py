"""Models from a hub, by id, through huggingface_hub in a child process: safetensors, JSON and tokenizer only."""

from __future__ import annotations

import fnmatch
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.model.child import run_watched
from core.model.config import parse_config
from core.model.files import disk_full, require_space
from core.progress import Report

CHILD = (sys.executable, "-m", "core.model.hub_child")

WANTED = (
    "*.safetensors", "model.safetensors.index.json", "config.json", "generation_config.json", "tokenizer*",
    "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "chat_template*",
)  # fmt: skip
UNWANTED = ("consolidated*",)
"""Mistral's repositories repeat the weights under this name."""


class HubFailed(Exception):
    """What the child printed, for the details of an error."""


@dataclass(frozen=True, slots=True)
class Hub:
    """Talks to the hub through `command`, which takes `list ID` or `get ID FOLDER FILE…`."""

    command: Sequence[str] = CHILD

    def get(self, ref: str, folder: Path, report: Report, cancel: threading.Event | None) -> None:
        """Fill `folder` with the files of the model `ref`. What an earlier try left there is taken up.

        Raises:
            Cancelled: the child was killed.
            UserError: no such model, one that needs a licence accepted, no safetensors, an unsupported architecture,
                no network, or a full disk.
        """
        listing = self._ask(["list", ref], ref, folder, f"Looking for {ref}", 0, report, cancel)
        sizes = wanted_files(listing.get("files", {}))
        if not any(name.endswith(".safetensors") for name in sizes):
            raise UserError(_without_safetensors(ref, listing.get("files", {})))
        parse_config(listing.get("config"), Path(ref) / "config.json")
        total = sum(sizes.values())
        require_space(folder, total)
        self._ask(["get", ref, str(folder), *sizes], ref, folder, f"Downloading {ref}", total, report, cancel)

    def _ask(
        self,
        arguments: list[str],
        ref: str,
        folder: Path,
        message: str,
        total: int,
        report: Report,
        cancel: threading.Event | None,
    ) -> dict[str, Any]:
        status, output = run_watched(
            [*self.command, *arguments],
            watch=folder,
            message=message,
            total=total,
            report=report,
            cancel=cancel,
            environment={"PYTHONPATH": str(Path(__file__).parents[2]), "HF_HUB_DISABLE_PROGRESS_BARS": "1"},
        )
        answer = _last_object(output)
        if status or answer is None or "error" in answer:
            raise _explain(ref, folder, (answer or {}).get("error", ""), output) from HubFailed(output)
        return answer


def wanted_files(sizes: dict[str, int]) -> dict[str, int]:
    """The files that we read, out of a repository's; those in sub-folders are other formats."""
    return {
        name: size
        for name, size in sizes.items()
        if "/" not in name
        and any(fnmatch.fnmatch(name, pattern) for pattern in WANTED)
        and not any(fnmatch.fnmatch(name, pattern) for pattern in UNWANTED)
    }


def _without_safetensors(ref: str, files: dict[str, int]) -> str:
    if any(name.endswith(".bin") for name in files):
        return (
            f"{ref} holds its weights only in PyTorch's pickle format, which can run code; specee-viewer reads "
            "safetensors and GGUF. Choose another copy of the model."
        )
    if any(name.endswith(".gguf") for name in files):
        return f"{ref} holds GGUF files; download one of them and choose that file."
    return f"{ref} holds no model weights (*.safetensors); choose another model."


def _last_object(output: str) -> dict[str, Any] | None:
    """The JSON object on the output's last line; warnings of libraries may precede it."""
    lines = output.strip().splitlines()
    try:
        answer = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _explain(ref: str, folder: Path, kind: str, output: str) -> UserError:
    if "No space left on device" in output:
        return disk_full(folder)
    if kind == "GatedRepoError":
        return UserError(
            f"{ref} asks you to accept its licence first; do so on its page, run `hf auth login`, try again."
        )
    if kind in ("RepositoryNotFoundError", "HFValidationError", "RevisionNotFoundError"):
        return UserError(
            f"There is no public model {ref} on the hub; check its spelling, or run `hf auth login` if it is private."
        )
    return UserError(
        f"{ref} cannot be downloaded because the hub does not answer; connect to the network and try again, or give "
        "the folder of a copy on this machine."
    )
