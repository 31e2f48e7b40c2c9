"""The settings of a run: frozen, and checked once when they are made.

Everything here is plain values, so that a session file can carry it and a machine without torch can read it. Layers
are 0-based in code; only views and flags count from 1 (`docs/rules.md`).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from core.choices import Head, KVPolicy, Lens, Mapping, Policy, Record
from core.errors import UserError
from core.plain_values import from_plain

CANDIDATES = 4
"""k, the speculative tokens that a predictor sees (SpecEE §4.3)."""

DEFAULT_MODEL = "smollm2-135m-instruct"

MOST_NODES = 128
"""Most nodes of a token tree, the root left out."""
EAGLE_SHAPE = "eagle"
"""The static tree of EAGLE-1's release, by name."""


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


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """The token tree T3 (`docs/rules.md`)."""

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
        self._check_policy()
        self._check_numbers()
        self._check_what_trees_lack()
        self._check_what_sampling_lacks()
        _require(all(self.stop), "A stop string is empty; leave it out or give it some text.")
        _require(all(map(is_text, self.stop)), "A stop string holds broken characters; type it again.")

    def _check_policy(self) -> None:
        _require(
            self.policy is not Policy.CUSTOM or bool(self.custom),
            "Your own policy is not named; give its file and class as FILE.py:Class.",
        )
        _require(
            self.policy is not Policy.CUSTOM or _names_a_class(self.custom),
            f"Your own policy is given as FILE.py:Class, not as {self.custom!r}.",
        )
        _require(
            self.lens is Lens.IDENTITY or not self.policy.needs_adainfer,
            f"{self.policy.value} is trained for states as they are; choose the lens identity.",
        )
        _require(
            self.check is not Head.TRIMMED,
            "An exit cannot be checked by the trimmed head, which lacks tokens; check with the full or the slim one.",
        )

    def _check_numbers(self) -> None:
        _require(0.0 <= self.threshold <= 1.0, f"The threshold is {self.threshold:g}; it must be between 0 and 1.")
        _require(
            all(layer >= 0 and 0.0 <= value <= 1.0 for layer, value in self.layer_thresholds),
            "A layer's own threshold must be between 0 and 1.",
        )
        _require(0.0 <= self.gate <= 1.0, f"The margin gate is {self.gate:g}; it must be between 0 (off) and 1.")
        _require(
            self.max_new_tokens >= 1,
            f"The number of new tokens is {self.max_new_tokens}; ask for at least 1.",
        )

    def _check_what_trees_lack(self) -> None:
        _require(
            not self.tree.on or self.policy.grows_trees,
            f"{self.policy.value} cannot decode token trees; choose dense or SpecEE, or turn the tree off.",
        )
        _require(
            not self.tree.on or self.sampling.temperature == 0,
            "Token trees are defined for greedy decoding only; set the temperature to 0, or turn the tree off.",
        )

    def _check_what_sampling_lacks(self) -> None:
        _require(
            self.check is Head.FULL or self.sampling.temperature == 0,
            "A shortlist check is defined for greedy decoding only, as a draw is among the whole vocabulary; set the "
            "temperature to 0, or check with the full head.",
        )
        _require(
            self.sampling.temperature == 0 or self.policy.samples,
            f"{self.policy.value} is defined for greedy decoding only; set the temperature to 0, or choose dense or "
            "SpecEE.",
        )

    def check_against(self, depth: int) -> None:
        """Refuse what a model of `depth` layers cannot do.

        Raises:
            UserError: the fixed exit layer, M or r does not fit the model.
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

    def thresholds(self, depth: int) -> list[float]:
        """Each layer's threshold. L numbers."""
        own = dict(self.layer_thresholds)
        return [own.get(layer, self.threshold) for layer in range(depth)]

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
