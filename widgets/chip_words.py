"""The token strip in words, for its legend, the hover and the screen reader."""

from __future__ import annotations

from core.analysis.summaries import Outcome
from widgets.palette import Theme

_OUTCOME_WORDS = {
    Outcome.PREFILL: "from prefill, always full depth",
    Outcome.EARLY_EXIT: "early exit",
    Outcome.FULL_DEPTH: "full depth, no exit proposed",
    Outcome.REFUSED: "full depth",
    Outcome.WRONG_EXIT: "wrong exit",
    Outcome.GIVEN: "given to the branch, nothing was decided",
}


def outcome_words(outcome: Outcome, refused: int, note: str = "") -> str:
    """How a token's pass ended; `note` names the two tokens of a wrong exit."""
    ended = ": ".join(filter(None, [_OUTCOME_WORDS[outcome], note]))
    exits = f"{refused} proposed exit{'' if refused == 1 else 's'} refused" if refused else ""
    return " · ".join(filter(None, [ended, exits]))


def legend_html(theme: Theme, audited: bool = False, trees: bool = False, branch: bool = False) -> str:
    """The strip's legend; only an audit can tell wrong exits, and only a tree's pass emits several tokens, and
    only a branch was given some."""
    wrong = f' · <span style="color:{theme.wrong}">≠</span> wrong exit' if audited else ""
    joined = " · ⎵ one pass" if trees else ""
    given = " · ↳ given" if branch else ""
    return f"bar = exit layer · ▪ full depth · ⊘ proposed, refused{wrong} · ◦ prefill{given}{joined}"
