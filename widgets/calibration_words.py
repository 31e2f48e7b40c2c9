"""Calibration, ROC and precision-recall in words and rows: readouts, summaries and table twins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from core.analysis.calibration import Calibration, Curves, Share

MOST_ROWS = 200
"""Of a curve's points as table rows; of more, every so many-th is shown."""


class Tab(IntEnum):
    """What is shown of a layer's predictor."""

    CALIBRATION = 0
    ROC = 1
    PRECISION_RECALL = 2


TAB_NAMES = {Tab.CALIBRATION: "Calibration", Tab.ROC: "ROC", Tab.PRECISION_RECALL: "Precision–recall"}


@dataclass(frozen=True, slots=True)
class Quality:
    """How good one layer's predictor is, by one label and over some of the tokens."""

    layer: int
    """0-based."""
    calibration: Calibration
    curves: Curves
    place: int
    """The curves' point that the run's own threshold is at."""
    threshold: float

    @property
    def tokens(self) -> int:
        return self.curves.positives + self.curves.negatives


def bin_name(found: Calibration, at: int) -> str:
    """The scores of a bin."""
    return f"{found.edges[at]:.1f}–{found.edges[at + 1]:.1f}"


def bin_words(found: Calibration, at: int) -> str:
    """A bin for the hover, as HTML."""
    count = int(found.counts[at])
    head = f"<b>scores {bin_name(found, at)}</b> · {counted(count)}"
    if not count:
        return head
    came = band(found.came_true, at)
    return f"{head}<br>mean score {found.mean_scores[at]:.3f}<br>came true {came}<br>click selects them"


def counted(tokens: int) -> str:
    """`1 token`, `2 tokens`."""
    return f"{tokens:,} token{'' if tokens == 1 else 's'}"


def band(share: Share, at: int) -> str:
    """A share with its 95 % interval; "–" where nothing was counted."""
    if np.isnan(share.values[at]):
        return "–"
    return f"{share.values[at]:.3f} ({share.low[at]:.3f}–{share.high[at]:.3f})"


def point_words(found: Curves, at: int, tab: Tab) -> str:
    """A curve's point for the hover, as HTML."""
    threshold = found.thresholds[at]
    head = "<b>proposes nothing</b>" if np.isinf(threshold) else f"<b>scores from {threshold:.3f} on</b>"
    right, wrong = int(found.true_positives[at]), int(found.false_positives[at])
    rows = [head, f"{right:,} right, {wrong:,} wrong", f"recall {band(found.recall, at)}"]
    if tab is Tab.ROC:
        rows.append(f"false rate {band(found.false_rate, at)}")
    else:
        rows.append(f"precision {band(found.precision, at)}")
    return "<br>".join(rows)


def headline(found: Quality) -> str:
    """A layer's quality in one line."""
    curves = found.curves
    auc = "–" if np.isnan(curves.auc) else f"{curves.auc:.3f}"
    error = found.calibration.error
    ece = "–" if np.isnan(error) else f"{error:.3f}"
    return (
        f"Layer {found.layer + 1} · {counted(found.tokens)}, {curves.positives:,} with the label · "
        f"calibration error {ece} · area under ROC {auc}"
    )


def heads(tab: Tab) -> tuple[str, ...]:
    """Columns of the table twin."""
    if tab is Tab.CALIBRATION:
        return ("Scores", "Tokens", "Mean score", "Came true (95 %)")
    other = "False rate (95 %)" if tab is Tab.ROC else "Precision (95 %)"
    return ("Score from", "Right", "Wrong", "Recall (95 %)", other)


def rows(found: Quality, tab: Tab) -> list[tuple[str, ...]]:
    """Rows of the table twin."""
    if tab is Tab.CALIBRATION:
        return [_bin_row(found.calibration, at) for at in range(len(found.calibration.counts))]
    return [_point_row(found.curves, at, tab) for at in thinned(len(found.curves.thresholds), MOST_ROWS)]


def thinned(count: int, most: int) -> list[int]:
    """Places 0…count - 1, evenly thinned to `most` at the most, the first and the last among them."""
    return list(range(count)) if count <= most else np.linspace(0, count - 1, most).round().astype(int).tolist()


def _bin_row(found: Calibration, at: int) -> tuple[str, ...]:
    mean = found.mean_scores[at]
    shown = "–" if np.isnan(mean) else f"{mean:.3f}"
    return bin_name(found, at), f"{int(found.counts[at]):,}", shown, band(found.came_true, at)


def _point_row(found: Curves, at: int, tab: Tab) -> tuple[str, ...]:
    threshold = found.thresholds[at]
    name = "none" if np.isinf(threshold) else f"{threshold:.4f}"
    other = found.false_rate if tab is Tab.ROC else found.precision
    right, wrong = (f"{int(one[at]):,}" for one in (found.true_positives, found.false_positives))
    return name, right, wrong, band(found.recall, at), band(other, at)
