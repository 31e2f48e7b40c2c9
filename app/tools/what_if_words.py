"""What the what-if panel says: figures with their differences, and why there is no re-run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from core.analysis.frontier import Frontier, advice
from core.analysis.what_if_changes import Comparison
from core.analysis.wording import bold
from core.config import RunSettings
from core.trace.events import RunStarted
from core.trace.reading import ReadableTrace
from widgets.palette import Theme

if TYPE_CHECKING:
    from app.session import Session

NO_TREES = (
    "The frontier needs a run of one token a pass: what a tree’s pass would do at other thresholds is known in parts "
    "only. Turn the token tree off and run again."
)


def totals_words(compared: Comparison, theme: Theme) -> str:
    """Mean exit layer, agreement, early exits and how far it is exact, with the differences (minimal HTML)."""
    before, after = compared.before, compared.after
    layers = after.mean_exit_layer
    parts = [
        f"mean exit {bold(_number(layers))}{_difference(layers, before.mean_exit_layer, theme)}",
        f"agreement {bold(_share(after.agreement))}{_points(after.agreement, before.agreement, theme)}",
        f"early {bold(_share(after.early))}{_points(after.early, before.early, theme)}",
    ]
    exact = f"token {bold(min(compared.estimate_from, len(compared.asked)))} of {len(compared.asked)}"
    unbroken = [*(f"{part} ·" for part in parts), "exact through", exact]  # so no line begins with a dot
    return " ".join(f'<span style="white-space: nowrap">{part}</span>' for part in unbroken)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"


def _difference(after: float, before: float, theme: Theme) -> str:
    return _muted(f"{after - before:+.2f}", after == before or math.isnan(after - before), theme)


def _points(after: float, before: float, theme: Theme) -> str:
    return _muted(f"{100 * (after - before):+.1f}", after == before or math.isnan(after - before), theme)


def _muted(text: str, nothing: bool, theme: Theme) -> str:
    return "" if nothing else f' <span style="color:{theme.muted}">({text.replace("-", "−")})</span>'


def as_of(compared: Comparison, trace: ReadableTrace) -> str:
    """How much of a run that goes on is decided, for the subtitle; "" where that is all of it."""
    known, there = len(compared.asked), trace.emitted_count
    return f"the first {known} of {there} tokens" if known < there else ""


def frontier_words(found: Frontier, left: int, settings: RunSettings) -> tuple[str, str]:
    """What the frontier says (minimal HTML), and what stands in its place while it has no points."""
    if settings.tree.on:
        return "", NO_TREES
    if left:
        done = len(found.points)
        return f"Deciding the run anew, threshold {bold(done + 1)} of {bold(done + left)}…", "Computing the frontier…"
    return advice(found, settings.threshold), "Open this page again to compute the frontier."


def no_rerun(session: Session, started: RunStarted) -> str:
    """Why this run cannot be run again with other settings now, and what to do; "" where it can."""
    model = session.model
    if model is None:
        return f"No model is loaded; load {started.model.name} to run the prompt again."
    if session.is_loading or session.is_running:
        return "A run or a load is under way; wait for its end to run the prompt again."
    if model.info.fingerprint != started.model.fingerprint:
        return f"The run is of another model; load {started.model.name} to run the prompt again."
    if model.info.dtype != started.model.dtype:
        return (
            f"The run was made in {started.model.dtype} and the model is loaded in {model.info.dtype}, which rounds "
            f"otherwise; reload it in {started.model.dtype} to run the prompt again."
        )
    if started.run < 0 and started.branch is not None:
        return "This branch belongs to another file; open that file to run it again."
    return "" if model.has_parts else model.parts_problem
