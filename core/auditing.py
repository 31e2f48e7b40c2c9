"""The audit of a token: what every layer would have said of it, as an event."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from core.drafting.head import Draft
from core.exits.audit import audit
from core.exits.scheduling import Schedule
from core.run_state import RunState
from core.trace.events import Audited


def audited(
    state: RunState, token: int, hidden: Sequence[Tensor], draft: Draft | None, schedule: Schedule | None
) -> Audited:
    """Look at the L hidden states [d] that a token's pass left, finished to full depth."""
    found = audit(
        state.readout,
        hidden,
        lambda logits: state.chooser.choose_rows(logits, state.context.length),
        draft,
        schedule.active if schedule else None,
        state.parts.predictors_for(state.settings.lens) if state.parts else None,
    )
    texts = tuple(state.tokenizer.token_bytes(int(token_id)) for token_id in found.token_ids)
    return Audited(
        state.run,
        token,
        found.token_ids,
        texts,
        found.margins,
        found.candidate_logits,
        found.candidate_probabilities,
        found.scores,
    )
