"""Trained parts: what makes one particular model exit early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.choices import Head, Lens
from core.exits.adainfer import AdaInferParts
from core.exits.predictors import PredictorBank
from core.trace.events import IntArray

if TYPE_CHECKING:
    from core.drafting.guesses import Guesser
    from core.drafting.head import DraftHead
    from core.exits.lens import ExitLens
    from core.model.decoder import Decoder
    from core.model.slim_head import SlimHead
    from core.model.trimmed_head import TrimmedHead


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
