"""Two runs side by side: aligned token by token, the first divergence, what differs, and figures of both.

The n-th token of one is held against the n-th of the other. From the first divergence on their contexts differ, so that
differences there say nothing of the settings alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis import summaries
from core.analysis.wording import bold, bold_token, joined, share
from core.trace.events import BoolArray, IntArray
from core.trace.reading import ReadableTrace

Seconds = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What one run comes to; None where it was not measured (`docs/rules.md`, *Measures*)."""

    model: str
    dtype: str
    policy: str
    tokens: int
    mean_exit_layer: float | None
    early: float | None
    """Share of the tokens after the first that left before the last layer."""
    refusals: float | None
    """Refused exits a token after the first; a tree's pass refuses once for all its tokens."""
    agreement: float | None
    active_layers_mean: float | None
    acceptance_length: float | None
    """Tokens a target pass emitted, prefill's left out."""
    tokens_per_second: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that the two runs do not share."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs A and B, of n and m tokens; columns have max(n, m) rows."""

    figures: tuple[RunFigures, RunFigures]
    settings: tuple[Difference, ...]
    """Settings, model and prompt where they differ."""
    same: BoolArray
    """Whether both emitted the same token; False where one run has ended."""
    exit_layers: tuple[IntArray, IntArray]
    """Layers run, 1…L; 0 where the run has ended."""
    seconds: tuple[Seconds, Seconds]
    """Time of each token; NaN where the run has ended."""
    margins: tuple[float, float] = (float("nan"), float("nan"))
    """p₁ - p₂ where each run chose the token of the first divergence, NaN where that was not recorded. In float32
    kernels agree; elsewhere a first divergence of the same settings must be a near-tie."""

    @property
    def aligned(self) -> int:
        """How many tokens both runs have."""
        return int(((self.exit_layers[0] > 0) & (self.exit_layers[1] > 0)).sum())

    @property
    def first_divergence(self) -> int | None:
        """The first token whose text differs, or that only one run has; None where there is none."""
        at = np.flatnonzero(~self.same)
        return int(at[0]) if len(at) else None

    @property
    def first_other_exit(self) -> int | None:
        """The first token that both runs emitted after different numbers of layers; None where there is none."""
        at = np.flatnonzero(self.exit_delta != 0)
        return int(at[0]) if len(at) else None

    @property
    def exit_delta(self) -> IntArray:
        """B's exit layer minus A's for each token that both have. Shape [aligned]."""
        delta: IntArray = (self.exit_layers[1] - self.exit_layers[0])[: self.aligned]
        return delta

    @property
    def seconds_delta(self) -> Seconds:
        """B's time minus A's for each token that both have. Shape [aligned]."""
        delta: Seconds = (self.seconds[1] - self.seconds[0])[: self.aligned]
        return delta

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; tokens count from 1, as on screen."""
        return {
            "a": asdict(self.figures[0]),
            "b": asdict(self.figures[1]),
            "settings": [asdict(one) for one in self.settings],
            "aligned_tokens": self.aligned,
            "first_divergence": _counted_from_one(self.first_divergence),
            "margins_at_divergence": [None if np.isnan(one) else round(one, 6) for one in self.margins],
            "first_other_exit": _counted_from_one(self.first_other_exit),
            "tokens": [self._row(token) for token in range(len(self.same))],
        }

    def _row(self, token: int) -> dict[str, Any]:
        exits = [int(column[token]) or None for column in self.exit_layers]
        times = [None if np.isnan(column[token]) else round(float(column[token]), 6) for column in self.seconds]
        return {"token": token + 1, "same": bool(self.same[token]), "exit_layers": exits, "seconds": times}


def compare(a: ReadableTrace, b: ReadableTrace) -> Comparison:
    """Hold two runs against each other."""
    same = _same(a, b)
    exits = tuple(_padded(one.overview.exit_layers, len(same), 0) for one in (a, b))
    seconds = tuple(_padded(one.overview.seconds, len(same), np.nan) for one in (a, b))
    different = np.flatnonzero(~same)
    at = int(different[0]) if len(different) else len(same)
    return Comparison(
        figures=(figures_of(a), figures_of(b)),
        settings=tuple(_differences(a, b)),
        same=same,
        exit_layers=(exits[0], exits[1]),
        seconds=(seconds[0], seconds[1]),
        margins=(_margin(a, at), _margin(b, at)),
    )


def figures_of(trace: ReadableTrace) -> RunFigures:
    """The figures of one run."""
    overview, started = trace.overview, trace.started
    first = summaries.first_decided(trace)
    begins = np.unique(overview.passes[first:])
    after, passes = trace.emitted_count - first, len(begins)
    return RunFigures(
        model=started.model.name if started else "",
        dtype=started.model.dtype if started else "",
        policy=started.settings.policy.value if started else "",
        tokens=trace.emitted_count,
        mean_exit_layer=summaries.mean_exit_layer(trace),
        early=float((overview.exit_layers[first:] < trace.depth).mean()) if after > 0 else None,
        refusals=int(overview.refusals[begins].sum()) / after if after > 0 else None,
        agreement=summaries.agreement(trace),
        active_layers_mean=summaries.active_layers_mean(trace),
        acceptance_length=after / passes if passes else None,
        tokens_per_second=summaries.tokens_per_second(trace),
    )


def _same(a: ReadableTrace, b: ReadableTrace) -> BoolArray:
    """By ids under one model, else by texts: other models number their tokens otherwise."""
    count = min(a.emitted_count, b.emitted_count)
    equal = np.zeros(max(a.emitted_count, b.emitted_count), np.bool_)
    if a.started and b.started and a.started.model.fingerprint == b.started.model.fingerprint:
        equal[:count] = a.overview.token_ids[:count] == b.overview.token_ids[:count]
    else:
        pairs = zip(a.overview.texts[:count], b.overview.texts[:count], strict=True)
        equal[:count] = [left == right for left, right in pairs]
    return equal


def _padded(column: NDArray[Any], length: int, filling: float) -> NDArray[Any]:
    padded = np.full(length, filling, column.dtype)
    padded[: len(column)] = column
    return padded


def _differences(a: ReadableTrace, b: ReadableTrace) -> list[Difference]:
    if a.started is None or b.started is None:
        return []
    plain = [_flat({**one.started.settings.to_json(), **_origin(one)}) for one in (a, b) if one.started]
    names = dict.fromkeys([*plain[0], *plain[1]])
    pairs = ((name, plain[0].get(name), plain[1].get(name)) for name in names)
    return [Difference(name, left, right) for name, left, right in pairs if left != right]


def _origin(trace: ReadableTrace) -> dict[str, Any]:
    """What a run comes from apart from its settings."""
    assert trace.started is not None
    model = trace.started.model
    return {
        "prompt": trace.started.prompt,
        "model": {field.name: getattr(model, field.name) for field in fields(model)},
    }


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"tree": {"nodes": 24}}` as `{"tree.nodes": 24}`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def _margin(trace: ReadableTrace, token: int) -> float:
    """By how much a token led where it was chosen; NaN where that was not recorded."""
    if token >= trace.emitted_count:
        return float("nan")
    record = trace.records[token]
    last = trace.exit_layers[token] - 1
    if record.audit is not None:
        return float(record.audit.margins[last])
    check = record.verified.get(int(last))
    return check.margin if check else float("nan")


def _counted_from_one(token: int | None) -> int | None:
    return None if token is None else token + 1


def where_they_part(found: Comparison, a: ReadableTrace, b: ReadableTrace) -> str:
    """The first divergence and the first other exit layer, in sentences (minimal HTML)."""
    return joined(_divergence(found, a, b), _other_exit(found))


def _divergence(found: Comparison, a: ReadableTrace, b: ReadableTrace) -> str:
    at = found.first_divergence
    if at is None:
        return f"Both runs emit the same {bold(len(found.same))} tokens."
    name = bold(f"token {at + 1}")
    if at >= found.aligned:
        return f"The runs emit the same {bold(at)} tokens; then {'A' if a.emitted_count == at else 'B'} ends."
    texts = [bold_token(one.overview.texts[at], bool(one.overview.special[at])) for one in (a, b)]
    leads = [share(margin) for margin in found.margins if not np.isnan(margin)]
    ahead = f" ({' and '.join(leads)} ahead of the next best)" if len(leads) == 2 else ""
    return f"They part at {name}: {texts[0]} in A, {texts[1]} in B{ahead}."


def _other_exit(found: Comparison) -> str:
    at = found.first_other_exit
    if at is None:
        return "Every token that both have leaves after the same number of layers." if found.aligned else ""
    left, right = (bold(int(column[at])) for column in found.exit_layers)
    return f"The first other exit is that of {bold(f'token {at + 1}')}: after layer {left} in A, {right} in B."
