"""Why a token left where it did, and why a layer was or was not its exit, in plain English.

Every number comes out of the trace; what the trace does not say is not said here either. Layers and tokens are counted
from 1, as on screen. The text is HTML with nothing but `<b>`, and token texts are escaped.
"""

from __future__ import annotations

import html
import re

import numpy as np

from core.analysis import audit_words, check_words, rule_words, schedule_words
from core.analysis.branch_words import given
from core.analysis.why_tree import why_tree
from core.analysis.wording import bold, bold_token, compared, counted, joined, share, took
from core.choices import Lens, Policy
from core.config import RunSettings
from core.trace.events import ExitReason
from core.trace.overview import refusals
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord


def why(trace: ReadableTrace, token: int | None, layer: int | None) -> str:
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
    record = trace.records[token]
    if record.tree is not None:
        return why_tree(trace, token, layer)
    if record.emitted and record.emitted.reason is ExitReason.GIVEN:
        return given(trace.started.branch, record, layer)
    story = _Story(record, trace.started.settings, ended=trace.ended is not None)
    if layer is None or not 0 <= layer < story.record.depth:
        return story.of_pass()
    return story.of_layer(layer)


def why_plain(trace: ReadableTrace, token: int | None, layer: int | None) -> str:
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
            self.name += f" {bold_token(record.emitted.token_bytes, record.emitted.special)}"

    @property
    def from_prefill(self) -> bool:
        emitted = self.record.emitted
        return emitted.reason is ExitReason.PREFILL if emitted else self.record.token == 0

    @property
    def has_predictors(self) -> bool:
        """Whether exits were proposed by predictors over speculative tokens and checked; one's own policy may, too."""
        custom = self.settings.policy is Policy.CUSTOM
        return self.settings.policy.needs_parts or (custom and self.record.draft is not None)

    # The whole pass

    def of_pass(self) -> str:
        if self.from_prefill:
            return self._prefill()
        if not self.record.emitted:
            return joined(self._in_flight(), schedule_words.active_set(self.record, self.settings), self._tally())
        audited = audit_words.of_pass(self.record)
        if not self.has_predictors:
            return joined(self._left(), self._rule(), audited, took(self.record.emitted.times))
        return joined(
            self._left(),
            audited,
            schedule_words.active_set(self.record, self.settings),
            self._tally(),
            self._drafted(),
            took(self.record.emitted.times),
        )

    def _rule(self) -> str:
        assert self.record.emitted is not None
        early = self.record.emitted.exit_layer < self.depth
        return (rule_words.why_left if early else rule_words.why_stayed)(self.record, self.settings)

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
        because = f": {self._why_to_the_end()}" if self.has_predictors else ""
        return f"{self.name} ran all {bold(self.depth)} layers{because}."

    def _why_to_the_end(self) -> str:
        record = self.record
        if refusals(record):
            return check_words.why_refused(record, self.settings)
        if not record.evaluated.any():
            return "no predictor was asked"
        if record.proposed.any():
            return "no proposed exit was verified"
        thresholds = [self.settings.threshold_at(layer) for layer in range(self.depth)]
        best = int(np.nanargmax(record.scores - thresholds))
        highest = compared(float(record.scores[best]), thresholds[best])
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
                f"The token is none of the drafter’s {bold(len(ids))} candidates ({check_words.candidates(draft)}), "
                "so no early exit could have emitted it."
            )
        at = ids.index(emitted.token_id)
        probability = share(float(draft.candidate_probabilities[at]))
        return f"The drafter had it as candidate {bold(at + 1)} of {bold(len(ids))}, with probability {probability}."

    # One layer

    def of_layer(self, layer: int) -> str:
        record, name = self.record, bold(f"Layer {layer + 1}")
        if self.from_prefill:
            return f"{name}: {self._prefill()}"
        if layer >= record.layers_run:
            return self._never_or_not_yet(layer, name)
        own = audit_words.of_layer(record, layer)
        if layer == self.depth - 1:
            return joined(self._last_layer(name), own)
        if not self.has_predictors:
            left_here = record.emitted is not None and layer + 1 == record.emitted.exit_layer
            here = f"{name} ran for {self.name}: {rule_words.at_layer(record, layer, self.settings)}."
            return joined(here, audit_words.of_exit(record) if left_here else own)
        if not record.evaluated[layer]:
            silent = audit_words.of_silent_predictor(record, layer, self.settings.threshold_at(layer))
            not_asked = schedule_words.why_not(record, layer, self.settings)
            return joined(f"{name} ran without its predictor{not_asked}.", silent, own)
        watched = schedule_words.why_watched(record, layer, self.settings)
        return joined(self._decision(layer, name), self._audited_decision(layer), watched)

    def _audited_decision(self, layer: int) -> str:
        """What the decision does not say already."""
        check = self.record.verified.get(layer)
        if check is None:
            return audit_words.of_layer(self.record, layer)
        against = audit_words.of_exit(self.record) if check.accepted else audit_words.of_check(self.record, layer)
        return joined(check_words.missed(self.record, layer), against)

    def _never_or_not_yet(self, layer: int, name: str) -> str:
        emitted = self.record.emitted
        if emitted:
            early = counted(self.depth - emitted.exit_layer, "layer")
            never = (
                f"{name} never ran: {self.name} left after layer {bold(emitted.exit_layer)}, {early} before the end."
            )
            own = audit_words.of_layer(self.record, layer)
            return joined(never, "The audit ran it on the side." if own else "", own)
        if self.ended:
            return f"{name} never ran: the run ended after {counted(self.record.layers_run, 'layer')} of {self.name}."
        coming = schedule_words.will_be_watched(self.record, layer, self.settings)
        return joined(f"{name} has not run yet: {self._done_so_far()}.", coming)

    def _done_so_far(self) -> str:
        return f"{bold(self.record.layers_run)} of {bold(self.depth)} layers are done for {self.name}"

    def _last_layer(self, name: str) -> str:
        if not self.has_predictors:
            why = rule_words.why_stayed(self.record, self.settings) if self.record.emitted else ""
            return joined(f"{name} is the last and always ends the pass.", why)
        last = f"{name} is the last: it needs no predictor and always ends the pass."
        got_here = f"{self.name} got this far because {self._why_to_the_end()}." if self.record.emitted else ""
        return joined(last, got_here)

    def _decision(self, layer: int, name: str) -> str:
        record = self.record
        seen = ", seen through its lens" if self.settings.lens is Lens.TUNED else ""
        score = compared(float(record.scores[layer]), self.settings.threshold_at(layer))
        start, asked = f"{name}{seen}: score {score}", check_words.asked(self.settings)
        if not record.proposed[layer]:
            return f"{start}, so {bold('no exit')} is proposed and {asked} is not asked; the pass goes on."
        check = record.verified.get(layer)
        if check is None and self._left_by_rule_at(layer):
            return f"{start}, so an exit is proposed, with a token of the policy’s own choice → {bold('exit')}."
        if check is None:
            yet = "" if record.emitted or self.ended else " yet"
            return f"{start}, so an exit is proposed; {asked} has not answered{yet}."
        return f"{start}, {check_words.verdict(check, record, self.settings)}"

    def _left_by_rule_at(self, layer: int) -> bool:
        emitted = self.record.emitted
        return emitted is not None and emitted.reason is ExitReason.RULE and layer + 1 == emitted.exit_layer
