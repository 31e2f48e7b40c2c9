"""A request to leave a recorded run at one of its tokens, in plain values; `core.analysis.forks` makes one."""

from __future__ import annotations

from dataclasses import dataclass

from core.trace.events import Branch, IntArray, ModelInfo


@dataclass(frozen=True, slots=True)
class Fork:
    """The past of a branch, and what it does otherwise."""

    origin: int
    """Number of the run that it leaves."""
    model: ModelInfo
    """The origin's."""
    prompt: str
    prompt_ids: IntArray
    """Shape [prompt tokens], as the origin was fed them, whatever chat format is set now."""
    token_ids: IntArray
    """Shape [n ≥ 1], the origin's tokens up to the one at which the branch leaves, that one included."""
    exit_layers: IntArray
    """Shape [n], layers that each of them ran, 1…L."""
    token_id: int | None = None
    """Takes the last one's place; None keeps it."""
    text: str = ""
    """What is typed in its place, a token or several; "" types nothing."""
    changed: tuple[str, ...] = ()
    """As in `Branch`."""

    @property
    def token(self) -> int:
        """0-based index of the token at which the branch leaves."""
        return len(self.token_ids) - 1

    def given(self, typed: list[int]) -> list[tuple[int, int]]:
        """Every token that is given with the layers that it runs, where `text` was typed as these tokens.

        The first takes over the layers of the token in whose place it stands; others run to full depth.
        """
        ids = self.token_ids.tolist()
        put = typed or [ids[-1] if self.token_id is None else self.token_id]
        layers = [*self.exit_layers.tolist(), *(self.model.depth for _ in put[1:])]
        return list(zip([*ids[:-1], *put], layers, strict=True))

    def branch(self, given: int) -> Branch:
        """What the branch's trace tells of it."""
        return Branch(self.origin, self.token, given, self.changed)
