"""Stand-ins for pip, the hub and the GGUF conversion, given to `ModelStore` in place of the real ones."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import threading
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from core.model.download import WheelSource
from core.model.hub import Hub
from core.model.store import ModelStore, Sources
from core.progress import Report
from tests.tiny import make_tiny_model

MEMBER = b"GGUF, or so it says" * 1000

PIP_HEAD = """
import os, pathlib, sys
arguments = sys.argv[1:]
folder = pathlib.Path(arguments[arguments.index("--dest") + 1])
name = "tiny-1.0-py3-none-any.whl"
"""

DELIVER = "(folder / name).write_bytes(pathlib.Path({wheel!r}).read_bytes())"
HALF = "(folder / name).write_bytes(pathlib.Path({wheel!r}).read_bytes()[:100])"
TAMPERED = "(folder / name).write_bytes(pathlib.Path({wheel!r}).read_bytes() + b'!')"
OFFLINE = "sys.exit('NewConnectionError: Temporary failure in name resolution\\nERROR: No matching distribution')"
UNKNOWN = "sys.exit('ERROR: No matching distribution found')"
NO_PIP = "sys.exit('/usr/bin/python: No module named pip')"
FULL = "sys.exit('OSError: [Errno 28] No space left on device')"
HANG = """
pathlib.Path({pid!r}).write_text(str(os.getpid()))
(pathlib.Path(os.environ["TMPDIR"]) / "half.whl").write_bytes(b"0" * 500)
import threading
threading.Event().wait()
"""


@dataclass
class Workshop:
    """A store over fakes, in one folder."""

    folder: Path
    pip_does: str = DELIVER
    converted: list[bytes] = field(default_factory=list)
    """What the conversion was given, each time."""

    def __post_init__(self) -> None:
        self.model = make_tiny_model(self.folder / "converted")
        self.wheel = self.folder / "tiny-1.0-py3-none-any.whl"
        self.pid = self.folder / "pid"
        with zipfile.ZipFile(self.wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("tiny/tiny.gguf", MEMBER)

    @property
    def root(self) -> Path:
        return self.folder / "cache"

    def source(self, converted_size: int = 0) -> WheelSource:
        data = self.wheel.read_bytes()
        return WheelSource(
            name="Tiny",
            licence="Apache-2.0",
            requirement="tiny==1.0",
            file_name=self.wheel.name,
            sha256=hashlib.sha256(data).hexdigest(),
            size=len(data),
            member="tiny/tiny.gguf",
            member_sha256=hashlib.sha256(MEMBER).hexdigest(),
            member_size=len(MEMBER),
            converted_size=converted_size,
        )

    def store(self, *, converted_size: int = 0, hub: Hub | None = None) -> ModelStore:
        pip = self.folder / "pip.py"
        pip.write_text(PIP_HEAD + self.pip_does.format(wheel=str(self.wheel), pid=str(self.pid)))
        sources = Sources(self.source(converted_size), (sys.executable, str(pip)), self.convert, hub or Hub())
        return ModelStore(self.root, sources)

    def convert(self, gguf: Path, folder: Path, name: str, report: Report, cancel: threading.Event | None) -> None:
        self.converted.append(gguf.read_bytes())
        shutil.copytree(self.model, folder)

    def leftovers(self) -> list[str]:
        """What lies in the cache's model folder."""
        models = self.root / "models"
        return sorted(one.name for one in models.iterdir()) if models.is_dir() else []


def fake_hub(folder: Path, listing: dict[str, object], files: Path | None = None) -> Hub:
    """A hub whose repository lists `listing`, and whose files come from the folder `files`."""
    script = folder / "hub.py"
    script.write_text(
        "import json, pathlib, shutil, sys\n"
        f"listing = json.loads({json.dumps(listing)!r})\n"
        "print('a warning of some library')\n"
        "if sys.argv[1] == 'list':\n"
        "    print(json.dumps(listing))\n"
        "    sys.exit('error' in listing)\n"
        "for name in sys.argv[4:]:\n"
        f"    shutil.copy(pathlib.Path({str(files)!r}) / name, sys.argv[3])\n"
        "print('{}')\n"
    )
    return Hub((sys.executable, str(script)))
