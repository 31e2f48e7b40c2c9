"""What-if over token trees against the engine: what is exact is what a run does, and the rest says that it is not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.analysis.active_sets import Doubt
from core.analysis.recorded_pass import paths_of
from core.analysis.what_if_trees import TreeDecisions, TreeRedecider, how_exact_trees
from core.choices import Mapping, Policy, Record
from core.config import RunSettings, SchedulerSettings, TreeSettings
from core.errors import UserError
from core.trace.trace import Trace
from tests.core.recordings import DEPTH, PROMPTS, Recorder, audit_settings
from tests.tree_passes import SKY_PARENTS


def trees(mapping: Mapping = Mapping.REARMOST, **changes: object) -> RunSettings:
    tree = TreeSettings("3-2-1", mapping=mapping)
    return audit_settings(**{"max_new_tokens": 16, "threshold": 0.2, "tree": tree, **changes})


RECORDED = (
    trees(),
    trees(policy=Policy.SPECEE_T1, threshold=0.05),
    trees(Mapping.MEAN),
    trees(Mapping.INDEPENDENT, policy=Policy.SPECEE_T1, gate=0.01),
)
changes = st.fixed_dictionaries(
    {
        "policy": st.sampled_from([Policy.SPECEE_T1, Policy.SPECEE_T1T2]),
        "threshold": st.sampled_from([0.02, 0.1, 0.2, 0.3, 0.6]),
        "gate": st.sampled_from([0.0, 0.05]),
        "layer_thresholds": st.sampled_from([(), ((1, 0.0), (3, 0.9))]),
        "scheduler": st.builds(
            SchedulerSettings, window=st.integers(1, 4), radius=st.integers(0, 2), offline_layers=st.integers(0, 3)
        ),
    }
)


def redecider(recorder: Recorder, trace: Trace) -> TreeRedecider:
    return TreeRedecider(trace, recorder.parts.predictors, recorder.parts.offline_ranking)


def passes_of(trace: Trace) -> list[tuple[int, tuple[int, ...]]]:
    """Exit layer and tokens of each pass after prefill."""
    firsts = np.unique(trace.overview.passes[1:])
    ends = [*firsts[1:].tolist(), trace.emitted_count]
    ids = trace.overview.token_ids.tolist()
    return [(int(trace.exit_layers[f]), tuple(ids[f:e])) for f, e in zip(firsts.tolist(), ends, strict=True)]


def assert_same_until(decided: TreeDecisions, rerun: Trace, until: int) -> None:
    """The passes before `until` are decided as the run decided them; the run's last one may have been cut short."""
    for at, (exit_layer, tokens) in enumerate(passes_of(rerun)[:until]):
        assert decided.exit_layers[at] == exit_layer
        assert decided.tokens[at][: len(tokens)] == tokens
        record = rerun.records[int(decided.firsts[at])]
        np.testing.assert_array_equal(decided.active[at], record.schedule.active)
        assert decided.refusals[at] == sum(not walk.accepted for walk in record.tree.verified.values())


@hypothesis_settings(max_examples=10)
@given(before=st.sampled_from(RECORDED), prompt=st.sampled_from(PROMPTS[:2]), asked=changes)
def test_that_passes_through_the_first_change_are_those_of_a_run(
    recorder: Recorder, before: RunSettings, prompt: str, asked: dict
) -> None:
    after = dataclasses.replace(before, **asked)
    trace, rerun = recorder.run(before, prompt), recorder.run(after, prompt)
    decided = redecider(recorder, trace).decide(after)
    assert not decided.doubts.any()
    assert_same_until(decided, rerun, decided.estimate_from)
    first = decided.first_change
    if first is not None and decided.known[first]:
        assert passes_of(trace)[first] != passes_of(rerun)[first]
    if first is not None and not decided.known[first]:
        assert passes_of(rerun)[first][0] > decided.followed[first]


@pytest.mark.parametrize("settings", RECORDED, ids=lambda s: f"{s.policy} {s.tree.mapping}")
def test_that_the_recordings_own_settings_change_nothing(recorder: Recorder, settings: RunSettings) -> None:
    trace = recorder.run(settings)
    decided = redecider(recorder, trace).decide(settings)
    assert decided.first_change is None
    assert decided.exact.all()
    assert_same_until(decided, trace, len(decided.firsts))
    assert len(set(decided.exit_layers.tolist())) > 1, "some passes should exit early"
    assert how_exact_trees(decided) == "Every pass leaves where it left in the recording."


def test_that_a_lower_threshold_changes_a_pass_and_says_where(recorder: Recorder) -> None:
    trace = recorder.run(trees(threshold=0.6))
    decided = redecider(recorder, trace).decide(trees(threshold=0.0))
    first = decided.first_change
    assert decided.known[first]
    assert decided.exit_layers[first] < decided.recorded_exits[first]
    words = how_exact_trees(decided)
    assert f"Exact through <b>pass {first + 1}</b> (from token <b>{decided.firsts[first] + 1}</b> on)" in words
    assert "only a run tells" in words


def test_that_a_pass_beyond_its_recorded_exit_is_not_known(recorder: Recorder) -> None:
    trace = recorder.run(trees())
    decided = redecider(recorder, trace).decide(trees(threshold=0.99))
    first = decided.first_change
    assert not decided.known[first]
    assert not decided.exact[first:].any()
    assert decided.followed[first] >= decided.recorded_exits[first]
    assert decided.exit_layers[first] == DEPTH
    assert f"Exact before <b>pass {first + 1}</b>" in how_exact_trees(decided)


def test_that_without_predictors_another_active_set_is_in_doubt(recorder: Recorder) -> None:
    trace = recorder.run(trees(policy=Policy.SPECEE_T1, threshold=0.6))
    asked = trees(threshold=0.6, scheduler=SchedulerSettings(window=3, radius=1, offline_layers=2))
    bare = TreeRedecider(trace, None, recorder.parts.offline_ranking).decide(asked)
    assert (bare.doubts & Doubt.PREDICTOR).any()


def test_that_only_an_audited_run_of_predictors_with_trees_can_be_decided(recorder: Recorder) -> None:
    with pytest.raises(UserError, match="with token trees"):
        TreeRedecider(recorder.run(audit_settings()))
    with pytest.raises(UserError, match="with token trees"):
        TreeRedecider(recorder.run(trees(policy=Policy.DENSE)))
    with pytest.raises(UserError, match="does not tell"):
        TreeRedecider(recorder.run(trees(record=Record.LIVE)))
    with pytest.raises(UserError, match="can be decided anew"):
        redecider(recorder, recorder.run(trees())).decide(trees(max_new_tokens=9))


def test_that_paths_run_from_the_root_to_each_leaf() -> None:
    paths = paths_of(np.array(SKY_PARENTS))
    assert [np.flatnonzero(path).tolist() for path in paths] == [
        [0, 2, 6],
        [0, 1, 4, 8],
        [0, 1, 5, 9],
        [0, 1, 4, 7, 10],
        [0, 1, 4, 7, 11],
        [0, 3, 12],
    ]
