"""The child process that talks to the hub; see `core.model.hub`. The last line it prints is one JSON object.

Run as `python -m core.model.hub_child list ID` or `… get ID FOLDER FILE…`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> int:
    task, ref, *rest = arguments
    try:
        answer = _list(ref) if task == "list" else _get(ref, Path(rest[0]), rest[1:])
    except Exception as error:  # the parent words every kind; an unknown one means that the hub does not answer
        answer = {"error": type(error).__name__, "text": str(error)}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
    return 1 if "error" in answer else 0


def _list(ref: str) -> dict[str, Any]:
    from huggingface_hub import HfApi, hf_hub_download

    siblings = HfApi().model_info(ref, files_metadata=True).siblings or []
    files = {one.rfilename: int(one.size or 0) for one in siblings}
    with tempfile.TemporaryDirectory() as folder:
        found = "config.json" in files
        config = json.loads(Path(hf_hub_download(ref, "config.json", local_dir=folder)).read_text()) if found else None
    return {"files": files, "config": config}


def _get(ref: str, folder: Path, names: list[str]) -> dict[str, Any]:
    from huggingface_hub import snapshot_download

    snapshot_download(ref, local_dir=folder, allow_patterns=names)
    return {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
