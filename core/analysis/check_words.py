"""How the check of a proposed exit ended, in words: by the full vocabulary or a shortlist, and by the margin gate."""

from __future__ import annotations

import math

from core.analysis.shortlist import shortlist_checks
from core.analysis.wording import bold, bold_token, counted, share, token_text, told_apart
from core.choices import Head
from core.config import RunSettings
from core.trace.events import DraftProposed, Verified
from core.trace.records import TokenRecord


def asked(settings: RunSettings) -> str:
    """What a proposed exit is checked by, as a subject."""
    return "the full vocabulary" if settings.check is Head.FULL else "the shortlist"


def verdict(check: Verified, record: TokenRecord, settings: RunSettings) -> str:
    """What the check of one layer said and what came of it, as the end of a sentence and perhaps more of them."""
    says = f"{'full vocabulary' if settings.check is Head.FULL else 'the shortlist'} says"
    which = f"{says} {bold_token(check.argmax_bytes)}, which is"
    if check.candidate_rank < 0:
        among = f" ({candidates(record.draft)})" if record.draft else ""
        return f"{which} none of the candidates{among} → {bold('refused')}; the pass goes on.{_lead(check, settings)}"
    of = f" of {bold(len(record.draft.candidate_ids))}" if record.draft else ""
    which = f"{which} candidate {bold(check.candidate_rank + 1)}{of}"
    if check.gated:
        lead, gate = told_apart(check.margin, settings.gate)
        which += f", but it leads the next best token by only {lead}, less than the gate’s {gate}"
        return f"{which} → {bold('refused')}; the pass goes on."
    saved = counted(record.depth - check.layer - 1, "layer")
    return f"{which} → {bold('exit')}, {saved} saved.{_lead(check, settings)}"


def why_refused(record: TokenRecord, settings: RunSettings) -> str:
    """What refused every exit that was proposed for a token, as a clause."""
    gated = [check.gated for check in record.verified.values()]
    by = "" if any(gated) else f" by {asked(settings)}"
    by = " by the margin gate" if gated and all(gated) else by
    return f"every exit that a predictor proposed was refused{by}"


def missed(record: TokenRecord, layer: int) -> str:
    """What the shortlist lacked at a layer that was checked; "" where it lacked nothing, or nobody knows."""
    if record.audit is None or record.tree is not None:
        return ""
    checks = dict(zip(record.verified, shortlist_checks(record), strict=True))
    if not checks.get(layer):
        return ""
    own = bold_token(record.audit.token_bytes[layer])
    return f"Over the whole vocabulary this layer says {own}: the shortlist lacked it."


def candidates(draft: DraftProposed) -> str:
    """The drafter's candidates, in its order."""
    return ", ".join(token_text(text) for text in draft.candidate_bytes)


def _lead(check: Verified, settings: RunSettings) -> str:
    if math.isnan(check.margin):
        return ""
    among = "It leads" if settings.check is Head.FULL else "Among the shortlist it leads"
    return f" {among} the next best token by {share(check.margin)} in probability."
