"""The settings of a run: frozen, and checked once when they are made.

Everything here is plain values, so that a session file can carry it and a machine without torch can read it. Layers
are 0-based in code; only views and flags count from 1 (`specee.md` §0).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core.errors import UserError
from core.plain_values import from_plain

CANDIDATES = 4
"""k, the speculative tokens that a predictor sees (SpecEE §4.3)."""

DEFAULT_MODEL = "smollm2-135m-instruct"


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
    """What happens to the K/V of the layers that an exit skipped (`specee.md` §4)."""

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
    2023; `specee.md` §8)."""


class Head(StrEnum):
    """Which LM head turns a normed state into logits."""

    FULL = "full"
    SLIM = "slim"
    """The low-rank head W_up·W_down of SlimSpec: alone for drafting; for verification it makes a shortlist of 64
    tokens, whose exact logits decide."""
    TRIMMED = "trimmed"
    """The full head over its most used tokens only (VocabTrim), for drafting."""


class Mapping(StrEnum):
    """How predictors judge a token tree (`specee.md` §3)."""

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


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """The two-level scheduler T2 (SpecEE §5.3)."""

    window: int = 5
    """N, how many past exit layers the ring holds."""
    radius: int = 2
    """r, how many layers to either side of a past exit become active."""
    offline_layers: int = 8
    """M, how many of the layers where tokens exit most are always active."""
    distinct: bool = False
    """Count equal exits in the ring once (the worked example) instead of every time (the default)."""

    def __post_init__(self) -> None:
        _require(1 <= self.window <= 1000, f"The window N is {self.window}; it must be between 1 and 1000.")
        _require(0 <= self.radius <= 1000, f"The radius r is {self.radius}; it must be between 0 and 1000.")
        _require(
            0 <= self.offline_layers <= 1000,
            f"The number of offline layers M is {self.offline_layers}; it must be between 0 and 1000.",
        )


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How a distribution becomes a token."""

    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    """Only the most likely tokens that together reach this probability may be drawn."""
    seed: int = 0

    def __post_init__(self) -> None:
        _require(
            0.0 <= self.temperature <= 100.0,
            f"The temperature is {self.temperature:g}; it must be between 0 (greedy) and 100.",
        )
        _require(0.0 < self.top_p <= 1.0, f"Top-p is {self.top_p:g}; it must be above 0 and at most 1.")
        _require(0 <= self.seed < 2**63, f"The seed is {self.seed}; it must be between 0 and 2^63 - 1.")


MOST_NODES = 128
"""Most nodes of a token tree, the root left out."""
EAGLE_SHAPE = "eagle"
"""The static tree of EAGLE-1's release, by name."""


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """The token tree T3 (`specee.md` §3)."""

    shape: str = "off"
    """"off"; "dynamic" for EAGLE-2's growth; "eagle"; or children a level, as in "4-2-2-1-1"."""
    nodes: int = 24
    """Drafted nodes that dynamic growth keeps, the root left out."""
    depth: int = 6
    """Levels of dynamic growth."""
    expand: int = 8
    """Nodes a level that dynamic growth expands."""
    mapping: Mapping = Mapping.REARMOST
    ngrams: bool = False
    """Whether continuations found earlier in the context join the tree."""

    def __post_init__(self) -> None:
        _require(
            self.shape in ("off", "dynamic", EAGLE_SHAPE) or bool(self.widths),
            f"The tree {self.shape!r} is none; write off, dynamic, eagle, or children a level as in 4-2-2-1-1.",
        )
        for name, value, most in (
            ("nodes", self.nodes, MOST_NODES),
            ("depth", self.depth, 32),
            ("expanded nodes a level", self.expand, MOST_NODES),
        ):
            _require(1 <= value <= most, f"The tree's number of {name} is {value}; it must be between 1 and {most}.")
        total = sum(math.prod(self.widths[: level + 1]) for level in range(len(self.widths)))
        _require(
            total <= MOST_NODES,
            f"The tree {self.shape} has {total} nodes; at most {MOST_NODES} are possible, so choose fewer children.",
        )

    @property
    def on(self) -> bool:
        return self.shape != "off"

    @property
    def widths(self) -> tuple[int, ...]:
        """Children of each node, a level at a time; empty where the shape is a name."""
        parts = self.shape.split("-")
        if not all(part.isascii() and part.isdecimal() and len(part) < 6 for part in parts):
            return ()
        widths = tuple(map(int, parts))
        return widths if all(widths) else ()


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything that decides a run apart from the model, its trained parts and the prompt."""

    policy: Policy = Policy.SPECEE_T1T2
    threshold: float = 0.5
    """An exit is proposed where the predictor's score is above this."""
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    kv_policy: KVPolicy = KVPolicy.RECOMPUTE
    max_new_tokens: int = 128
    chat_template: bool = True
    record: Record = Record.LIVE
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    stop: tuple[str, ...] = ()
    """The run ends once the text holds any of these; control tokens are no part of the text."""
    fixed_layer: int = 1
    """Layers that `Policy.FIXED` runs, 1…L."""
    layer_thresholds: tuple[tuple[int, float], ...] = ()
    """Layers (0-based) with a threshold of their own instead of `threshold`."""
    lens: Lens = Lens.IDENTITY
    gate: float = 0.0
    """An exit whose margin p₁ - p₂ at verification is below this is refused; 0 is off, the paper's way."""
    check: Head = Head.FULL
    """Verifies proposed exits."""
    draft_head: Head = Head.FULL
    """Turns the drafter's states into candidates."""
    tree: TreeSettings = field(default_factory=TreeSettings)
    custom: str = ""
    """Where `Policy.CUSTOM` is written: "FILE.py:Class". Running it runs that file."""

    def __post_init__(self) -> None:
        _require(
            self.policy is not Policy.CUSTOM or bool(self.custom),
            "Your own policy is not named; give its file and class as FILE.py:Class.",
        )
        _require(
            self.policy is not Policy.CUSTOM or _names_a_class(self.custom),
            f"Your own policy is given as FILE.py:Class, not as {self.custom!r}.",
        )
        _require(
            0.0 <= self.threshold <= 1.0,
            f"The threshold is {self.threshold:g}; it must be between 0 and 1.",
        )
        _require(
            all(layer >= 0 and 0.0 <= value <= 1.0 for layer, value in self.layer_thresholds),
            "A layer's own threshold must be between 0 and 1.",
        )
        _require(0.0 <= self.gate <= 1.0, f"The margin gate is {self.gate:g}; it must be between 0 (off) and 1.")
        _require(
            not self.tree.on or self.policy.grows_trees,
            f"{self.policy.value} cannot decode token trees; choose dense or SpecEE, or turn the tree off.",
        )
        _require(
            not self.tree.on or self.sampling.temperature == 0,
            "Token trees are defined for greedy decoding only; set the temperature to 0, or turn the tree off.",
        )
        _require(
            self.check is not Head.TRIMMED,
            "An exit cannot be checked by the trimmed head, which lacks tokens; check with the full or the slim one.",
        )
        _require(
            self.check is Head.FULL or self.sampling.temperature == 0,
            "A shortlist check is defined for greedy decoding only, as a draw is among the whole vocabulary; set the "
            "temperature to 0, or check with the full head.",
        )
        _require(
            self.lens is Lens.IDENTITY or not self.policy.needs_adainfer,
            f"{self.policy.value} is trained for states as they are; choose the lens identity.",
        )
        _require(
            self.max_new_tokens >= 1,
            f"The number of new tokens is {self.max_new_tokens}; ask for at least 1.",
        )
        _require(
            self.sampling.temperature == 0 or self.policy.samples,
            f"{self.policy.value} is defined for greedy decoding only; set the temperature to 0, or choose dense or "
            "SpecEE.",
        )
        _require(all(self.stop), "A stop string is empty; leave it out or give it some text.")
        _require(all(map(is_text, self.stop)), "A stop string holds broken characters; type it again.")

    def check_against(self, depth: int) -> None:
        """Refuse what a model of `depth` layers cannot do.

        Raises:
            UserError: M or r does not fit the model.
        """
        if self.policy is Policy.FIXED:
            _require(
                1 <= self.fixed_layer <= depth,
                f"The fixed exit layer is {self.fixed_layer}; this model has layers 1 to {depth}.",
            )
        if self.policy is not Policy.SPECEE_T1T2:
            return
        most = depth - 1
        _require(
            self.scheduler.offline_layers <= most,
            f"The number of offline layers M is {self.scheduler.offline_layers}, but this model has predictors on "
            f"{most} layers; choose M between 0 and {most}.",
        )
        _require(
            self.scheduler.radius <= most,
            f"The radius r is {self.scheduler.radius}, but this model has predictors on {most} layers; choose r "
            f"between 0 and {most}.",
        )

    def threshold_at(self, layer: int) -> float:
        """The threshold of a layer (0-based)."""
        return dict(self.layer_thresholds).get(layer, self.threshold)

    def to_json(self) -> dict[str, Any]:
        """Plain values for a trace; `from_json` reads them back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: object) -> RunSettings:
        """The settings that `to_json` wrote.

        Raises:
            UserError: a value is missing, unknown, of another type or out of range.
        """
        try:
            return from_plain(cls, values, required=_ALWAYS_WRITTEN)
        except (TypeError, ValueError, OverflowError) as error:
            raise UserError(f"These run settings cannot be read ({error}); record the run again.") from error


_ALWAYS_WRITTEN = ("policy", "scheduler", "kv_policy", "record", "sampling", "stop")
"""Fields of `RunSettings` that every trace holds; later ones may be missing from older traces."""


def policy_from_text(text: str) -> dict[str, Any]:
    """The fields of `RunSettings` that a policy's written name stands for.

    Args:
        text: a name such as "specee-t1t2", "fixed:N", or "FILE.py:Class" for one's own.

    Raises:
        UserError: it is none of these.
    """
    name, _, rest = text.partition(":")
    if name == Policy.FIXED and not _names_a_class(text):
        _require(
            rest.isdecimal() and rest.isascii() and len(rest) < 10,
            f"The policy {text!r} names no layer; write fixed:N, as in fixed:12.",
        )
        return {"policy": Policy.FIXED, "fixed_layer": int(rest)}
    if _names_a_class(text):
        return {"policy": Policy.CUSTOM, "custom": text}
    plain = [policy.value for policy in Policy if policy not in (Policy.FIXED, Policy.CUSTOM)]
    _require(text in plain, f"There is no policy {text!r}; choose {', '.join(plain)}, fixed:N or FILE.py:Class.")
    return {"policy": Policy(text)}


def is_text(text: str) -> bool:
    """Whether a string can be written as UTF-8; a command line of broken bytes gives one that cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _names_a_class(text: str) -> bool:
    path, _, name = text.rpartition(":")
    return path.endswith(".py") and name.isidentifier()


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise UserError(sentence)
