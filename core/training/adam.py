"""AdamW, as a state of named tensors that a checkpoint can hold (Loshchilov and Hutter, 2019).

`torch.optim` would do, but importing it takes seconds and its state is keyed by order, not by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

EPSILON = 1e-8


class Adam:
    """Steps parameters down their gradients; `decay` shrinks matrices, and only those."""

    def __init__(
        self, parameters: Mapping[str, Tensor], *, betas: tuple[float, float] = (0.9, 0.999), decay: float = 0.0
    ) -> None:
        self._parameters, self._betas, self._decay = dict(parameters), betas, decay
        self._means = {name: torch.zeros_like(one, requires_grad=False) for name, one in parameters.items()}
        self._squares = {name: torch.zeros_like(one, requires_grad=False) for name, one in parameters.items()}
        self.steps = 0

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step at this learning rate; gradients are dropped afterwards."""
        self.steps += 1
        first, second = self._betas
        shrink = math.sqrt(1 - second**self.steps)
        for name, parameter in self._parameters.items():
            gradient, mean, square = parameter.grad, self._means[name], self._squares[name]
            assert gradient is not None, "the loss depends on every parameter"
            mean.lerp_(gradient, 1 - first)
            square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
            if parameter.ndim > 1:
                parameter.mul_(1 - rate * self._decay)
            parameter.addcdiv_(mean, (square.sqrt() / shrink).add_(EPSILON), value=-rate / (1 - first**self.steps))
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """Both moments of every parameter, by name; with `steps`, all there is to keep."""
        means = {f"exp_avg/{name}": mean for name, mean in self._means.items()}
        return means | {f"exp_avg_sq/{name}": square for name, square in self._squares.items()}

    def restore(self, state: Mapping[str, Tensor], steps: int) -> None:
        """Take back what `state` gave."""
        self.steps = steps
        for name in self._parameters:
            self._means[name].copy_(state[f"exp_avg/{name}"])
            self._squares[name].copy_(state[f"exp_avg_sq/{name}"])
