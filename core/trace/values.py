"""Values that events hold: words, and objects of plain numbers and texts. `core.trace.events` names them all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ExitReason(StrEnum):
    """Why a token's pass ended where it did."""

    PREFILL = "prefill"
    """The token came from the prompt's pass, which always runs to full depth."""
    VERIFIED = "verified"
    """A predictor proposed the exit and the full vocabulary agreed."""
    RULE = "rule"
    """A rule that reads the whole vocabulary itself (CALM, AdaInfer, fixed, oracle) left here."""
    LAST_LAYER = "last layer"
    """No exit was verified before the last layer."""
    GIVEN = "given"
    """The token belongs to the past of a branch: it was fed along the layers that it had run in the run that the
    branch left, and nothing was decided."""


class EndReason(StrEnum):
    """Why a run ended."""

    END_OF_TEXT = "end of text"
    MAX_NEW_TOKENS = "max new tokens"
    CONTEXT_FULL = "context full"
    STOP_STRING = "stop string"
    STOPPED = "stopped"
    FAILED = "failed"
    CUT_OFF = "cut off"
    """The program ended in the middle of it; only a session file, read later, tells so."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a trace must know of the model to be read without it."""

    name: str
    fingerprint: str
    """Hex digest over config and weights; trained parts belong to exactly one fingerprint."""
    architecture: str
    depth: int
    """L, the number of decoder layers."""
    hidden_size: int
    vocabulary: int
    context: int
    """The most positions that the model was made for."""
    dtype: str
    device: str
    threads: int


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds that one token spent in each stage."""

    draft: float = 0.0
    layers: float = 0.0
    predictor: float = 0.0
    """Features and predictor together."""
    verification: float = 0.0
    """Products with the whole LM head, the last layer's included."""
    recompute: float = 0.0
    """The share of the layers that went to rows caught up, and K/V propagated."""
    recording: float = 0.0
    """Audit, and whoever took in the events."""
    total: float = 0.0
    """Wall time from the previous token to this one, without time spent paused. A tree's first token carries the times
    of the whole pass, its others next to nothing."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a run branched off an earlier one, its origin, and what it does otherwise."""

    origin: int
    """Number of the origin in the same session."""
    token: int
    """0-based index of the token at which the branch leaves."""
    given: int
    """Tokens that were given, not decided: the origin's up to that token, itself, and those typed after it."""
    changed: tuple[str, ...] = ()
    """What differs from the origin, a clause each; empty where nothing does."""
