"""Which moves of a seed are made, as one writes it: `800` for the first 800, `3,40-52` for just these."""

from __future__ import annotations

from collections.abc import Sequence


def numbers_of(text: str) -> Sequence[int]:
    """The numbers that are meant, in order; raises ValueError for anything else."""
    if text.isdecimal():
        return range(int(text))
    spans = [part.split("-") for part in text.split(",")]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def text_of(numbers: Sequence[int]) -> str:
    """What `numbers_of` takes for them; the numbers rise."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            parts.append(f"{numbers[start]}-{numbers[at - 1]}")
            start = at
    return ",".join(parts)
