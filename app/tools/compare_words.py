"""What the Compare panel says: how runs are listed, what two come to, what differs, and one token in both."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.choices import POLICIES
from core.analysis.branch_words import branch_line
from core.analysis.compare import Difference, where_they_part
from core.analysis.compare_rows import Aligned, Asked, Candidate, Side
from core.analysis.wording import bold
from core.choices import Policy
from core.config import RunSettings
from core.trace.events import RunStarted
from core.trace.reading import ReadableTrace
from widgets.compare_plot import ComparePlot
from widgets.compare_table import elided, minus, signed
from widgets.palette import Theme

LONGEST_PROMPT = 40
LONGEST_VALUE = 36
"""Characters of a setting's value that a line shows."""
LONGEST_TOKEN = 24
MOST_SETTINGS = 6
"""Settings that are listed; the tooltip has them all."""
MOST_SCORES = 8
"""Scores of a token that are listed, the last ones."""
UNKNOWN = "–"
_OF_THE_MODEL = ("fingerprint", "architecture", "depth", "hidden_size", "vocabulary", "context")
"""What another model brings with it, so that nobody needs to be told."""
_POLICIES = {str(choice.value): choice.title for choice in POLICIES}


# Runs to choose from


def run_words(name: str, started: RunStarted, tokens: int, related: str = "") -> str:
    """A run's line in the list: what tells it from the others comes first."""
    prompt = elided(" ".join(started.prompt.split()), LONGEST_PROMPT)
    parts = (f"⑂ {name}" if related else name, related, policy_words(started.settings), f"{tokens} tokens", prompt)
    return " · ".join(filter(None, parts))


def policy_words(settings: RunSettings) -> str:
    """The policy and, where it has one, its threshold."""
    policy = _POLICIES.get(settings.policy.value, settings.policy.value)
    asked = settings.policy not in (Policy.DENSE, Policy.FIXED, Policy.ORACLE)
    return f"{policy}, threshold {settings.threshold:g}" if asked else policy


def relation(shown: RunStarted, other: RunStarted) -> str:
    """How another run of the same session is related to the one on show by branching; "" where it is not."""
    if other.branch is not None and other.branch.origin == shown.run:
        return branch_line(other.branch)
    if shown.branch is not None and shown.branch.origin == other.run:
        return f"left at token {shown.branch.token + 1} by the run on show"
    if shown.branch is not None and other.branch is not None and shown.branch.origin == other.branch.origin:
        return branch_line(other.branch)
    return ""


def run_name(trace: ReadableTrace, path: Path | None) -> str:
    """A run in two words; one of another file is named by it."""
    started = trace.started
    if path is not None:
        return path.name
    return f"run {started.run + 1}" if started is not None else "run"


# What the two come to


def subtitle(aligned: Aligned, names: tuple[str, str], theme: Theme) -> str:
    """Legend and figures, the more important ones first: what finds no room is left out."""
    a, b = aligned.found.figures
    same, both = aligned.same_texts, aligned.found.aligned
    parts = [
        f"mean exit {_moved(a.mean_exit_layer, b.mean_exit_layer, 1)}",
        f"same text {same} of {both}" if both else "",
        _saved_words(aligned),
        _moved(a.tokens_per_second, b.tokens_per_second, 1) + " tokens/s",
        f"agreement {_percent(a.agreement)} → {_percent(b.agreement)}" if a.agreement or b.agreement else "",
    ]
    return f"{ComparePlot.legend_html(theme, names)} &nbsp;{' · '.join(filter(None, parts))}"


def _moved(a: float | None, b: float | None, digits: int) -> str:
    one, other = (UNKNOWN if value is None else f"{value:.{digits}f}" for value in (a, b))
    return f"{one} → {other}"


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1%}"


def _saved_words(aligned: Aligned) -> str:
    saved, share = aligned.layers_saved, aligned.share_saved
    if share is None:
        return ""
    if not saved:
        return "as many layers"
    return f"{abs(saved)} layers {'saved' if saved > 0 else 'more'} ({minus(f'{-share:+.1%}')})"


def parting_words(aligned: Aligned) -> str:
    """Where the runs part (minimal HTML)."""
    return where_they_part(aligned.found, *aligned.runs)


def differing_words(aligned: Aligned) -> str:
    """What of their settings differs (minimal HTML)."""
    told = settings_told(aligned.found.settings)
    if not told:
        return "Both have the same settings, model and prompt."
    rest = len(told) - MOST_SETTINGS
    more = f" and {bold(rest)} more" if rest > 0 else ""
    return f"Differing: {' · '.join(f'{name} {_change(one)}' for name, one in told[:MOST_SETTINGS])}{more}."


def all_settings(aligned: Aligned) -> str:
    """Every setting that differs, a line each, without markup."""
    told = settings_told(aligned.found.settings)
    return "\n".join(f"{name}: {_value(name, one.a)} → {_value(name, one.b)}" for name, one in told)


def settings_told(settings: Iterable[Difference]) -> list[tuple[str, Difference]]:
    """The differences by names that people read; of other models only what does not go without saying."""
    found = list(settings)
    other_model = any(one.name == "model.fingerprint" for one in found)
    told = [one for one in found if not (other_model and one.name.removeprefix("model.") in _OF_THE_MODEL)]
    return [(_name(one.name), one) for one in told]


def _name(name: str) -> str:
    plain = name.removeprefix("model.") if name != "model.name" else "model"
    return plain.replace(".", " ").replace("_", " ")


def _change(one: Difference) -> str:
    name = _name(one.name)
    return f"{bold(_value(name, one.a))} → {bold(_value(name, one.b))}"


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if value is None:
        return UNKNOWN
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if name == "policy":
        text = _POLICIES.get(text, text)
    shown = elided(" ".join(text.split()), LONGEST_VALUE) or "none"
    return f"“{shown}”" if name == "prompt" else shown


def other_models(aligned: Aligned) -> str:
    """A sentence where the runs are of different models; "" where they are not."""
    a, b = (one.started.model if one.started else None for one in aligned.runs)
    if a is None or b is None or a.fingerprint == b.fingerprint:
        return ""
    layers = "" if a.depth == b.depth else f", and of their layers A has {a.depth} and B {b.depth}"
    named = f"{a.name} and {b.name}" if a.name != b.name else f"two called {a.name}"
    return f"The runs are of different models, {named}: tokens are held against each other by their text{layers}."


# One token in both


def sides_html(token: int, sides: tuple[Side | None, Side | None], why: str) -> str:
    """The token as both runs have it, and B's reasons (minimal HTML).

    Args:
        token: 0-based.
        sides: None where that run has no such token.
        why: B's paragraph; "" where there is none.
    """
    a, b = sides
    head = f"<tr><th>token {token + 1}&nbsp;&nbsp;</th>{_heading('A', a)}{_heading('B', b)}</tr>"
    exits = _row("exit layer", [_exit_words(a, None), _exit_words(b, a)])
    reasons = f'<p style="line-height: 130%; margin: 3px 0 3px 0"><b>B</b> — {why}</p>' if why else ""
    looked = [
        _row("candidates", [_candidate_words(one) for one in sides]),
        _row("scores", [_score_words(one) for one in sides]),
    ]
    return _table([head, exits]) + reasons + _table(looked)


def _table(rows: list[str]) -> str:
    return f'<table cellspacing="0" cellpadding="1">{"".join(rows)}</table>' if any(rows) else ""


def _heading(name: str, one: Side | None) -> str:
    told = "has ended" if one is None else f"<b>‘{_token(one.text)}’</b>" if one.text else "in flight"
    return f"<th>{name} {told}&nbsp;&nbsp;</th>"


def _row(name: str, cells: list[str]) -> str:
    if not any(cells):
        return ""
    return f"<tr><th>{name}&nbsp;&nbsp;</th>{''.join(f'<td>{cell or UNKNOWN}&nbsp;&nbsp;</td>' for cell in cells)}</tr>"


def _exit_words(one: Side | None, than: Side | None) -> str:
    if one is None:
        return ""
    other = than is not None and one.exit_layer != than.exit_layer
    delta = f" ({signed(one.exit_layer - than.exit_layer)})" if other and than is not None else ""
    took = f" · {1e3 * one.seconds:.1f} ms" if one.seconds else ""
    return f"<b>{one.exit_layer}</b> of {one.depth}{delta}{took}{' · given' if one.given else ''}"


def _candidate_words(one: Side | None) -> str:
    return " · ".join(map(_candidate, one.candidates)) if one is not None else ""


def _candidate(one: Candidate) -> str:
    text = f"‘{_token(one.text)}’"
    chances = f"\u00a0{one.drafted:.2f}" + ("" if one.local is None else f"→{one.local:.2f}")
    return f"<b>{text}</b>{chances}" if one.emitted else f"{text}{chances}"


def _score_words(one: Side | None) -> str:
    if one is None or not one.scores:
        return ""
    last = one.scores[-MOST_SCORES:]
    told = map(_score, last)
    return ("… " if len(last) < len(one.scores) else "") + " · ".join(told)


def _score(asked: Asked) -> str:
    """By its layer; one that proposed an exit is bold and marked."""
    text = f"{asked.layer + 1}:\u00a0{asked.score:.2f}"
    return f"<b>{text}\u00a0▲</b>" if asked.proposed else text


def _token(text: str) -> str:
    return html.escape(elided(text, LONGEST_TOKEN)).replace(" ", "\u00a0")
