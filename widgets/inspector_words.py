"""One predictor's judgement in a few sentences: the score, and how near the other decision was."""

from __future__ import annotations

from core.analysis.inspector import Inspection
from core.analysis.wording import bold, compared, joined
from widgets.inspector_table import signed


def judgement_words(found: Inspection, *, brief: bool = False) -> str:
    """What the predictor said and what would have changed its mind (minimal HTML).

    `brief` leaves out what the table's columns tell, too.
    """
    if found.in_tree and found.passes:
        decision = "this node would pass; a path is proposed where its lowest node does"
    else:
        decision = "an exit is proposed" if found.passes else "no exit is proposed"
    who = "" if found.asked else " The run did not ask it; the features are the audit’s."
    return joined(
        f"Score {compared(found.score, found.threshold)}: {decision}.{who}",
        _alone(found),
        _together(found),
        "" if brief else f"Taken out, a feature is set to {found.neutral.words}.",
    )


def _alone(found: Inspection) -> str:
    possible = [at for at, flip in enumerate(found.flips.single) if flip is not None and found.flips.possible[at]]
    if not possible:
        return "No possible change of a single feature flips that." if found.flips.smallest else ""
    at = min(possible, key=lambda one: _size(found, one))
    flip = found.flips.single[at]
    assert flip is not None, "only those that flip were kept"
    change = signed(float(flip.change[at]))
    return f"Flipped by {bold(f'{found.names[at]} {change}')} alone (score {bold(f'{flip.score:.3f}')})."


def _size(found: Inspection, at: int) -> float:
    flip = found.flips.single[at]
    return flip.size if flip is not None else float("inf")


def _together(found: Inspection) -> str:
    smallest = found.flips.smallest
    if smallest is None:
        return "No change that flips it was found."
    return (
        f"All features together: a change of length {bold(f'{smallest.size:.3f}')} "
        f"(score {bold(f'{smallest.score:.3f}')}), the least that 49 searches found."
    )
