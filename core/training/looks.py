"""What every layer would have said at the kept tokens: the costly part of what predictors learn from.

It takes a product with the whole LM head and does not depend on the drafter, so it is worked out once for each way to
read a layer, without and with the lens. Of held-out tokens one must know the layer's own token and how sure it is, of
training tokens only whether it is the final one; that ends at the first column that beats the final token's, and
columns come in the order of their use.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from core.exits.lens import ExitLens, Readout
from core.model.decoder import Decoder
from core.progress import Progress, Report, check
from core.training.data import Answers, Key
from core.training.distil import token_mass
from core.training.options import Stage
from core.training.prompts import Use
from core.training.readings import read
from core.training.workspace import Workspace

MOST = {Use.RESERVED: 20_000, Use.TUNE: 5000, Use.TEST: 4000}
"""Tokens of each use that are looked at, at most."""
COST = {Use.RESERVED: 0.2, Use.TUNE: 1.0, Use.TEST: 1.0}
"""What one takes, a held-out token being 1."""
STEPS = (1024, 2048, 4096, 8192)
"""Columns that are tried at once, and then all that are left."""
TIE = 1e-4
"""Of a logit: the final token's is computed another way than the others, and differs by rounding."""
SHORTEST = 8
"""Kept tokens of the answer that the time is estimated on."""


class Looks:
    """The layers' own tokens at the kept tokens, for one way to read a layer."""

    def __init__(self, decoder: Decoder, answers: Answers, work: Workspace, lens: ExitLens | None) -> None:
        self._decoder, self._answers, self._work = decoder, answers, work
        self._readout = Readout(decoder, lens)
        self._layers = decoder.config.depth - 1
        # What depends on the lens goes when the lens is trained anew.
        self._stage, self._name = (Stage.DATA, "identity") if lens is None else (Stage.LENS, "tuned")
        self._contest: Contest | None = None

    def keys(self, use: Use, seconds: float | None = None) -> list[Key]:
        """The answers that are looked at, so many as `seconds` allow; once planned, the same ever after."""
        plan = self._work.load_json(self._stage, f"looks-{self._name}.json")
        if plan is None:
            plan = self._plan(seconds)
            self._work.save_json(self._stage, f"looks-{self._name}.json", plan)
        return self._answers.kept_of(use)[:: plan[use.value]]

    def work_out(self, seconds: float, report: Report, cancel: threading.Event | None) -> None:
        """Fill in what is missing.

        Raises:
            Cancelled: `cancel` was set; finished uses stay.
        """
        for use in MOST:
            if not self._path(use).is_file():
                keys = self.keys(use, seconds)
                found: dict[str, Tensor] = {}
                for done, key in enumerate(keys):
                    check(cancel)
                    message = f"Asking every layer on {use.value} prompts, lens {self._name}"
                    report(Progress(message, done, len(keys), "answers"))
                    found.update(self._look(key, use))
                self._work.save_tensors(self._stage, self._path(use).name, found)

    def load(self, use: Use) -> dict[str, Tensor]:
        """What was found: `agrees` [kept, L-1] of each training answer, `argmax`, `top` and `margin` of the others."""
        return self._work.load_tensors(self._stage, self._path(use).name)

    @torch.no_grad()
    def normed(self, states: Tensor) -> Tensor:
        """Kept states [n, L-1, d] as the head is to see them, [n, L-1, d]."""
        by_layer = states.to(self._decoder.dtype).transpose(0, 1)
        seen = by_layer if self._readout.lens is None else self._readout.lens.every(by_layer)
        return self._decoder.norm(seen).transpose(0, 1)

    def _path(self, use: Use) -> Path:
        return self._work.path(self._stage, f"looks-{self._name}-{use.value}.safetensors")

    def _look(self, key: Key, use: Use) -> Iterator[tuple[str, Tensor]]:
        """One answer's arrays."""
        normed = self.normed(self._answers.read(key, "layers"))
        shape, flat = normed.shape[:2], normed.flatten(0, 1)
        if use is Use.RESERVED:
            if self._contest is None:
                self._contest = Contest(self._decoder.head_weight.float(), self._mass())
            final = self._answers.read(key, "ids")[self._answers.read(key, "kept").long()].long()
            wins = self._contest.wins(flat, final.repeat_interleave(shape[1]))
            yield key.name("agrees"), wins.view(shape)
            return
        found = read(self._decoder.head_weight.float(), flat)
        yield key.name("argmax"), torch.from_numpy(found.argmax).int().view(shape)
        yield key.name("top"), torch.from_numpy(found.top).half().view(shape)
        yield key.name("margin"), torch.from_numpy(found.margin).half().view(shape)

    def _mass(self) -> Tensor:
        keys = self.keys(Use.RESERVED)
        ids = torch.cat([self._answers.read(key, "top_ids") for key in keys]).long()
        shares = torch.cat([self._answers.read(key, "top_probabilities") for key in keys])
        return token_mass(ids, shares, len(self._decoder.head_weight))

    def _plan(self, seconds: float | None) -> dict[str, int]:
        """Of each use every how many answers: as many as `MOST` and the time allow, by trying one answer."""
        totals = {use: self._tokens(use) for use in MOST}
        wanted = {use: min(total, MOST[use]) for use, total in totals.items()}
        allowed = 1.0
        if seconds is not None and (a_token := self._seconds_a_token()):
            allowed = min(1.0, seconds / (a_token * sum(COST[use] * count for use, count in wanted.items())))
        return {use.value: max(1, round(totals[use] / max(1.0, allowed * wanted[use]))) for use in MOST}

    def _tokens(self, use: Use) -> int:
        return sum(self._answers.length(key, "kept") for key in self._answers.kept_of(use))

    def _seconds_a_token(self) -> float:
        """How long a held-out token takes; 0 where there is none to try."""
        keys = sorted(self._answers.kept_of(Use.TUNE), key=lambda key: self._answers.length(key, "kept"))
        if not keys:
            return 0.0
        key = next((key for key in keys if self._answers.length(key, "kept") >= SHORTEST), keys[-1])
        start = time.perf_counter()
        dict(self._look(key, Use.TUNE))
        return (time.perf_counter() - start) / self._answers.length(key, "kept")


def forget_looks(work: Workspace) -> None:
    """Throw away what was looked at, and which tokens were to be: another time allows other ones."""
    for stage in (Stage.DATA, Stage.LENS):
        for path in work.files(stage, "looks-*"):
            path.unlink()


class Contest:
    """Finds out whether a token's logit is the highest of all without computing all of them."""

    def __init__(self, weight: Tensor, mass: Tensor) -> None:
        """For a head [V, d]; tokens of much mass [V] come first."""
        self._weight = weight
        ordered = weight[mass.argsort(descending=True)]
        rest = len(weight) - sum(STEPS)
        self._blocks = torch.split(ordered, [*STEPS, rest]) if rest > 0 else (ordered,)

    @torch.no_grad()
    def wins(self, normed: Tensor, tokens: Tensor) -> Tensor:
        """Whether each state [n, d] gives its token [n] the highest logit. Shape [n], bool."""
        wins = torch.ones(len(normed), dtype=torch.bool)
        for at in torch.split(torch.arange(len(normed)), 1024):
            rows, own = normed[at].float(), tokens[at]
            target = torch.einsum("nd,nd->n", rows, self._weight[own])
            alive = torch.arange(len(at))
            for block in self._blocks:
                beaten = (rows[alive] @ block.T).amax(1) > target[alive] + TIE
                wins[at[alive[beaten]]] = False
                alive = alive[~beaten]
                if not len(alive):
                    break
        return wins
