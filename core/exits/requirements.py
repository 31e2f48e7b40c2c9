"""What a run's settings need of the trained parts. No torch: the window asks, too."""

from __future__ import annotations

from dataclasses import dataclass

from core.choices import Head, Lens
from core.config import RunSettings
from core.errors import UserError
from core.exits.parts import TrainedParts
from core.trace.events import ModelInfo


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that trained parts may lack, and some settings need."""

    field: str
    """Of `TrainedParts`."""
    name: str
    pronoun: str
    stage: str
    """Makes it."""
    instead: str
    """What does without it."""
    wanted_by: str = ""
    """The setting that needs it; the policy where it is empty."""


_ADAINFER = Piece("adainfer", "classifiers", "them", "adainfer", "the dense policy")
_LENS = Piece("lens", "an exit lens", "it", "lens", "the lens identity", "The tuned lens")
_CHECK = Piece("slim", "a low-rank head", "it", "head", "the full head", "The shortlist check")
_DRAFT = Piece("slim", "a low-rank head", "it", "head", "the full head", "Drafting through the low-rank head")
_TRIMMED = Piece("trimmed", "a trimmed head", "it", "head", "the full head", "Drafting through the trimmed head")

_TREE = Piece("drafter", "a drafter", "it", "drafter", "decoding without a tree", "Decoding token trees")


def needed_pieces(settings: RunSettings) -> list[Piece]:
    """What the settings need beside the drafter and predictors of SpecEE."""
    needs = (
        (_TREE, settings.tree.on),
        (_ADAINFER, settings.policy.needs_adainfer),
        (_LENS, settings.lens is Lens.TUNED),
        (_CHECK, settings.check is Head.SLIM),
        (_DRAFT, settings.draft_head is Head.SLIM),
        (_TRIMMED, settings.draft_head is Head.TRIMMED),
    )
    return [piece for piece, needed in needs if needed]


def check_owner(parts: TrainedParts | None, info: ModelInfo) -> None:
    """Refuse parts that were trained for another model.

    Raises:
        UserError: they were.
    """
    if parts is not None and parts.fingerprint != info.fingerprint:
        raise UserError(
            f"The trained parts belong to another model than {info.name}; train parts for this one with "
            "`specee-viewer train`."
        )


def check_parts(settings: RunSettings, parts: TrainedParts | None, model: str) -> None:
    """Refuse settings whose trained parts are missing.

    Raises:
        UserError: they are; says how to make them for the model of this name, or what is wrong with those there are.
    """
    if settings.policy.needs_parts and parts is None:
        raise UserError(
            f"{settings.policy.value} needs a drafter and predictors trained for {model}; make them with "
            "`specee-viewer train`, or choose the dense policy."
        )
    for piece in needed_pieces(settings):
        if parts is None or getattr(parts, piece.field) is None:
            problem = parts.problems.get(piece.field) if parts else None
            what = piece.wanted_by or settings.policy.value
            raise UserError(
                problem
                or f"{what} needs {piece.name} trained for {model}; make {piece.pronoun} with "
                f"`specee-viewer train --stage {piece.stage}`, or choose {piece.instead}."
            )
