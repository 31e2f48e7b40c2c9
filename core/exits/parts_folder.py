"""A folder of trained parts: which files it holds, where one is looked for, and its card.

`parts.json` is the card (model's fingerprint, offline ranking, how the parts were trained and how good they are);
`drafter.safetensors` and `predictors.safetensors` lie beside it, and perhaps `slim.safetensors`,
`trimmed.safetensors`, `lens.safetensors` with `predictors-lens.safetensors`, and `adainfer.safetensors`. Nothing in
it can run code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.trace.events import ModelInfo

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


def _subfolders(place: Path) -> list[Path]:
    return sorted(one for one in place.iterdir() if one.is_dir()) if place.is_dir() else []


def _fingerprint_of(folder: Path) -> str | None:
    if not (folder / CARD).is_file():
        return None
    try:
        found = read_card(folder).get("fingerprint")
    except UserError:
        return None
    return found if isinstance(found, str) else None


def read_card(folder: Path) -> dict[str, Any]:
    """What the card says: plain JSON values.

    Raises:
        UserError: there is none, it is damaged, or of a newer format.
    """
    path = folder / CARD
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder} holds no trained parts ({CARD} is missing); choose another folder.") from None
    except (OSError, ValueError) as error:
        raise damaged(path) from error
    if not isinstance(values, dict):
        raise damaged(path)
    if values.get("format") != FORMAT:
        raise UserError(f"The trained parts in {folder} are of a newer kind; update specee-viewer or train them again.")
    return values


def damaged(path: Path) -> UserError:
    """The sentence for a file that cannot be used, or is not there."""
    return UserError(f"{path} is missing or damaged; train the parts again with `specee-viewer train`.")
