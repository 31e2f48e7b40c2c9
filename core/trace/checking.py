"""Whether events that come from a file fit each other: their order, their ranges and the shapes of their arrays.

The engine's own events do by construction. What passes here can be shown without a view looking beyond its arrays.
"""

from __future__ import annotations

from dataclasses import astuple

from core.trace.events import (
    Audited,
    DraftProposed,
    Event,
    FloatArray,
    KVUpdated,
    LayerRun,
    PrefillAdvanced,
    RunEnded,
    RunStarted,
    ScheduleChosen,
    TokenEmitted,
    TokenEvent,
    TreeDrafted,
    TreeEvent,
    Verified,
)
from core.trace.ranges import (
    MOST_NUMBER,
    Unfit,
    all_within,
    counted,
    finite,
    known_ids,
    listed,
    shaped,
    within,
)
from core.trace.tree_checking import TreeCheck

MOST_LAYERS = 10_000


def check_start(started: RunStarted) -> None:
    """Refuse a run of a model that cannot be.

    Raises:
        Unfit: a number is out of range.
    """
    model = started.model
    within("run", started.run, 0, MOST_NUMBER)
    within("model's depth", model.depth, 1, MOST_LAYERS)
    within("model's vocabulary", model.vocabulary, 1, MOST_NUMBER)
    within("model's context", model.context, 1, MOST_NUMBER)
    listed("prompt_ids", started.prompt_ids)
    listed("offline", started.offline)
    if started.branch is not None:
        within("branch's origin", started.branch.origin, 0, MOST_NUMBER)
        within("branch's token", started.branch.token, 0, MOST_NUMBER)
        within("branch's given", started.branch.given, started.branch.token + 1, MOST_NUMBER)
    known_ids("prompt_ids", started.prompt_ids, model)
    all_within("offline", started.offline, 0, model.depth - 1)


class RunCheck:
    """Looks at the events of one run in their order, from the first event of a pass on."""

    def __init__(self, started: RunStarted, token: int = 0) -> None:
        """`token` is the first that the events to come will emit; raises `Unfit` as `check_start` does."""
        check_start(started)
        self._run, self._model, self._depth = started.run, started.model, started.model.depth
        self._emitted = token
        """How many tokens have been emitted, hence the next one."""
        self._ended = False
        self._begin(token)

    def check(self, event: Event) -> None:
        """Take the next event.

        Raises:
            Unfit: it does not fit those before it, or its own fields do not fit each other.
        """
        if event.run != self._run:
            raise Unfit(f"it is of run {event.run} amid those of run {self._run}")
        if self._ended:
            raise Unfit("it comes after the run's end")
        match event:
            case RunStarted():
                raise Unfit("its run has begun already")
            case PrefillAdvanced():
                within("total", event.total, 0, MOST_NUMBER)
                within("done", event.done, 0, event.total)
                finite("seconds", event.seconds)
            case RunEnded():
                self._ended = True
            case _:
                self._check_order(event)
                self._check_token(event)

    def _begin(self, token: int) -> None:
        """A pass begins with this token."""
        self._pass = token
        self._tree: TreeCheck | None = None
        self._width: int | None = None
        """How many features the pass's predictors look at."""

    def _check_order(self, event: TokenEvent) -> None:
        """An event is of the newest pass, whose tokens may have been emitted, or begins the next one."""
        end = self._pass + max(self._tree.emits if self._tree else 1, 1)
        last = max(self._emitted, end - 1)
        in_turn = event.token == self._emitted or not isinstance(event, TokenEmitted)
        if not self._pass <= event.token <= last or not in_turn:
            raise Unfit(f"its token is {event.token} where {self._emitted} belongs")
        if event.token >= end:
            self._begin(event.token)

    def _check_token(self, event: TokenEvent) -> None:
        match event:
            case DraftProposed():
                self._check_draft(event)
            case ScheduleChosen():
                self._check_schedule(event)
            case LayerRun():
                within("layer", event.layer, 0, self._depth - 1)
                self._check_features(event.features)
            case Verified():
                within("layer", event.layer, 0, self._depth - 1)
                within("candidate_rank", event.candidate_rank, -1, MOST_NUMBER)
                known_ids("argmax_id", event.argmax_id, self._model)
            case Audited():
                self._check_audit(event)
            case TokenEmitted():
                self._check_emitted(event)
            case KVUpdated():
                self._check_kv(event)
            case _:
                self._check_tree(event)

    def _check_draft(self, event: DraftProposed) -> None:
        count = listed("candidate_ids", event.candidate_ids)
        counted("candidate_bytes", event.candidate_bytes, count)
        shaped("candidate_probabilities", event.candidate_probabilities, (count,))
        known_ids("candidate_ids", event.candidate_ids, self._model)

    def _check_kv(self, event: KVUpdated) -> None:
        within("position", event.position, 0, MOST_NUMBER)
        within("skipped_from", event.skipped_from, 0, self._depth)
        all_within("recomputed", event.recomputed[:, 0], 0, MOST_NUMBER)
        all_within("recomputed", event.recomputed[:, 1:], 0, self._depth)

    def _check_schedule(self, event: ScheduleChosen) -> None:
        for name in ("active", "offline", "counters"):
            shaped(name, getattr(event, name), (self._depth,))
        shaped("ring_tokens", event.ring_tokens, (listed("ring_layers", event.ring_layers),))
        all_within("ring_layers", event.ring_layers, 0, self._depth - 1)
        all_within("ring_tokens", event.ring_tokens, 0, event.token)

    def _check_features(self, features: FloatArray | None) -> None:
        if features is None:
            return
        width = listed("features", features)
        self._width = width if self._width is None else self._width
        if width != self._width:
            raise Unfit(f"its features are {width} where the layers before it have {self._width}")

    def _check_audit(self, event: Audited) -> None:
        for name in ("token_ids", "margins", "scores"):
            shaped(name, getattr(event, name), (self._depth,))
        counted("token_bytes", event.token_bytes, self._depth)
        known_ids("token_ids", event.token_ids, self._model)
        logits = event.candidate_logits
        shape = (self._depth, logits.shape[1] if logits.ndim == 2 else 0)
        shaped("candidate_logits", logits, shape)
        shaped("candidate_probabilities", event.candidate_probabilities, shape)

    def _check_emitted(self, event: TokenEmitted) -> None:
        known_ids("token_id", event.token_id, self._model)
        within("exit_layer", event.exit_layer, 1, self._depth)
        for seconds in astuple(event.times):
            finite("times", seconds)
        self._emitted += 1

    def _check_tree(self, event: TreeEvent) -> None:
        if isinstance(event, TreeDrafted) and self._tree is None and event.token == self._pass:
            self._tree = TreeCheck(event, self._model)
        elif self._tree is None:
            raise Unfit("it is of a tree that no TreeDrafted has told of")
        else:
            self._tree.check(event)


class EventCheck:
    """Looks at the events of some runs, one run after the other."""

    def __init__(self) -> None:
        self._runs: set[int] = set()
        self._run: RunCheck | None = None

    def check(self, event: Event) -> None:
        """Take the next event.

        Raises:
            Unfit: it does not fit those before it, or its own fields do not fit each other.
        """
        if isinstance(event, RunStarted) and event.run not in self._runs:
            self._run = RunCheck(event)
            self._runs.add(event.run)
        elif self._run is None:
            raise Unfit("no RunStarted comes before it")
        else:
            self._run.check(event)
