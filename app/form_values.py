"""What the settings form holds, and what of it a run gets: only what the chosen policy uses."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from core.choices import Head, KVPolicy, Lens, Policy, Record
from core.choices import Mapping as TreeMapping
from core.config import RunSettings, SamplingSettings, SchedulerSettings, TreeSettings
from core.errors import UserError

FOLLOW_MODEL = "recommended"
"""The profile that takes each model's own recommendation; the paper's values where a model has none."""
MOST = 1_000_000
"""Of tokens or layers; a larger number in a settings file is a mistake."""


class Input(StrEnum):
    """An input that some policies use and others do not."""

    THRESHOLD = "threshold"
    CONFIDENCE = "confidence"
    SCHEDULER = "scheduler"
    FIXED_LAYER = "fixed layer"
    CUSTOM = "custom"
    KV_POLICY = "kv policy"
    SAMPLING = "sampling"
    LENS = "lens"
    CHECKS = "checks"
    """Margin gate, and the heads that check and draft."""
    TREE = "tree"


_EXITS = frozenset({Input.KV_POLICY})
_READS = _EXITS | {Input.LENS}
_CHECKED = _READS | {Input.THRESHOLD, Input.CHECKS}
_USES: Mapping[Policy, frozenset[Input]] = {
    Policy.DENSE: frozenset(),
    Policy.SPECEE_T1: _CHECKED,
    Policy.SPECEE_T1T2: _CHECKED | {Input.SCHEDULER},
    Policy.CALM: _READS | {Input.CONFIDENCE},
    Policy.FIXED: _READS | {Input.FIXED_LAYER},
    Policy.ORACLE: _READS,
    Policy.CUSTOM: _CHECKED | {Input.CUSTOM, Input.SCHEDULER},
}
_FIELDS: Mapping[Input, tuple[str, ...]] = {
    Input.THRESHOLD: ("threshold", "layer_thresholds"),
    Input.SCHEDULER: ("scheduler",),
    Input.FIXED_LAYER: ("fixed_layer",),
    Input.CUSTOM: ("custom",),
    Input.KV_POLICY: ("kv_policy",),
    Input.SAMPLING: ("sampling",),
    Input.LENS: ("lens",),
    Input.CHECKS: ("gate", "check", "draft_head"),
    Input.TREE: ("tree",),
}
"""What an input enters, by the fields' names, which are the same in a form and in a run."""


def uses(policy: Policy) -> frozenset[Input]:
    """The inputs that decide a run of this policy. A class of the user's own is given them all and may read any."""
    sampling = {Input.SAMPLING} if policy.samples else set()
    trees = {Input.TREE} if policy.grows_trees else set()
    return _USES.get(policy, _EXITS) | sampling | trees


@dataclass(frozen=True, slots=True)
class FormValues:
    """Everything that is entered, whether the chosen policy uses it or not."""

    policy: Policy = Policy.SPECEE_T1T2
    profile: str = FOLLOW_MODEL
    """Key of the profile that `threshold` and `scheduler` come from."""
    threshold: float = 0.5
    """Of the predictors' scores."""
    confidence: float = 0.9
    """CALM's threshold, of the likeliest token's probability: another quantity than a score, hence kept apart."""
    layer_thresholds: tuple[tuple[int, float], ...] = ()
    """Of a profile that has some; changing the threshold by hand drops them."""
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    lens: Lens = Lens.IDENTITY
    gate: float = 0.0
    check: Head = Head.FULL
    draft_head: Head = Head.FULL
    fixed_layer: int = 1
    custom: str = ""
    kv_policy: KVPolicy = KVPolicy.RECOMPUTE
    record: Record = Record.LIVE
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    tree: TreeSettings = field(default_factory=TreeSettings)
    stop: tuple[str, ...] = ()
    max_new_tokens: int = 128

    def run_settings(self, chat_template: bool) -> RunSettings:
        """The settings of a run; what the policy does not use keeps its default.

        Raises:
            UserError: they do not make a run, as a class of the user's own that is not named.
        """
        chosen = self._fields(uses(self.policy))
        if Input.CONFIDENCE in uses(self.policy):
            chosen["threshold"] = self.confidence
        if self.sampling.temperature == 0:  # greedy decoding draws nothing
            chosen.pop("sampling", None)
        return RunSettings(
            policy=self.policy,
            max_new_tokens=self.max_new_tokens,
            chat_template=chat_template,
            record=self.record,
            stop=self.stop,
            **chosen,
        )

    def _fields(self, inputs: frozenset[Input]) -> dict[str, Any]:
        return {name: getattr(self, name) for given in inputs for name in _FIELDS.get(given, ())}

    def taking(self, settings: RunSettings) -> FormValues:
        """These values with those of `settings` that its policy uses."""
        used = uses(settings.policy)
        taken = {name: getattr(settings, name) for given in used for name in _FIELDS.get(given, ())}
        if Input.CONFIDENCE in used:
            taken["confidence"] = settings.threshold
        return replace(
            self,
            policy=settings.policy,
            record=settings.record,
            stop=settings.stop,
            max_new_tokens=settings.max_new_tokens,
            **taken,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` reads them back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, stored: object) -> FormValues:
        """What `to_json` wrote. Each value that is missing, of another kind or out of range is the default."""
        if not isinstance(stored, dict):
            return cls()
        found = {}
        for name, read in _READ.items():
            with contextlib.suppress(KeyError, TypeError, ValueError, UserError):
                found[name] = read(stored[name])
        return cls(**found)


def _whole(value: object) -> int:
    if type(value) is not int:  # a bool is none
        raise TypeError(value)
    return value


def _positive(value: object) -> int:
    if not 1 <= _whole(value) <= MOST:
        raise ValueError(value)
    return _whole(value)


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError(value)
    return float(value)


def _share(value: object) -> float:
    if not 0 <= _number(value) <= 1:
        raise ValueError(value)
    return _number(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _scheduler(value: Mapping[str, object]) -> SchedulerSettings:
    window, radius, layers = (_whole(value[name]) for name in ("window", "radius", "offline_layers"))
    return SchedulerSettings(window, radius, layers, value["distinct"] is True)


def _sampling(value: Mapping[str, object]) -> SamplingSettings:
    return SamplingSettings(_number(value["temperature"]), _number(value["top_p"]), _whole(value["seed"]))


def _tree(value: Mapping[str, object]) -> TreeSettings:
    nodes, depth, expand = (_whole(value[name]) for name in ("nodes", "depth", "expand"))
    mapping = TreeMapping(_text(value["mapping"]))
    return TreeSettings(_text(value["shape"]), nodes, depth, expand, mapping, value["ngrams"] is True)


_READ: Mapping[str, Callable[[Any], Any]] = {
    "policy": Policy,
    "profile": _text,
    "threshold": _share,
    "confidence": _share,
    "layer_thresholds": lambda values: tuple((_whole(layer), _share(value)) for layer, value in values),
    "scheduler": _scheduler,
    "lens": Lens,
    "gate": _share,
    "check": Head,
    "draft_head": Head,
    "fixed_layer": _positive,
    "custom": _text,
    "kv_policy": KVPolicy,
    "record": Record,
    "sampling": _sampling,
    "tree": _tree,
    "stop": lambda values: tuple(text for text in map(_text, values) if text),
    "max_new_tokens": _positive,
}
