"""Every analysis says the same of a run in memory and of the same run read back from a session file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.analysis.breakpoints import INTERESTING
from core.analysis.calibration import curves, judgements
from core.analysis.columns import columns_of
from core.analysis.compare import compare
from core.analysis.costs import costs
from core.analysis.counterfactual import counterfactual
from core.analysis.frontier import frontier
from core.analysis.inspector import inspect
from core.analysis.kv_map import kv_map
from core.analysis.ledger import ledger
from core.analysis.recorded_parts import from_record, to_record
from core.analysis.search import Query, search
from core.analysis.what_if import Redecider
from core.analysis.what_if_trees import TreeRedecider
from core.config import RunSettings, TreeSettings
from core.exits.predictors import PredictorBank
from core.trace.events import IntArray
from core.trace.reading import ReadableTrace
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from core.trace.trace import Trace
from tests.core.recordings import Recorder, audit_settings
from tests.hit_counts import hit_counts

PLAIN, TREES = audit_settings(), audit_settings(max_new_tokens=12, tree=TreeSettings("2-1"))
Analysis = Callable[[ReadableTrace, PredictorBank, IntArray], Any]

OF_ANY: dict[str, Analysis] = {
    "breakpoints": lambda trace, *_: hit_counts([INTERESTING, *INTERESTING.conditions], trace),
    "calibration": lambda trace, *_: curves(judgements(trace).of_layer(2)),
    "compare": lambda trace, *_: compare(trace, trace),
    "costs": lambda trace, *_: costs(trace),
    "counterfactual": lambda trace, *_: counterfactual(trace.records[3]),
    "inspector": lambda trace, bank, _: inspect(trace, bank, 3, 2),
    "kv map": lambda trace, *_: kv_map(trace),
    "ledger": lambda trace, *_: ledger(trace),
    "search": lambda trace, *_: search(trace, Query(text="a", least_layers=2)),
}
OF_TOKENS: dict[str, Analysis] = {
    "what-if": lambda trace, *parts: Redecider(columns_of(trace), *parts).decide(
        dataclasses.replace(PLAIN, threshold=0.1)
    ),
    "frontier": lambda trace, *parts: frontier(Redecider(columns_of(trace), *parts), PLAIN),
}
OF_TREES: dict[str, Analysis] = {
    "what-if of trees": lambda trace, *parts: TreeRedecider(trace, *parts).decide(
        dataclasses.replace(TREES, threshold=0.1)
    ),
}


def told(value: Any) -> Any:
    """A result as plain values that compare, NaN as None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: told(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return told(value.tolist())
    if isinstance(value, list | tuple):
        return [told(one) for one in value]
    return None if isinstance(value, float) and np.isnan(value) else value


@pytest.fixture(scope="module")
def stored(recorder: Recorder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionFile]:
    """A session of two runs, one of single tokens and one of trees, with the parts that judged them."""
    path: Path = tmp_path_factory.mktemp("session") / "runs.specee"
    writer = SessionWriter(path)
    for number, settings in enumerate((PLAIN, TREES)):
        for event in recorder.run(settings).events:
            kept = to_record(recorder.parts.predictors, recorder.parts.offline_ranking)
            writer.take(dataclasses.replace(event, run=number), kept)
    writer.close()
    with closing(SessionFile(path)) as session:
        yield session


def assert_same(analysis: Analysis, live: Trace, stored: SessionFile, number: int, recorder: Recorder) -> None:
    parts = from_record(stored.weights(number))
    assert parts[0] is not None
    found = told(analysis(stored.trace(number), *parts))
    assert found == told(analysis(live, recorder.parts.predictors, recorder.parts.offline_ranking))


@pytest.mark.parametrize("name", OF_ANY | OF_TOKENS)
def test_that_an_analysis_of_a_stored_run_is_that_of_the_live_one(
    recorder: Recorder, stored: SessionFile, name: str
) -> None:
    assert_same((OF_ANY | OF_TOKENS)[name], recorder.run(PLAIN), stored, 0, recorder)


@pytest.mark.parametrize("name", OF_ANY | OF_TREES)
def test_that_an_analysis_of_stored_trees_is_that_of_the_live_ones(
    recorder: Recorder, stored: SessionFile, name: str
) -> None:
    assert_same((OF_ANY | OF_TREES)[name], recorder.run(TREES), stored, 1, recorder)


def test_that_settings_of_a_stored_run_are_the_live_ones(stored: SessionFile) -> None:
    kept: list[RunSettings] = [run.started.settings for run in stored.runs]
    assert kept == [PLAIN, TREES]
