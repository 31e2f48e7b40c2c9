"""What can be chosen in the settings form, with the words for it. Every member of the core's enums is offered."""

from __future__ import annotations

from dataclasses import dataclass

from core.choices import DType, Head, KVPolicy, Lens, Mapping, Policy, Record
from core.config import EAGLE_SHAPE

NO_TEMPLATE = "This model has no chat template; the prompt is continued as it stands."
"""Said wherever the chat template is wanted and the model has none."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of a combo box."""

    value: str
    title: str
    tip: str = ""


POLICIES = (
    Choice(Policy.SPECEE_T1T2, "SpecEE T1 + T2", "Predictors only on the layers that a scheduler picks (SpecEE §5)"),
    Choice(Policy.SPECEE_T1, "SpecEE T1", "A predictor on every layer but the last (SpecEE §4)"),
    Choice(Policy.DENSE, "Dense", "Every token runs all layers: what the others are held against"),
    Choice(Policy.CALM, "CALM", "Leaves where the likeliest token is probable enough (Schuster et al., 2022)"),
    Choice(
        Policy.ADAINFER_SVM, "AdaInfer SVM", "A support vector machine a layer decides (AdaInfer, Fan et al., 2024)"
    ),
    Choice(Policy.ADAINFER_CRF, "AdaInfer CRF", "A random field over the layers decides (AdaInfer, Fan et al., 2024)"),
    Choice(Policy.FIXED, "Fixed layer", "Every token leaves after the same number of layers"),
    Choice(
        Policy.ORACLE, "Oracle", "Leaves at the first layer from which the token is right: no predictor can do better"
    ),
    Choice(Policy.CUSTOM, "Your own class", "A rule of your own, from a Python file"),
)
GROUPS_BEGIN = (Policy.DENSE, Policy.ADAINFER_SVM, Policy.FIXED, Policy.CUSTOM)
"""A line is drawn before each."""

KV_POLICIES = (
    Choice(KVPolicy.RECOMPUTE, "recompute", "Skipped K/V are computed when a later token needs them: exact"),
    Choice(
        KVPolicy.PROPAGATE, "propagate", "The state a token left with fills the deeper K/V (CALM): cheap, not exact"
    ),
    Choice(KVPolicy.HOLE, "hole", "Deeper layers never see tokens that left early, as SpecEE's released code does"),
)

LENSES = (
    Choice(Lens.IDENTITY, "identity", "As it is, the paper's way: norm(h) goes to the head"),
    Choice(Lens.TUNED, "tuned", "Through a correction trained for each layer (tuned lens, Belrose et al., 2023)"),
)
CHECKS = (
    Choice(Head.FULL, "full head", "The layer's token over the whole vocabulary, the paper's way"),
    Choice(Head.SLIM, "shortlist", "The low-rank head picks 64 tokens, and exact logits decide among them"),
)
DRAFT_HEADS = (
    Choice(Head.FULL, "full head", "The target's own LM head"),
    Choice(Head.SLIM, "low-rank head", "W_up·W_down, several times cheaper (SlimSpec)"),
    Choice(Head.TRIMMED, "trimmed head", "The target's own head over its most used tokens only (VocabTrim)"),
)

TREE_SHAPES = (
    Choice("off", "off", "One token a pass"),
    Choice("dynamic", "dynamic", "Grows where the drafter is confident, as EAGLE-2 does"),
    Choice(EAGLE_SHAPE, "EAGLE’s", "The fixed tree of EAGLE-1’s release"),
    Choice("spec", "children a level", "A fixed tree of your own, as 4-2-2-1-1"),
)
MAPPINGS = (
    Choice(Mapping.REARMOST, "rearmost", "A path is one hyper-token and scores as its lowest node"),
    Choice(Mapping.MEAN, "mean", "A path is one hyper-token; the predictor looks at the mean of its features"),
    Choice(Mapping.INDEPENDENT, "independent", "Every node must exit on its own: what merging is held against"),
)

RECORDS = (
    Choice(Record.LIVE, "live", "Keeps what the engine computes anyway"),
    Choice(Record.AUDIT, "audit", "Keeps what every layer would have said, too; changes no decision"),
)
AUDIT_NOTE = "Slower, but shows wrong exits, agreement with full depth, and curves beyond the exit."

_DTYPE_TIPS = {
    "float32": "Exact, and what outputs are compared in",
    "bfloat16": "Half the memory of float32; fast where the processor has AMX or the like",
    "float16": "Half the memory of float32; made for GPUs",
    "native": "The file's own small integers, as they are: the fastest for one token at a time",
    "int8": "Weights as 8-bit integers: a quarter of float32's memory, slightly less exact",
}
DTYPES = (
    Choice("", "auto", "What this machine was measured to do well"),
    *(Choice(dtype, dtype.value, _DTYPE_TIPS.get(dtype.value, "")) for dtype in DType),
)

_DEVICE_TIPS = {
    "cpu": "The processor",
    "cuda": "An NVIDIA or AMD graphics processor",
    "mps": "Apple's graphics processor",
    "auto": "Layers are laid on all devices in turn, the fastest first: for a model too large for one",
}


def devices(present: tuple[str, ...]) -> tuple[Choice, ...]:
    """The devices to choose from, given those that torch has found here."""
    names = (*present, "auto") if len(present) > 1 else present
    return tuple(Choice(name, name, _DEVICE_TIPS.get(name, "")) for name in names)
