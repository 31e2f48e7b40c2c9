"""What happened during a run, as a closed union of frozen events.

The engine yields these and nothing else; the window, the command line, the tests and the trainer all consume them,
and replaying a trace yields them again. Arrays are NumPy, never tensors, and are not to be written to.

`token` is the 0-based index of the generated token that an event belongs to (0 comes from prefill); `layer` is a
0-based layer index; L is the number of decoder layers and k the number of candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from core.config import RunSettings
from core.trace.values import Branch as Branch
from core.trace.values import EndReason as EndReason
from core.trace.values import ExitReason as ExitReason
from core.trace.values import ModelInfo as ModelInfo
from core.trace.values import StageTimes as StageTimes

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins: everything that decides it apart from the weights."""

    run: int
    settings: RunSettings
    model: ModelInfo
    prompt: str
    prompt_ids: IntArray
    """Shape [prompt tokens]."""
    offline: IntArray
    """Layers that the offline profile keeps active, best first; empty unless T2 is on."""
    versions: Mapping[str, str]
    branch: Branch | None = None
    """Where the run branched off another one; null for a run that begins with its prompt."""


@dataclass(frozen=True, slots=True)
class PrefillAdvanced:
    """The prompt's pass has come so far."""

    run: int
    done: int
    """Prompt tokens run so far."""
    total: int
    """Tokens of the prompt."""
    seconds: float
    """Since the run began, pauses left out."""


@dataclass(frozen=True, slots=True)
class DraftProposed:
    """The drafter has named the candidates for a token, S."""

    run: int
    token: int
    candidate_ids: IntArray
    """Shape [k], the drafter's best guesses for this token, most likely first."""
    candidate_bytes: tuple[bytes, ...]
    candidate_probabilities: FloatArray
    """Shape [k], the drafter's probabilities over the vocabulary, or over those tokens of it that its head has."""


@dataclass(frozen=True, slots=True)
class ScheduleChosen:
    """Which layers have a predictor in the pass that begins, and why."""

    run: int
    token: int
    active: BoolArray
    """Shape [L]; the last layer is always False, it needs no predictor."""
    offline: BoolArray
    """Shape [L]: the layers that the offline level keeps active."""
    counters: IntArray
    """Shape [L], how many ring entries lie within r of the layer (SpecEE §5.3)."""
    ring_layers: IntArray
    """Shape [n ≤ N], 0-based last layers run of the tokens in the ring, oldest first."""
    ring_tokens: IntArray
    """Shape [n ≤ N], the generated tokens these exits belong to."""


@dataclass(frozen=True, slots=True)
class LayerRun:
    """One decoder layer has been run for a token, and its predictor too where that is active."""

    run: int
    token: int
    layer: int
    features: FloatArray | None
    """Shape [3k]: k logits, k local probabilities, k variations (SpecEE §4.3), or what another policy looks at; None
    where the layer is not active."""
    score: float
    """The predictor's output in 0…1; NaN where the layer is not active."""
    proposed: bool


@dataclass(frozen=True, slots=True)
class Verified:
    """A proposed exit was checked against the full vocabulary."""

    run: int
    token: int
    layer: int
    argmax_id: int
    """The layer's own token: the argmax, or under sampling its draw."""
    argmax_bytes: bytes
    candidate_rank: int
    """0-based place of the argmax among the candidates; -1 where it is none of them and the exit is refused."""
    margin: float
    """Probability of the best token minus that of the second best, over the whole vocabulary; among the shortlist
    where the low-rank head makes one."""
    gated: bool = False
    """Whether the margin gate refused the exit."""

    @property
    def accepted(self) -> bool:
        return self.candidate_rank >= 0 and not self.gated


class WalkEnd(StrEnum):
    """How the walk from a tree's root ended at one layer (`docs/rules.md`)."""

    VERIFIED = "verified"
    """Every step was among its node's candidates: the pass ends here."""
    NOT_CANDIDATE = "not a candidate"
    """A node's argmax was none of its candidates."""
    NOT_PROPOSED = "not proposed"
    """A step led to a node whose path had not passed the threshold."""
    GATED = "gated"
    """A margin on the walk was below the gate."""


@dataclass(frozen=True, slots=True)
class TreeDrafted:
    """The tree of a target pass. Node 0 is the root, the newest emitted token; a node's parent comes before it."""

    run: int
    token: int
    """The first token that the pass will emit."""
    node_ids: IntArray
    """Shape [n]."""
    node_bytes: tuple[bytes, ...]
    parents: IntArray
    """Shape [n], -1 for the root."""
    probabilities: FloatArray
    """Shape [n], the drafter's probability of each node after its parent, 1 for the root."""
    from_ngram: BoolArray
    """Shape [n], nodes that were found earlier in the context instead of drafted."""
    candidate_ids: IntArray
    """Shape [n, k], S of every node: the drafter's best guesses for what follows it."""
    candidate_bytes: tuple[bytes, ...]
    """n·k texts, node by node."""
    candidate_probabilities: FloatArray
    """Shape [n, k]."""


@dataclass(frozen=True, slots=True)
class TreeLayerRun:
    """One decoder layer has been run for a whole tree."""

    run: int
    token: int
    layer: int
    features: FloatArray | None
    """Shape [n, 3k] as in `LayerRun`; None where the layer is not active or nothing may exit."""
    scores: FloatArray
    """Shape [n], each node's own predictor output; empty where there is none."""
    path_scores: FloatArray
    """Shape [p], merged scores of the root-to-leaf paths, ordered by leaf; empty where there is none."""
    proposed: BoolArray
    """Shape [p], paths above the threshold."""


@dataclass(frozen=True, slots=True)
class TreeVerified:
    """The walk from the root was tried at a layer at which paths were proposed."""

    run: int
    token: int
    layer: int
    walk: IntArray
    """Shape [w ≥ 1], nodes stepped on, the root first."""
    argmax_ids: IntArray
    """Shape [w], each one's own next token."""
    argmax_bytes: tuple[bytes, ...]
    margins: FloatArray
    """Shape [w], p₁ - p₂."""
    end: WalkEnd

    @property
    def accepted(self) -> bool:
        return self.end is WalkEnd.VERIFIED


@dataclass(frozen=True, slots=True)
class TreeAccepted:
    """How a tree's pass ended; a `TokenEmitted` for each of its tokens follows."""

    run: int
    token: int
    accepted: IntArray
    """Shape [τ - 1], draft nodes stepped to, in order."""
    bonus_id: int
    """The final argmax, always exactly one."""
    exit_layer: int
    """Layers run, 1…L."""
    rows_checked: int
    """Nodes whose full logits were computed over the pass, the last layer's included."""

    @property
    def acceptance_length(self) -> int:
        """τ, tokens that the pass emits."""
        return len(self.accepted) + 1


@dataclass(frozen=True, slots=True)
class Audited:
    """What every layer would have said of a token; computed on the side, after the decision (audit depth only)."""

    run: int
    token: int
    token_ids: IntArray
    """Shape [L], each layer's own token: the argmax, or under sampling its draw. The last is the full-depth token."""
    token_bytes: tuple[bytes, ...]
    """L texts."""
    margins: FloatArray
    """Shape [L], p₁ - p₂ over the whole vocabulary."""
    candidate_logits: FloatArray
    """Shape [L, k]; [L, 0] where nothing was drafted."""
    candidate_probabilities: FloatArray
    """Shape [L, k], over the whole vocabulary."""
    scores: FloatArray
    """Shape [L], predictor outputs with variations taken to the last active layer below; NaN where there is none."""

    @property
    def full_depth_id(self) -> int:
        return int(self.token_ids[-1])


@dataclass(frozen=True, slots=True)
class TokenEmitted:
    """A token has been decided and belongs to the text."""

    run: int
    token: int
    token_id: int
    token_bytes: bytes
    special: bool
    """Whether this is a control token of the model, such as an end-of-text mark."""
    exit_layer: int
    """e = layers run, 1…L."""
    reason: ExitReason
    times: StageTimes


@dataclass(frozen=True, slots=True)
class KVUpdated:
    """K/V entries changed for positions of the context during one token's pass."""

    run: int
    token: int
    position: int
    """Context position of the token that was fed in."""
    skipped_from: int
    """First layer that was not run for this position: from it on the entries are missing for good (*hole*), until a
    later pass (*recompute*), or made from the state that the token left with (*propagate*). L where all were run."""
    recomputed: IntArray
    """Shape [n, 3], rows (position, first layer, last layer + 1) of earlier positions that were caught up."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "recomputed", self.recomputed.reshape(-1, 3))


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run's last event."""

    run: int
    reason: EndReason
    detail: str
    """One sentence for the user."""


TreeEvent = TreeDrafted | TreeLayerRun | TreeVerified | TreeAccepted
"""What is told of a target pass over a token tree."""

TokenEvent = DraftProposed | ScheduleChosen | LayerRun | Verified | TreeEvent | Audited | TokenEmitted | KVUpdated
"""What belongs to one generated token, `event.token`."""

Event = RunStarted | PrefillAdvanced | TokenEvent | RunEnded
