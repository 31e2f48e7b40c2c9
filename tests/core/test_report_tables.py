"""What tables say, read back from CSV and held against the analysis."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from core.analysis import calibration, costs, kv_map, ledger, summaries
from core.analysis.counterfactual import counterfactual
from core.errors import UserError
from core.report.table import Table
from core.report.views import VIEWS, Subject
from core.trace.overview import CellState
from core.trace.session_file import SessionFile
from core.trace.trace import Trace
from resources.paths import SAMPLE
from tests.fakes import fake_run_events

TRACE = Trace.of(fake_run_events(9, audit=True))
LIVE = Trace.of(fake_run_events(4))
TREE_RUN, LAST_RUN = 3, 4


@pytest.fixture(scope="module")
def sample() -> Iterator[SessionFile]:
    with closing(SessionFile(SAMPLE)) as file:
        yield file


def read(name: str, subject: Subject) -> list[dict[str, str]]:
    lines = io.StringIO()
    VIEWS[name].table(subject).write(lines)
    return list(csv.DictReader(io.StringIO(lines.getvalue())))


def column(rows: list[dict[str, str]], name: str) -> list[str]:
    return [row[name] for row in rows]


def test_that_cells_are_plain_numbers_flags_and_empty_where_nothing_is_known() -> None:
    lines = io.StringIO()
    Table(("a", "b", "c", "d"), [(True, None, float("nan"), 0.1), (False, "x,\n", 3, 1e-9)]).write(lines)
    assert lines.getvalue() == 'a,b,c,d\n1,,,0.1\n0,"x,\n",3,1e-09\n'


def test_that_the_token_table_says_what_the_overview_says() -> None:
    rows, seen = read("tokens", Subject(TRACE)), TRACE.overview
    assert column(rows, "token") == [str(at + 1) for at in range(9)]
    assert column(rows, "exit_layer") == [str(layer) for layer in seen.exit_layers]
    assert column(rows, "token_id") == [str(one) for one in seen.token_ids]
    assert column(rows, "refusals") == [str(one) for one in seen.refusals]
    assert [float(one) for one in column(rows, "seconds")] == pytest.approx(seen.seconds.tolist())
    wrong = [row["outcome"] == "wrong exit" for row in rows]
    assert wrong == seen.wrong.tolist()
    assert any(wrong)


def test_that_no_text_of_a_table_can_be_taken_for_a_formula() -> None:
    assert all(text.startswith("‘") for text in column(read("tokens", Subject(TRACE)), "text"))


def test_that_a_live_run_leaves_empty_what_only_an_audit_knows() -> None:
    rows = read("tokens", Subject(LIVE))
    assert set(column(rows, "full_depth_id")) == {""} == set(column(rows, "final_rank"))


def test_that_the_exit_table_has_the_running_mean_and_none_for_prefill() -> None:
    rows, series = read("exits", Subject(TRACE)), summaries.exit_series(TRACE)
    assert rows[0]["running_mean"] == ""
    assert [float(one) for one in column(rows, "running_mean")[1:]] == pytest.approx(series.running_mean[1:].tolist())


def test_that_the_scheduler_table_has_a_row_a_cell_with_its_flags() -> None:
    rows, states = read("scheduler", Subject(TRACE)), summaries.scheduler_map(TRACE).states
    for flag in ("offline", "online", "evaluated", "proposed", "refused", "exited", "wrong"):
        told = np.array([row[flag] == "1" for row in rows]).reshape(states.shape)
        assert np.array_equal(told, (states & CellState[flag.upper()]) > 0), flag
    assert rows[13]["token"] == "2"
    assert rows[13]["layer"] == "2"


def test_that_the_ledger_tables_count_what_the_ledger_counts() -> None:
    found, subject = ledger.ledger(TRACE), Subject(TRACE)
    rows = {row["class"]: row for row in read("ledger", subject)}
    assert {label: int(row["tokens"]) for label, row in rows.items()} == {row.label: row.count for row in found.rows}
    assert sum(int(row["layers_lost"]) for row in rows.values()) == int(found.lost.sum())
    told = column(read("ledger_tokens", subject), "class")
    assert told == [ledger.LABELS.get(ledger.Entry(entry), "") for entry in found.entries]


def test_that_the_frontier_table_is_the_frontier(sample: SessionFile) -> None:
    subject = Subject(sample.trace(LAST_RUN), sample.weights(LAST_RUN))
    rows = read("frontier", subject)
    for row, point in zip(rows, subject.frontier.points, strict=True):
        assert float(row["threshold"]) == point.threshold
        assert float(row["agreement"]) == pytest.approx(point.agreement)
        assert int(row["exact_tokens"]) == point.exact_tokens
    agreements = [float(row["agreement"]) for row in rows]
    assert agreements[0] < agreements[-1]


def test_that_a_run_of_trees_has_no_frontier_but_says_so(sample: SessionFile) -> None:
    with pytest.raises(UserError, match="no frontier of a run that decodes token trees"):
        read("frontier", Subject(sample.trace(TREE_RUN)))


def test_that_the_kv_table_says_what_became_of_every_entry() -> None:
    rows, found = read("kv_map", Subject(TRACE)), kv_map.kv_map(TRACE)
    labels = [kv_map.LABELS[kv_map.KVState(state)] for state in found.states.ravel()]
    assert column(rows, "state") == labels
    assert [int(one or 0) for one in column(rows, "caught_up_by")] == (found.caught_up_by.ravel() + 1).tolist()
    assert "recomputed" in labels


def test_that_the_cost_table_adds_up_to_the_costs() -> None:
    rows, found = read("costs", Subject(TRACE)), costs.costs(TRACE)
    assert [float(one) for one in column(rows, "net_seconds")] == pytest.approx(found.net.tolist())
    assert [float(one) for one in column(rows, "layers_seconds")] == pytest.approx(found.stages[:, 1].tolist())


def test_that_the_calibration_table_has_the_bins_of_the_chosen_layer() -> None:
    rows = read("calibration", Subject(TRACE, layer=7))
    found = calibration.calibration(calibration.judgements(TRACE).of_layer(7))
    assert column(rows, "tokens") == [str(count) for count in found.counts]
    assert set(column(rows, "layer")) == {"8"}
    assert len(read("calibration", Subject(TRACE))) == 10 * (TRACE.depth - 1)


def test_that_the_layer_table_is_the_counterfactual_of_the_chosen_token() -> None:
    rows, found = read("layers", Subject(TRACE, token=3)), counterfactual(TRACE.records[3])
    assert found is not None
    assert column(rows, "text") == [f"‘{text}’" for text in found.texts]
    assert [float(one) for one in column(rows, "margin")] == pytest.approx(found.margins.tolist())
    assert column(rows, "run").count("1") == found.exit_layer


def test_that_the_candidate_table_has_every_layer_and_candidate() -> None:
    rows, curves = read("candidates", Subject(TRACE, token=2)), summaries.candidate_curves(TRACE, 2)
    assert curves is not None
    assert curves.audit is not None
    assert len(rows) == curves.depth * 4
    asked = [row for row in rows if row["evaluated"] == "1"]
    assert [float(row["local_probability"]) for row in asked] == pytest.approx(curves.probabilities.ravel().tolist())
    full = [float(row["full_probability"]) for row in rows]
    assert full == pytest.approx(curves.audit.full.ravel().tolist())


def test_that_the_tree_table_names_the_nodes_and_what_was_accepted(sample: SessionFile) -> None:
    subject = Subject(sample.trace(TREE_RUN))
    rows, figure = read("tree", subject), subject.tree()
    assert column(rows, "text") == [f"‘{text}’" for text in figure.nodes.texts]
    assert [int(one or 0) for one in column(rows, "parent")] == (figure.nodes.parents + 1).tolist()
    assert [one == "1" for one in column(rows, "accepted")] == figure.nodes.accepted.tolist()


def test_that_why_is_told_of_every_token_without_markup() -> None:
    rows = read("why", Subject(TRACE))
    assert len(rows) == 9
    assert rows[1]["why"].startswith("Token 2 ‘ sky’ left after layer")
    assert not any("<b>" in row["why"] for row in rows)


@pytest.mark.parametrize(
    ("subject", "view", "sentence"),
    [
        ({"token": 9}, "layers", "The run has no token 10; it has the tokens 1 to 9."),
        ({"layer": 12}, "calibration", "The model has no layer 13; it has the layers 1 to 12."),
        ({"token": 0}, "candidates", "Nothing was drafted for token 1"),
        ({"token": 2}, "tree", "Token 3 comes from no token tree"),
        ({"token": 0}, "layers", "Token 1 was not audited"),
    ],
)
def test_that_what_is_not_there_is_told_in_a_sentence(subject: dict[str, int], view: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        read(view, Subject(TRACE, **subject))  # type: ignore[arg-type]


@pytest.mark.parametrize("view", ["ledger", "frontier", "calibration", "layers"])
def test_that_a_live_run_is_refused_where_an_audit_is_needed(view: str) -> None:
    with pytest.raises(UserError, match=r"audit"):
        read(view, Subject(LIVE))
