"""The exit lens: a correction trained for each layer, through which the head looks at states before the last layer.

h_l + A_l·h_l + b_l stands in for h_l, trained with KL to the final distribution (the tuned lens of Belrose et al.,
2023; `docs/rules.md`). Only what is *read* from a state goes through it: features, verification, and the drafter's
input after an exit. What later layers and the K/V are made from is always the state itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from core.errors import UserError
from core.model.decoder import Decoder

FULL, LOW_RANK = ("full", "bias"), ("up", "down", "bias")
"""The weights of either form."""


class ExitLens:
    """The corrections of the layers 0…L-2, each A_l one matrix or the product of two thin ones."""

    def __init__(
        self, bias: Tensor, *, full: Tensor | None = None, up: Tensor | None = None, down: Tensor | None = None
    ) -> None:
        """Take over b [L-1, d], and A: either `full` [L-1, d, d] or `up` [L-1, d, r] and `down` [L-1, r, d]."""
        assert (full is None) == (up is not None and down is not None), "either one matrix or two thin ones"
        self.bias, self.full, self.up, self.down = bias, full, up, down

    @property
    def layers(self) -> int:
        """L-1, the layers that have a correction."""
        return len(self.bias)

    @property
    def rank(self) -> int | None:
        """r; None where A is one matrix."""
        return None if self.down is None else self.down.shape[1]

    def __call__(self, layer: int, hidden: Tensor) -> Tensor:
        """States [..., d] after one layer of 0…L-2 as the head is to see them."""
        if self.full is not None:
            return hidden + F.linear(hidden, self.full[layer], self.bias[layer])
        assert self.up is not None, "a lens without one matrix has two"
        assert self.down is not None, "a lens without one matrix has two"
        return hidden + F.linear(F.linear(hidden, self.down[layer]), self.up[layer], self.bias[layer])

    def every(self, hidden: Tensor) -> Tensor:
        """States [L-1, n, d] after each layer as the head is to see them, in one batched product."""
        if self.full is not None:
            return hidden + torch.baddbmm(self.bias[:, None], hidden, self.full.mT)
        assert self.up is not None, "a lens without one matrix has two"
        assert self.down is not None, "a lens without one matrix has two"
        return hidden + torch.baddbmm(self.bias[:, None], hidden @ self.down.mT, self.up.mT)

    def state(self) -> dict[str, Tensor]:
        """The weights by name; `from_state` takes them back."""
        named = {"full": self.full, "up": self.up, "down": self.down, "bias": self.bias}
        return {name: weight for name, weight in named.items() if weight is not None}

    @classmethod
    def from_state(cls, decoder: Decoder, state: Mapping[str, Tensor]) -> ExitLens:
        """A lens for `decoder` with these weights, in its dtype and where its head is.

        Raises:
            UserError: a weight is missing or does not fit the target model.
        """
        names = FULL if "full" in state else LOW_RANK
        if missing := [name for name in names if name not in state]:
            raise UserError(f"The exit lens lacks its weight {missing[0]}; train it again.")
        layers, d = decoder.config.depth - 1, decoder.config.hidden
        rank = state["down"].shape[1] if names is LOW_RANK and state["down"].ndim == 3 else 0
        shapes = {"full": (layers, d, d), "bias": (layers, d), "up": (layers, d, rank), "down": (layers, rank, d)}
        for name in names:
            if tuple(state[name].shape) != shapes[name]:
                raise UserError(f"The exit lens's weight {name} does not fit this model; train it again.")
        placed = {name: state[name].to(decoder.place.head, decoder.dtype) for name in names}
        return cls(placed.pop("bias"), **placed)


class Readout:
    """How the head sees the state after a layer: through the lens where there is one, then the model's final norm."""

    def __init__(self, decoder: Decoder, lens: ExitLens | None = None) -> None:
        """`lens` is None for the paper's way: norm(h_l) goes to the head as it is."""
        self.decoder, self.lens = decoder, lens

    def state(self, layer: int, hidden: Tensor) -> Tensor:
        """States [..., d] after a layer as the norm is to see them, where the head is; the last layer has no lens."""
        hidden = self.decoder.home(hidden)
        if self.lens is None or layer >= self.lens.layers:
            return hidden
        return self.lens(layer, hidden)

    def normed(self, layer: int, hidden: Tensor) -> Tensor:
        """States [..., d] after a layer as the head is to see them, where the head is."""
        return self.decoder.norm(self.state(layer, hidden))

    def states(self, hidden: Sequence[Tensor]) -> Tensor:
        """The L states [d] after each layer, as `state` gives them, in one go. Shape [L, d]."""
        states = torch.stack([self.decoder.home(state) for state in hidden])
        if self.lens is None:
            return states
        read = self.lens.every(states[: self.lens.layers, None])[:, 0]
        return torch.cat([read, states[self.lens.layers :]])

    def every(self, hidden: Sequence[Tensor]) -> Tensor:
        """The L states [d] after each layer, as `normed` gives them, in one go. Shape [L, d]."""
        return self.decoder.norm(self.states(hidden))
