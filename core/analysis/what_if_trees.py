"""What recorded passes over token trees would have decided under other settings, without the model.

Less is known of a tree than of a single token: a path scores by all its nodes, and only the layers that the run itself
evaluated hold all nodes' features; what a node says at a layer is known on the walks that were tried there, and at
every layer for the nodes that the pass accepted. So each pass is decided as far as that goes:

* exact: other thresholds and gates at the layers that were evaluated; other active sets among these layers, whose
  variations are scored anew;
* not known: what a layer that was not evaluated would have scored (above the recorded exit, or newly active), and what
  comes where a walk leaves the accepted path. Such a pass runs at least as deep as it was followed; its exit is told
  as full depth.

Through the first pass that changes or is not known the decisions are those of a run, as for single tokens.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.analysis.active_sets import ActiveSets, as_rows, check_settings, layers_in
from core.analysis.pass_filling import PassBuilder, wanted
from core.analysis.recorded_pass import RecordedPass
from core.analysis.summaries import first_decided
from core.analysis.tree_passes import Asked, PassDecision, decide_pass
from core.analysis.wording import bold, counted, joined
from core.config import RunSettings
from core.errors import UserError
from core.exits.predictors import PredictorBank
from core.trace.events import BoolArray, EndReason, IntArray
from core.trace.reading import ReadableTrace
from core.trace.sweep import swept_of

PASSES = 64
"""That are gathered in one go."""


@dataclass(frozen=True, slots=True)
class TreeDecisions:
    """What every target pass of a run would have done; one row a pass."""

    settings: RunSettings
    count: int
    """Tokens of the recording up to the last pass."""
    firsts: IntArray
    """Shape [p], the first token that each recorded pass emitted."""
    recorded_exits: IntArray
    """Shape [p], 1…L."""
    exit_layers: IntArray
    """Shape [p], 1…L."""
    followed: IntArray
    """Shape [p], how many layers the pass was followed: its exit where that is known, else it lies beyond."""
    tokens: tuple[tuple[int, ...], ...]
    """What each pass would emit; the recorded tokens where its exit is not known."""
    active: BoolArray
    """Shape [p, L]."""
    refusals: IntArray
    """Shape [p], walks that would be refused, of those that were followed."""
    changed: BoolArray
    """Shape [p], whether exit layer or tokens differ from the recording's."""
    known: BoolArray
    """Shape [p], whether the recording tells where the pass would leave."""
    doubts: NDArray[np.uint8]
    """Shape [p], flags of `core.analysis.active_sets.Doubt`."""

    @property
    def first_change(self) -> int | None:
        """The first pass that differs, or may; None where none does."""
        at = np.flatnonzero(self.changed | ~self.known)
        return int(at[0]) if len(at) else None

    @property
    def estimate_from(self) -> int:
        """The first pass that is an estimate; p where there is none."""
        first = self.first_change
        return len(self.firsts) if first is None else first + bool(self.known[first])

    @property
    def exact(self) -> BoolArray:
        """Shape [p], whether a run would decide the same, where no pass before is in doubt."""
        exact: BoolArray = np.arange(len(self.firsts)) < self.estimate_from
        return exact


class PassReader:
    """Gathers a run's passes in their order, some at a time."""

    def __init__(self, trace: ReadableTrace) -> None:
        """Raises `UserError`: the run has no trees, or no predictors proposed its exits."""
        if trace.started is None or not (trace.started.settings.tree.on and trace.started.settings.policy.needs_parts):
            raise UserError("Only a run of SpecEE with token trees can be decided anew pass by pass.")
        self.trace = trace
        self.passes: list[RecordedPass] = []
        firsts = np.flatnonzero(trace.overview.passes == np.arange(trace.emitted_count))[1:].tolist()
        self._sweep = trace.sweep(wanted(trace.depth))
        self._left = deque(pairwise([*firsts, trace.emitted_count]))
        """First token and last token + 1 of each pass after prefill that is not gathered."""

    @property
    def count(self) -> int:
        """How many tokens are gathered."""
        return self._left[0][0] if self._left else self.trace.emitted_count

    @property
    def is_done(self) -> bool:
        return not self._left

    def advance(self) -> None:
        """Gather some more passes, and nothing of one that was cut off.

        Raises:
            UserError: the run was not recorded in audit depth.
        """
        end_id, count = _end_id(self.trace), min(PASSES, len(self._left))
        builder = self._swept(count, end_id)
        for _ in range(count):
            first, last = self._left[0]
            cut = last == self.trace.emitted_count
            made = builder.build(first, last, cut=cut) if builder is not None else None
            if made is None and _whole(self.trace, first):
                records = [self.trace.records[at] for at in range(first, last)]
                made = RecordedPass.of(records, end_id, cut=cut)
            self.passes += [made] if made is not None else []
            self._left.popleft()

    def _swept(self, count: int, end_id: int) -> PassBuilder | None:
        """What makes the next passes as far as they can be read together."""
        swept = swept_of(self._sweep, self._left[0][0], self._left[count - 1][1]) if count else None
        return PassBuilder(swept, self.trace.overview, end_id) if swept is not None else None


class TreeRedecider:
    """A recorded run of trees, ready to be decided again and again."""

    def __init__(
        self,
        trace: ReadableTrace,
        bank: PredictorBank | None = None,
        ranking: IntArray | None = None,
        reader: PassReader | None = None,
    ) -> None:
        """`bank` and `ranking` as for `core.analysis.what_if.Redecider`; only what `reader` has gathered by now is
        decided, or all where there is none.

        Raises:
            UserError: the run has no trees, or no predictors proposed its exits, or it was not recorded in audit depth.
        """
        if reader is None:
            reader = PassReader(trace)
            while not reader.is_done:
                reader.advance()
        assert trace.started is not None, "a run with passes has begun"
        self._settings, self._depth, self._bank = trace.started.settings, trace.depth, bank
        self._ranking = trace.started.offline if ranking is None else ranking
        self._given = trace.exit_layers[1 : first_decided(trace)].tolist()
        """Layers run by the tokens that a branch was given."""
        self.passes, self.count = list(reader.passes), reader.count

    def decide(self, settings: RunSettings) -> TreeDecisions:
        """Decide every pass anew.

        Raises:
            UserError: as `core.analysis.active_sets.check_settings` says.
        """
        check_settings(self._settings, settings, self._depth, self._ranking)
        asked = Asked(settings, settings.thresholds(self._depth), self._bank, self._depth)
        sets, masks, decided = ActiveSets(settings, self._depth, self._ranking), [], []
        for layers in self._given:
            sets.record(layers - 1)
        for one in self.passes:
            masks.append(sets.next())
            decided.append(decide_pass(one, layers_in(masks[-1]), asked))
            for _ in decided[-1].tokens:
                sets.record(decided[-1].exit_layer - 1)
        return self._told(settings, masks, decided)

    def _told(self, settings: RunSettings, masks: list[int], decided: list[PassDecision]) -> TreeDecisions:
        pairs = list(zip(self.passes, decided, strict=True))
        return TreeDecisions(
            settings=settings,
            count=self.count,
            firsts=np.array([one.first for one in self.passes], np.int64),
            recorded_exits=np.array([one.exit_layer for one in self.passes], np.int64),
            exit_layers=np.array([one.exit_layer for one in decided], np.int64),
            followed=np.array([one.followed for one in decided], np.int64),
            tokens=tuple(one.tokens for one in decided),
            active=as_rows(masks, self._depth),
            refusals=np.array([one.refusals for one in decided], np.int64),
            changed=np.array([one.known and _differs(was, one) for was, one in pairs], np.bool_),
            known=np.array([one.known for one in decided], np.bool_),
            doubts=np.array([one.doubts for one in decided], np.uint8),
        )


def _differs(was: RecordedPass, now: PassDecision) -> bool:
    # The newest pass of a run may have been cut short by its limit; what it emitted must agree as far as it goes.
    count = len(was.tokens) if was.cut else max(len(was.tokens), len(now.tokens))
    return now.exit_layer != was.exit_layer or now.tokens[:count] != was.tokens[:count]


def _whole(trace: ReadableTrace, first: int) -> bool:
    record = trace.records[first]
    if record.tree is None or record.tree.accepted is None:
        return False
    if record.audit is None:
        raise UserError(
            "This recording does not tell what the layers beyond each exit would have said; record the run in audit "
            "depth."
        )
    return True


def _end_id(trace: ReadableTrace) -> int:
    """The token that ended the text, after which no walk steps on; -1 where none did."""
    ended = trace.ended is not None and trace.ended.reason is EndReason.END_OF_TEXT
    return int(trace.overview.token_ids[-1]) if ended and trace.emitted_count else -1


def how_exact_trees(decided: TreeDecisions) -> str:
    """Through which pass the decisions are a run's, and what is not known, in sentences (minimal HTML)."""
    first = decided.first_change
    if first is None:
        return "Every pass leaves where it left in the recording."
    name = f"{bold(f'pass {first + 1}')} (from token {bold(int(decided.firsts[first]) + 1)} on)"
    if decided.known[first]:
        before, after = int(decided.recorded_exits[first]), int(decided.exit_layers[first])
        start = f"Exact through {name}, which leaves after layer {bold(after)} instead of {bold(before)}."
        start = start if after != before else f"Exact through {name}, which emits other tokens."
    else:
        followed = int(decided.followed[first])
        start = (
            f"Exact before {name}: beyond layer {bold(followed)} the recording does not tell what its tree would have "
            "scored or said."
        )
    unknown = int((~decided.known).sum())
    rest = "What follows is an estimate; only a run tells." if decided.estimate_from < len(decided.known) else ""
    return joined(start, rest, f"{counted(unknown, 'pass')} cannot be followed to its exit." if unknown else "")
