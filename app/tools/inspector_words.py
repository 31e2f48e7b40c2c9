"""Which layer the inspector looks at, and why there may be nothing to take apart."""

from __future__ import annotations

import numpy as np

from core.analysis.inspector import features_at
from core.analysis.summaries import first_decided
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord

NO_TOKEN = "Select a token, and a layer of it, to take its predictor’s judgement apart."
NO_AUDIT = (
    "A live recording does not know what would have been right.\nWith Record: audit, in the Engine panel, every "
    "layer’s own token is kept, and the predictor can be held against it."
)
NO_PREDICTOR_POLICY = (
    "This run asks no predictors.\nChoose a SpecEE policy in the Engine panel to see what predictors see."
)


def why_nothing(trace: ReadableTrace) -> str | None:
    """Why there is nothing to inspect in a whole run; None where there is something."""
    settings = trace.started.settings if trace.started else None
    return None if settings is not None and settings.policy.needs_parts else NO_PREDICTOR_POLICY


def layer_to_inspect(record: TokenRecord, chosen: int | None) -> int:
    """The chosen 0-based layer, else the last one whose predictor was asked, else the one below the exit."""
    if chosen is not None:
        return chosen
    asked = np.flatnonzero(record.evaluated)
    return int(asked[-1]) if len(asked) else max(min(record.layers_run, record.depth - 1) - 1, 0)


def why_uninspected(trace: ReadableTrace, record: TokenRecord, layer: int) -> str:
    """Why one judgement cannot be taken apart; "" where the recording holds what the predictor saw."""
    if layer >= record.depth - 1:
        return "The last layer needs no predictor: it always ends the pass. Select a lower one."
    if record.token == 0:
        return "The first token comes from the prompt’s own pass, which asks no predictor."
    if record.token < first_decided(trace):
        return "This token was given to the branch: its pass asked no predictor."
    if features_at(record, layer) is not None:
        return ""
    if record.emitted is None:
        return f"Layer {layer + 1} has not been asked about this token yet."
    return (
        f"The run did not ask layer {layer + 1} about token {record.token + 1}, and a live recording keeps only what "
        "was asked. With Record: audit, every layer can be inspected."
    )
