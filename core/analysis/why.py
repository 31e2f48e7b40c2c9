"""Why a token left where it did, and why a layer was or was not its exit, in plain English.

Every number comes out of the trace; what the trace does not say is not said here either. Layers and tokens are counted
from 1, as on screen. The text is HTML with nothing but `<b>`, and token texts are escaped.
"""

from __future__ import annotations

import html
import math
import re

import numpy as np

from core.analysis import schedule_words
from core.analysis.summaries import refusals
from core.analysis.wording import bold, compared, counted, joined, share, token_text
from core.config import Policy, RunSettings
from core.trace.events import ExitReason, Verified
from core.trace.trace import TokenRecord, Trace


def why(trace: Trace, token: int | None, layer: int | None) -> str:
    """One paragraph of minimal HTML about a token, or about one of its layers; "" where nothing is selected.

    Args:
        trace: The run so far.
        token: 0-based generated token; None selects nothing.
        layer: 0-based layer; None asks about the token's whole pass.
    """
    if trace.started is None or token is None or token < 0:
        return ""
    if token >= len(trace.records):
        return f"{bold(f'Token {token + 1}')} has not been generated{'' if trace.ended else ' yet'}."
    story = _Story(trace.records[token], trace.started.settings, ended=trace.ended is not None)
    if layer is None or not 0 <= layer < story.record.depth:
        return story.of_pass()
    return story.of_layer(layer)


def why_plain(trace: Trace, token: int | None, layer: int | None) -> str:
    """`why` without markup, for the clipboard, a screen reader or a terminal."""
    return html.unescape(re.sub(r"<[^>]*>", "", why(trace, token, layer))).replace("\u00a0", " ")


class _Story:
    """What can be said of one token's pass."""

    def __init__(self, record: TokenRecord, settings: RunSettings, *, ended: bool) -> None:
        self.record = record
        self.settings = settings
        self.ended = ended
        self.depth = record.depth
        self.name = bold(f"Token {record.token + 1}")
        if record.emitted:
            self.name += f" {_bold_token(record.emitted.token_bytes, record.emitted.special)}"

    @property
    def from_prefill(self) -> bool:
        emitted = self.record.emitted
        return emitted.reason is ExitReason.PREFILL if emitted else self.record.token == 0

    # ---- the whole pass -------------------------------------------------------------------------------------------

    def of_pass(self) -> str:
        if self.from_prefill:
            return self._prefill()
        if not self.record.emitted:
            return joined(self._in_flight(), schedule_words.active_set(self.record, self.settings), self._tally())
        if not self.settings.policy.needs_parts:
            return joined(self._left(), f"The {self.settings.policy.value} policy asks no predictor.", self._times())
        return joined(
            self._left(),
            schedule_words.active_set(self.record, self.settings),
            self._tally(),
            self._drafted(),
            self._times(),
        )

    def _prefill(self) -> str:
        if not self.record.emitted:
            return f"{self.name} will come from the prompt’s own pass (prefill), which always runs to full depth."
        return (
            f"{self.name} comes from the prompt’s own pass (prefill), which always runs all {bold(self.depth)} layers: "
            "no predictor is asked, and no mean counts it."
        )

    def _in_flight(self) -> str:
        done = f"{bold(self.record.layers_run)} of {bold(self.depth)} layers"
        if self.ended:
            return f"{self.name} was not finished: the run ended after {done}."
        return f"{self.name} is in flight: {done} have run."

    def _left(self) -> str:
        assert self.record.emitted is not None
        at = self.record.emitted.exit_layer
        if at < self.depth:
            saved = counted(self.depth - at, "layer")
            return f"{self.name} left after {bold(f'layer {at}')} of {bold(self.depth)}: {saved} saved."
        because = f": {self._why_to_the_end()}" if self.settings.policy.needs_parts else ""
        return f"{self.name} ran all {bold(self.depth)} layers{because}."

    def _why_to_the_end(self) -> str:
        record, threshold = self.record, self.settings.threshold
        if refusals(record):
            return "every exit that a predictor proposed was refused by the full vocabulary"
        if not record.evaluated.any():
            return "no predictor was asked"
        if record.proposed.any():
            return "no proposed exit was verified"
        best = int(np.nanargmax(record.scores))
        highest = compared(float(record.scores[best]), threshold)
        return f"no predictor proposed an exit (the highest score was {highest}, at layer {bold(best + 1)})"

    def _tally(self) -> str:
        asked, proposed = int(self.record.evaluated.sum()), int(self.record.proposed.sum())
        if not asked:
            return ""
        so_far = "" if self.record.emitted else " so far"
        words = f"{counted(asked, 'predictor')} {'was' if asked == 1 else 'were'} asked{so_far}"
        if not proposed:
            return f"{words}; none proposed an exit."
        return f"{words}; {counted(proposed, 'exit')} proposed, {bold(refusals(self.record))} refused."

    def _drafted(self) -> str:
        draft, emitted = self.record.draft, self.record.emitted
        if draft is None or emitted is None:
            return ""
        ids = [int(i) for i in draft.candidate_ids]
        if emitted.token_id not in ids:
            return (
                f"The token is none of the drafter’s {bold(len(ids))} candidates ({self._candidates()}), "
                "so no early exit could have emitted it."
            )
        at = ids.index(emitted.token_id)
        probability = share(float(draft.candidate_probabilities[at]))
        return f"The drafter had it as candidate {bold(at + 1)} of {bold(len(ids))}, with probability {probability}."

    def _candidates(self) -> str:
        assert self.record.draft is not None
        return ", ".join(token_text(b) for b in self.record.draft.candidate_bytes)

    def _times(self) -> str:
        times = self.record.emitted.times if self.record.emitted else None
        if times is None or not times.total > 0:
            return ""
        named = {
            "drafter": times.draft,
            "layers": times.layers,
            "predictors": times.predictor,
            "full-vocabulary checks": times.verification,
        }
        parts = ", ".join(f"{name} {bold(f'{seconds * 1e3:.1f}')}" for name, seconds in named.items() if seconds > 0)
        return f"It took {bold(f'{times.total * 1e3:.1f}')} ms{f': {parts}' if parts else ''}."

    # ---- one layer ------------------------------------------------------------------------------------------------

    def of_layer(self, layer: int) -> str:
        record, name = self.record, bold(f"Layer {layer + 1}")
        if self.from_prefill:
            return f"{name}: {self._prefill()}"
        if layer >= record.layers_run:
            return self._never_or_not_yet(layer, name)
        if not self.settings.policy.needs_parts:
            return self._without_predictors(layer, name)
        if layer == self.depth - 1:
            return joined(f"{name} is the last: it needs no predictor and always ends the pass.", self._last_layer())
        if not record.evaluated[layer]:
            return f"{name} ran without its predictor{schedule_words.why_not(record, layer, self.settings)}."
        return joined(self._decision(layer, name), schedule_words.why_watched(record, layer, self.settings))

    def _without_predictors(self, layer: int, name: str) -> str:
        emitted, policy = self.record.emitted, self.settings.policy
        if policy is Policy.DENSE:
            return f"{name} ran for {self.name}; the dense policy asks no predictor and always runs to full depth."
        if emitted and layer + 1 == emitted.exit_layer < self.depth:
            saved = counted(self.depth - emitted.exit_layer, "layer")
            return f"{name}: the {policy.value} policy left here with {self.name} → {bold('exit')}, {saved} saved."
        return f"{name} ran for {self.name}; the {policy.value} policy asks no predictor."

    def _never_or_not_yet(self, layer: int, name: str) -> str:
        emitted = self.record.emitted
        if emitted:
            early = counted(self.depth - emitted.exit_layer, "layer")
            return f"{name} never ran: {self.name} left after layer {bold(emitted.exit_layer)}, {early} before the end."
        if self.ended:
            return f"{name} never ran: the run ended after {counted(self.record.layers_run, 'layer')} of {self.name}."
        coming = schedule_words.will_be_watched(self.record, layer, self.settings)
        return joined(f"{name} has not run yet: {self._done_so_far()}.", coming)

    def _done_so_far(self) -> str:
        return f"{bold(self.record.layers_run)} of {bold(self.depth)} layers are done for {self.name}"

    def _last_layer(self) -> str:
        if self.record.emitted is None:
            return ""
        return f"{self.name} got this far because {self._why_to_the_end()}."

    def _decision(self, layer: int, name: str) -> str:
        record = self.record
        start = f"{name}: score {compared(float(record.scores[layer]), self.settings.threshold)}"
        if not record.proposed[layer]:
            return f"{start}, so {bold('no exit')} is proposed and the full vocabulary is not asked; the pass goes on."
        check = record.verified.get(layer)
        if check is None:
            yet = "" if record.emitted or self.ended else " yet"
            return f"{start}, so an exit is proposed; the full vocabulary has not answered{yet}."
        return f"{start}, {self._verdict(check)}"

    def _verdict(self, check: Verified) -> str:
        says = f"full vocabulary says {_bold_token(check.argmax_bytes)}, which is"
        draft = self.record.draft
        if not check.accepted:
            among = f" ({self._candidates()})" if draft else ""
            return f"{says} none of the candidates{among} → {bold('refused')}; the pass goes on.{_lead(check)}"
        of = f" of {bold(len(draft.candidate_ids))}" if draft else ""
        saved = counted(self.depth - check.layer - 1, "layer")
        return f"{says} candidate {bold(check.candidate_rank + 1)}{of} → {bold('exit')}, {saved} saved.{_lead(check)}"


def _lead(check: Verified) -> str:
    if math.isnan(check.margin):
        return ""
    return f" It leads the next best token by {share(check.margin)} in probability."


def _bold_token(token_bytes: bytes, special: bool = False) -> str:
    return f"<b>{token_text(token_bytes, special)}</b>"
