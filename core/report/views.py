"""The views of a run by name: which table each has, which picture, and what it needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.analysis import calibration, costs, counterfactual, frontier, kv_map, ledger, summaries
from core.analysis.columns import columns_of
from core.analysis.recorded_parts import from_record
from core.analysis.tree_curves import node_curves
from core.analysis.tree_figure import TreeFigure
from core.analysis.tree_view import tree_figure
from core.analysis.what_if import Redecider
from core.errors import UserError
from core.report import measure_figures, run_figures, run_tables, token_figures, token_tables
from core.report.drawing import Drawing
from core.report.inks import Inks
from core.report.table import Table
from core.trace.events import FloatArray
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord


@dataclass
class Subject:
    """What is to be shown: a run, and which of its tokens and layers. Every method may raise `UserError`."""

    trace: ReadableTrace
    weights: Mapping[str, FloatArray] | None = None
    """Of the predictors that judged it, as the session keeps them."""
    token: int | None = None
    """0-based generated token; None leaves the choice to the view."""
    layer: int | None = None
    """0-based."""

    def __post_init__(self) -> None:
        tokens, depth = self.trace.emitted_count, self.trace.depth
        if not tokens:
            raise UserError("This run has no token yet; choose another run.")
        if self.token is not None and not 0 <= self.token < tokens:
            raise UserError(f"The run has no token {self.token + 1}; it has the tokens 1 to {tokens}.")
        if self.layer is not None and not 0 <= self.layer < depth:
            raise UserError(f"The model has no layer {self.layer + 1}; it has the layers 1 to {depth}.")

    @property
    def first(self) -> int:
        """Where a picture that shows only so many tokens begins."""
        return max(0, (self.token or 0) - run_figures.MOST_CELLS // 2)

    def chosen(self, fits: Callable[[TokenRecord], object]) -> int:
        """The token that was asked for, or the first that has something to show."""
        if self.token is not None:
            return self.token
        found = (at for at in range(self.trace.emitted_count) if fits(self.trace.records[at]))
        return next(found, 0)

    def curves(self) -> summaries.CandidateCurves:
        """Of the chosen token; raises `UserError` where nothing was drafted for it."""
        token = self.chosen(lambda record: record.draft or record.tree)
        record = self.trace.records[token]
        found = node_curves(self.trace, token) if record.tree else summaries.candidate_curves(self.trace, token)
        if found is None:
            raise UserError(f"Nothing was drafted for token {token + 1}; choose another token, or a run of SpecEE.")
        return found

    def tree(self) -> TreeFigure:
        """Of the chosen token; raises `UserError` where it comes from no tree."""
        token = self.chosen(lambda record: record.tree)
        found = tree_figure(self.trace, token)
        if found is None:
            raise UserError(f"Token {token + 1} comes from no token tree; choose another, or a run that decodes trees.")
        return found

    def layers(self) -> counterfactual.Counterfactual:
        """Of the chosen token; raises `UserError` where it was not audited."""
        token = self.chosen(lambda record: record.audit)
        found = counterfactual.counterfactual(self.trace.records[token])
        if found is None:
            raise UserError(f"Token {token + 1} was not audited; record a run with --record audit.")
        return found

    def ledger(self) -> ledger.Ledger:
        """Of the run; raises `UserError` where the recording lacks what it takes."""
        if missing := ledger.what_is_missing(self.trace):
            raise UserError(missing)
        return ledger.ledger(self.trace)

    @cached_property
    def frontier(self) -> frontier.Frontier:
        """Of the run; raises `UserError` where it decodes trees or was not audited."""
        if self.trace.started is not None and self.trace.started.settings.tree.on:
            raise UserError("There is no frontier of a run that decodes token trees; choose one without (--tree off).")
        bank, ranking = from_record(self.weights)
        decider = Redecider(columns_of(self.trace), bank, ranking)
        return frontier.frontier(decider, decider.columns.settings)

    def calibration(self) -> tuple[calibration.Calibration, int]:
        """Of the chosen layer's predictor, or of the one that was asked most often; and that layer.

        Raises:
            UserError: no predictor was judged.
        """
        judged = calibration.judgements(self.trace)
        if not len(judged.tokens) or np.isnan(judged.scores).all():
            raise UserError("No predictor was judged in this run; record a run of SpecEE with --record audit.")
        layer = int(judged.asked.sum(0).argmax()) if self.layer is None else self.layer
        return calibration.calibration(judged.of_layer(layer)), layer


@dataclass(frozen=True, slots=True)
class View:
    """One view of a run."""

    meaning: str
    table: Callable[[Subject], Table]
    picture: Callable[[Subject, Inks], Drawing] | None = None
    """None where the view is words."""
    of_token: bool = False
    """Whether it is about one token."""
    of_layer: bool = False


def _scheduler(subject: Subject, inks: Inks) -> Drawing:
    return run_figures.scheduler_figure(summaries.scheduler_map(subject.trace), inks, subject.first)


def _frontier(subject: Subject, inks: Inks) -> Drawing:
    return measure_figures.frontier_figure(subject.frontier, frontier.live_point(subject.trace), inks)


def _ledger_table(subject: Subject) -> Table:
    return run_tables.ledger_table(subject.ledger())


def _calibration_table(subject: Subject) -> Table:
    subject.calibration()
    return run_tables.calibration_table(subject.trace, subject.layer)


VIEWS = {
    "tokens": View(
        "every token with its exit layer and outcome",
        lambda s: run_tables.token_table(s.trace),
        lambda s, inks: run_figures.token_figure(summaries.token_chips(s.trace, s.first), inks),
    ),
    "exits": View(
        "exit layers with their running mean",
        lambda s: run_tables.exit_table(s.trace),
        lambda s, inks: run_figures.exit_figure(summaries.exit_series(s.trace), inks, s.first),
    ),
    "scheduler": View(
        "which layers were watched, asked and left at", lambda s: run_tables.scheduler_table(s.trace), _scheduler
    ),
    "candidates": View(
        "one token's candidates over the layers",
        lambda s: token_tables.candidate_table(s.curves()),
        lambda s, inks: token_figures.candidate_figure(s.curves(), inks),
        of_token=True,
    ),
    "tree": View(
        "the token tree of one token's pass",
        lambda s: token_tables.tree_table(s.tree()),
        lambda s, inks: token_figures.tree_figure(s.tree(), inks),
        of_token=True,
    ),
    "layers": View(
        "what every layer would have said of one token (audit)",
        lambda s: token_tables.layer_table(s.layers()),
        lambda s, inks: token_figures.layer_figure(s.layers(), inks),
        of_token=True,
    ),
    "why": View("why each token left where it did, in words", lambda s: run_tables.why_table(s.trace)),
    "ledger": View(
        "one class a token: which part cost the layers (audit)",
        _ledger_table,
        lambda s, inks: measure_figures.ledger_figure(s.ledger(), inks),
    ),
    "ledger_tokens": View(
        "the ledger's class of every token (audit)", lambda s: run_tables.ledger_token_table(s.ledger())
    ),
    "frontier": View(
        "agreement against mean exit layer over thresholds (audit)",
        lambda s: run_tables.frontier_table(s.frontier),
        _frontier,
    ),
    "kv_map": View(
        "keys and values held, skipped, propagated or recomputed",
        lambda s: run_tables.kv_table(s.trace),
        lambda s, inks: run_figures.kv_figure(kv_map.kv_map(s.trace), inks, s.first),
    ),
    "costs": View(
        "where the time went, and whether exits paid",
        lambda s: run_tables.cost_table(s.trace),
        lambda s, inks: measure_figures.cost_figure(costs.costs(s.trace), inks),
    ),
    "calibration": View(
        "how often predictors' scores came true (audit)",
        _calibration_table,
        lambda s, inks: measure_figures.calibration_figure(*s.calibration(), inks),
        of_layer=True,
    ),
}
"""By the names that the command line takes."""
