"""What the settings of a run choose among: closed lists of names, as flags, traces and the window write them."""

from __future__ import annotations

from enum import StrEnum


class Policy(StrEnum):
    """Which rule may end a token's pass early."""

    DENSE = "dense"
    SPECEE_T1 = "specee-t1"
    SPECEE_T1T2 = "specee-t1t2"
    CALM = "calm"
    """Leave where the most likely token's probability is above the threshold (Schuster et al., 2022)."""
    FIXED = "fixed"
    """Leave after `RunSettings.fixed_layer` layers, always."""
    ORACLE = "oracle"
    """Leave at the earliest layer from which the argmax stays the full-depth token: what no predictor can beat."""
    ADAINFER_SVM = "adainfer-svm"
    """Leave at the first layer that its support vector machine calls final (AdaInfer; Fan et al., 2024)."""
    ADAINFER_CRF = "adainfer-crf"
    """The same, judged by one conditional random field over the layers so far."""
    CUSTOM = "custom"
    """The user's own class, `RunSettings.custom`."""

    @property
    def needs_parts(self) -> bool:
        """Whether a drafter and predictors trained for the model are required."""
        return self in (Policy.SPECEE_T1, Policy.SPECEE_T1T2)

    @property
    def needs_adainfer(self) -> bool:
        """Whether AdaInfer's classifiers, trained for the model, are required."""
        return self in (Policy.ADAINFER_SVM, Policy.ADAINFER_CRF)

    @property
    def grows_trees(self) -> bool:
        """Whether the policy can decode token trees; dense then is plain speculative decoding."""
        return self.needs_parts or self is Policy.DENSE

    @property
    def samples(self) -> bool:
        """Whether the policy is defined for a temperature above 0."""
        return self.needs_parts or self in (Policy.DENSE, Policy.CUSTOM)


class KVPolicy(StrEnum):
    """What happens to the K/V of the layers that an exit skipped (`docs/rules.md`)."""

    RECOMPUTE = "recompute"
    """The state a token left with waits, and is caught up when a later token needs the deeper layers: exact."""
    PROPAGATE = "propagate"
    """That state goes through the skipped layers' K/V projections only (CALM)."""
    HOLE = "hole"
    """The deeper layers lack the token for good, and attention skips it (SpecEE's released code)."""


class Record(StrEnum):
    """How much of a run is told."""

    LIVE = "live"
    """What the engine computes anyway."""
    AUDIT = "audit"
    """Also what every layer would have said, and the token that full depth gives. Changes no decision."""


class Lens(StrEnum):
    """How the head looks at a hidden state before the last layer."""

    IDENTITY = "identity"
    """As the paper does: norm(h_l) goes to the head as it is."""
    TUNED = "tuned"
    """h_l + A_l h_l + b_l stands in for h_l, a correction trained for each layer (the tuned lens of Belrose et al.,
    2023; `docs/rules.md`)."""


class Head(StrEnum):
    """Which LM head turns a normed state into logits."""

    FULL = "full"
    SLIM = "slim"
    """The low-rank head W_up·W_down of SlimSpec: alone for drafting; for verification it makes a shortlist of 64
    tokens, whose exact logits decide."""
    TRIMMED = "trimmed"
    """The full head over its most used tokens only (VocabTrim), for drafting."""


class Mapping(StrEnum):
    """How predictors judge a token tree (`docs/rules.md`)."""

    REARMOST = "rearmost"
    """A path, one hyper-token, scores as its lowest node."""
    MEAN = "mean"
    """The predictor looks at the mean of the path's features."""
    INDEPENDENT = "independent"
    """No paths: every node must exit on its own. The baseline whose search spaces multiply."""


class DType(StrEnum):
    """Number format of the target model's weights and activations."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    NATIVE = "native"
    """The 4-bit grid that the weights were quantised to, unchanged, with float32 activations; CPU only."""
    INT8 = "int8"
    """Weights of eight bits with a scale a row, through torchao; activations in the device's fastest format."""

    @property
    def activations(self) -> str | None:
        """torch's name for the number format of hidden states, K/V and the weights that are not packed.

        None for int8, which leaves it to the device.
        """
        return {DType.NATIVE: "float32", DType.INT8: None}.get(self, self.value)
