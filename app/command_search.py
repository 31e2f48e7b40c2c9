"""How well an action answers to what was typed. No Qt.

Every word that was typed has to be found: best as the beginning of a word, then anywhere in one, then as letters that
follow each other with others between them, as "stk" in "Step token".
"""

from __future__ import annotations

from collections.abc import Sequence

WHOLE, START, INSIDE, SPREAD = 40, 30, 16, 4
ELSEWHERE = 0.5
"""What a hit in the menus' names and the tooltip counts of one in the action's own name."""


def score(query: str, title: str, around: str) -> float | None:
    """Points of the action `title` with the words `around` it; None where a word of the query is in neither.

    A query without words gives every action 0.
    """
    total = 0.0
    for word in query.casefold().split():
        points = max(
            _points(word, title.casefold()) or _spread(word, title), ELSEWHERE * _points(word, around.casefold())
        )
        if not points:
            return None
        total += points
    return total - len(title) / 1000  # of two that fit as well the shorter one is nearer to what was typed


def ranked(query: str, entries: Sequence[tuple[str, str, str]], recent: Sequence[str]) -> list[int]:
    """Indexes of the `entries` (key, title, words around) that answer to `query`, the best first.

    Among equals those of `recent`, keys with the newest first, come first; then the order of `entries` counts.
    """
    age = {key: at for at, key in enumerate(recent)}
    found = []
    for index, (key, title, around) in enumerate(entries):
        points = score(query, title, around)
        if points is not None:
            lead = points if query.split() else 0.0
            found.append((-round(lead), age.get(key, len(age)), -lead, index))
    return [index for *_, index in sorted(found)]


def _points(word: str, text: str) -> int:
    words = text.split()
    if word in words:
        return WHOLE
    if any(one.startswith(word) for one in words):
        return START
    return INSIDE if word in text else 0


def _spread(word: str, title: str) -> int:
    letters = iter(title.casefold().replace(" ", ""))
    return SPREAD if all(letter in letters for letter in word) else 0
