"""What an audit found, in words: whether running on would have changed the token, and what each layer would have said.

Layers are counted from 1 in the words. Every function gives "" where the token was not audited.
"""

from __future__ import annotations

import numpy as np

from core.analysis.texts import quoted
from core.analysis.wording import bold, bold_token, compared, counted, joined, share
from core.exits.stability import first_stable
from core.trace.overview import is_wrong
from core.trace.trace import TokenRecord


def wrong_exit(record: TokenRecord) -> str:
    """The two tokens of a wrong exit, in plain text for a hover; "" where there is none."""
    if record.emitted is None or record.audit is None or not is_wrong(record):
        return ""
    emitted, audited = record.emitted, record.audit
    left_with = quoted(emitted.token_bytes, emitted.special)
    return f"left early with {left_with}; full depth gives {quoted(audited.token_bytes[-1])}"


def of_pass(record: TokenRecord) -> str:
    """Whether the exit was right, and from which layer on it would have been."""
    if record.emitted is None or record.audit is None:
        return ""
    left, stable = record.emitted.exit_layer, first_stable(record.audit.token_ids) + 1
    if left == record.depth:
        return _of_full_depth(record.depth, stable)
    return joined(of_exit(record), _of_wrong(record, left, stable) if is_wrong(record) else _of_right(left, stable))


def of_exit(record: TokenRecord) -> str:
    """Whether full depth gives the token that was emitted early."""
    if record.emitted is None or record.audit is None or record.emitted.exit_layer == record.depth:
        return ""
    running_on = f"Running on to layer {bold(record.depth)} gives"
    if is_wrong(record):
        return f"{running_on} {bold_token(record.audit.token_bytes[-1])} instead: {bold('wrong exit')}."
    return f"{running_on} the same token: {bold('right exit')}."


def _of_right(left: int, stable: int) -> str:
    if stable > left:
        return f"In between layers say otherwise; from layer {bold(stable)} on it stays."
    if stable == left:
        return "No earlier layer says this token and stays with it: nothing was wasted."
    return f"It stays from layer {bold(stable)} on: {counted(left - stable, 'layer')} wasted."


def _of_wrong(record: TokenRecord, left: int, stable: int) -> str:
    assert record.audit is not None
    stays = f"From layer {bold(stable)} on it stays {bold_token(record.audit.token_bytes[-1])}"
    if stable <= left:  # a shortlist may lack it, and a policy of the user's own may say what it likes
        return f"{stays}, so the layer it left at says so too: what it left with is not that layer’s own token."
    return f"{stays}: this pass left {counted(stable - left, 'layer')} too early."


def _of_full_depth(depth: int, stable: int) -> str:
    if stable == depth:
        return "No earlier layer says this token and stays with it: there was nothing to gain."
    return f"It stays from layer {bold(stable)} on: leaving there would have saved {counted(depth - stable, 'layer')}."


def of_layer(record: TokenRecord, layer: int) -> str:
    """The 0-based layer's own token, its lead, and how it compares with full depth's."""
    if record.audit is None:
        return ""
    own, lead = bold_token(record.audit.token_bytes[layer]), share(float(record.audit.margins[layer]))
    start = f"Its own token is {own}, {lead} ahead of the next best in probability"
    if layer == record.depth - 1:
        return f"{start}."
    return f"{start}; {_against_full_depth(record, layer)}."


def of_check(record: TokenRecord, layer: int) -> str:
    """How the token that a refused check found at this layer compares with full depth's."""
    against = _against_full_depth(record, layer) if record.audit is not None else ""
    return f"{against[:1].upper()}{against[1:]}." if against else ""


def _against_full_depth(record: TokenRecord, layer: int) -> str:
    assert record.audit is not None
    ids, texts = record.audit.token_ids, record.audit.token_bytes
    if ids[layer] != ids[-1]:
        return f"full depth gives {bold_token(texts[-1])}"
    stable = first_stable(ids)
    return (
        f"full depth gives the same{'' if layer >= stable else f', but it stays only from layer {bold(stable + 1)} on'}"
    )


def of_silent_predictor(record: TokenRecord, layer: int, threshold: float) -> str:
    """What the predictor of a layer that was not asked would have scored."""
    if record.audit is None or np.isnan(record.audit.scores[layer]):
        return ""
    return f"Asked, its predictor would have scored {compared(float(record.audit.scores[layer]), threshold)}."
