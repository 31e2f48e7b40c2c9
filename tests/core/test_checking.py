"""Events of a file that do not fit each other are refused, and the sentence says which line and what."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from core.errors import UserError
from core.trace.events import Event, RunEnded
from core.trace.jsonl import dumps, read_events, write_events
from tests.core.any_events import same_events
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace

DEPTH = 12
Change = Callable[[dict[str, Any]], object]


def lines_of(events: list[Event]) -> list[str]:
    lines = io.StringIO()
    list(write_events(lines, events))
    return lines.getvalue().splitlines()


def tree_events() -> list[Event]:
    return tree_trace(TreePlan(), TreePlan(refused=(18,))).events


def refused(lines: list[str], number: int, sentence: str) -> None:
    with pytest.raises(UserError, match=rf"^Line {number}\b.*{sentence}"):
        list(read_events(lines))


def changed(events: list[Event], kind: str, change: Change, nth: int = 0) -> tuple[list[str], int]:
    """The lines with the nth event of a kind changed, and its number."""
    lines = lines_of(events)
    number = [at for at, line in enumerate(lines) if line.startswith(f'{{"event":"{kind}"')][nth]
    values = json.loads(lines[number])
    change(values)
    lines[number] = json.dumps(values)
    return lines, number + 1


def put(**fields: Any) -> Change:
    return lambda values: values.update(fields)


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        ("RunStarted", lambda v: v["model"].update(depth=10**9), "model's depth is 1000000000"),
        ("RunStarted", lambda v: v["model"].update(depth="12"), "depth is '12'"),
        ("RunStarted", lambda v: v["model"].update(depth=True), "depth is True"),
        ("RunStarted", lambda v: v["settings"].update(threshold=7), "The threshold is 7"),
        ("RunStarted", put(offline=[DEPTH]), "offline is 12"),
        ("RunStarted", put(prompt_ids=[[1]]), "prompt_ids are no list"),
        ("RunStarted", put(prompt_ids=[10**12]), "prompt_ids is 1000000000000"),
        ("RunStarted", put(run=-1), "run is -1"),
        ("PrefillAdvanced", put(done=9, total=3), "done is 9"),
        ("PrefillAdvanced", put(seconds=None), "seconds hold something that is no number"),
        ("DraftProposed", put(candidate_ids=[1, 2]), "candidate_bytes are 4 instead of 2"),
        ("DraftProposed", put(candidate_ids=[1, 2, 3, 1000]), "candidate_ids is 1000"),
        ("DraftProposed", put(candidate_ids=[1, 2, 3, 2.5]), "2.5 in an array of int values"),
        ("DraftProposed", put(candidate_probabilities=[0.5]), "candidate_probabilities have the shape"),
        ("DraftProposed", put(candidate_probabilities=[[1], [2, 3]]), "in an array"),
        ("ScheduleChosen", put(active=[True]), "active have the shape"),
        ("ScheduleChosen", put(active=[1] * DEPTH), "1 in an array of bool values"),
        ("ScheduleChosen", put(ring_layers=[3], ring_tokens=[]), "ring_tokens have the shape"),
        ("ScheduleChosen", put(ring_layers=[DEPTH], ring_tokens=[0]), "ring_layers is 12"),
        ("ScheduleChosen", put(ring_layers=[3], ring_tokens=[99]), "ring_tokens is 99"),
        ("LayerRun", put(layer=DEPTH), "layer is 12, which is not between 0 and 11"),
        ("LayerRun", put(token=10**12), "token is 1000000000000 where 1 belongs"),
        ("LayerRun", put(token=0), "token is 0 where 1 belongs"),
        ("LayerRun", put(run=3), "of run 3 amid those of run 0"),
        ("LayerRun", put(score="high"), "where a number belongs"),
        ("Verified", put(layer=-1), "layer is -1"),
        ("Verified", put(argmax_id=-5), "argmax_id is -5"),
        ("Verified", put(candidate_rank=-2), "candidate_rank is -2"),
        ("Audited", put(token_ids=[1]), "token_ids have the shape"),
        ("Audited", put(token_bytes=[]), "token_bytes are 0 instead of 12"),
        ("Audited", put(candidate_logits=[1.0]), "candidate_logits have the shape"),
        ("Audited", put(scores=[None] * 11), "scores have the shape"),
        ("TokenEmitted", put(token=1), "token is 1 where 0 belongs"),
        ("TokenEmitted", put(exit_layer=0), "exit_layer is 0"),
        ("TokenEmitted", put(exit_layer=DEPTH + 1), "exit_layer is 13"),
        ("TokenEmitted", put(token_id=10**20), "is too large a number"),
        ("TokenEmitted", lambda v: v["times"].update(total=None), "total is None"),
        ("KVUpdated", put(skipped_from=DEPTH + 1), "skipped_from is 13"),
        ("KVUpdated", put(recomputed=[[0, 0, 99]]), "recomputed is 99"),
        ("KVUpdated", put(position=-1), "position is -1"),
    ],
)
def test_that_a_value_out_of_range_is_named_with_its_line(kind: str, change: Change, sentence: str) -> None:
    lines, number = changed(fake_run_events(6, audit=True), kind, change)
    refused(lines, number, sentence)


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        ("TreeDrafted", lambda v: v["parents"].__setitem__(1, 5), "do not come before their children"),
        ("TreeDrafted", lambda v: v["parents"].__setitem__(0, 0), "do not come before their children"),
        ("TreeDrafted", put(node_ids=[]), "number of nodes is 0"),
        ("TreeDrafted", put(node_bytes=[]), "node_bytes are 0"),
        ("TreeDrafted", put(candidate_ids=[1]), "no table"),
        ("TreeLayerRun", put(layer=30), "layer is 30"),
        ("TreeLayerRun", put(scores=[0.5]), "scores are 1"),
        ("TreeLayerRun", put(proposed=[True] * 99), "proposed are 99"),
        ("TreeLayerRun", put(features=[[0.5]]), "features are no table with a row a node"),
        ("TreeVerified", put(walk=[]), "does not begin at the root"),
        ("TreeVerified", put(walk=[0, 99]), "walk is 99|argmax_ids have"),
        ("TreeAccepted", put(accepted=[0]), "accepted is 0"),
        ("TreeAccepted", put(token=3), "token is 3|amid that of token"),
    ],
)
def test_that_a_tree_that_cannot_be_is_named_with_its_line(kind: str, change: Change, sentence: str) -> None:
    lines, number = changed(tree_events(), kind, change)
    refused(lines, number, sentence)


def test_that_features_of_one_token_have_one_length() -> None:
    lines, number = changed(fake_run_events(6), "LayerRun", put(features=[0.5, 0.5], score=0.5), nth=5)
    refused(lines, number, "features are 2 where the layers before it have 12")


@pytest.mark.parametrize("missing", ["RunStarted", "TreeDrafted"])
def test_that_what_everything_else_hangs_on_may_not_be_missing(missing: str) -> None:
    kept = [event for event in tree_events() if type(event).__name__ != missing]
    with pytest.raises(UserError, match=r"no RunStarted comes before it|no TreeDrafted has told of"):
        list(read_events(lines_of(kept)))


def test_that_nothing_follows_the_end_of_a_run() -> None:
    events = fake_run_events(2)
    refused(lines_of([*events, events[-1]]), len(events) + 2, "comes after the run's end")
    refused(lines_of([*events, events[0]]), len(events) + 2, "comes after the run's end|begun already")


def test_that_several_runs_may_follow_each_other() -> None:
    events = [*fake_run_events(3, run=4), *fake_run_events(2, run=1)]
    assert same_events(list(read_events(lines_of(events))), events)


def test_that_whole_runs_with_trees_pass() -> None:
    events = tree_events()
    assert same_events(list(read_events(lines_of(events))), events)


def test_that_a_run_may_leave_out_all_that_another_engine_does_not_know() -> None:
    kinds = {"RunStarted", "TokenEmitted"}
    events = [event for event in fake_run_events(4) if type(event).__name__ in kinds]
    assert len(list(read_events(lines_of(events)))) == 5


def test_that_a_field_with_a_default_may_be_left_out() -> None:
    lines, _ = changed(fake_run_events(6), "Verified", lambda values: values.pop("gated"))
    assert same_events(list(read_events(lines)), fake_run_events(6))


def test_that_a_sentence_of_an_end_may_name_a_path_of_broken_bytes() -> None:
    events = fake_run_events(2)
    assert isinstance(events[-1], RunEnded)
    broken = json.loads(dumps(events[-1])) | {"detail": "caf\udce9"}
    lines = [*lines_of(events[:-1]), json.dumps(broken)]
    assert list(read_events(lines))[-1].detail == "caf\udce9"  # type: ignore[union-attr]
