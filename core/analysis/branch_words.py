"""What is said of branches: of a token that was given, and of a branch as a whole."""

from __future__ import annotations

from core.analysis.wording import bold, bold_token, counted, joined
from core.trace.events import Branch
from core.trace.overview import emitted_of
from core.trace.records import TokenRecord


def given(branch: Branch | None, record: TokenRecord, layer: int | None) -> str:
    """One paragraph of minimal HTML about a token that was given to a branch, or about one of its layers."""
    emitted = emitted_of(record)
    name = f"{bold(f'Token {record.token + 1}')} {bold_token(emitted.token_bytes, emitted.special)}"
    ran = f"was fed through {counted(emitted.exit_layer, 'layer')} of {bold(record.depth)} and decided nothing here"
    if layer is not None and layer >= emitted.exit_layer:
        ran = f"left {bold(f'layer {layer + 1}')} out, as it had before"
    return joined(f"{name} was given: it {ran}.", _where_from(branch, record.token))


def _where_from(branch: Branch | None, token: int) -> str:
    if branch is None:
        return ""
    origin = bold(f"run {branch.origin + 1}")
    if token < branch.token:
        return f"It belongs to {origin}, which this run leaves at token {bold(branch.token + 1)}; that one tells why."
    if token > branch.token:
        return f"It was typed where this run leaves {origin}."
    changes = f"; changed: {bold(', '.join(branch.changed))}" if branch.changed else "; nothing was changed"
    return f"Here this run leaves {origin}{changes}."


def branch_line(branch: Branch) -> str:
    """A branch in a few words without markup, for menus and the status line."""
    what = ", ".join(branch.changed) or "nothing changed"
    return f"from token {branch.token + 1} of run {branch.origin + 1}: {what}"
