"""Answers by the target itself, many at a time, with what training wants to know of each token.

Rows of one batch are different sequences, each with slots of its own; when one ends, the next job takes its place, so
no row waits for the longest. What is kept of a step costs nothing here and a second pass over the text later: the
normed hidden states that the drafter reads and the predictors look at, and the target's distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.decoder import Decoder, run_layer
from core.model.kv_cache import KVCache

TOP = 32
"""Tokens kept of each of the target's distributions, and sampled from."""

BLOCK = 128
"""Rows whose logits are held at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to write."""

    prompt: int
    """Which prompt, as the caller counts."""
    sample: int
    """0 is the greedy answer."""
    ids: tuple[int, ...]
    temperature: float
    """0 is greedy."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """A prompt as the target has read it."""

    ids: tuple[int, ...]
    features: Tensor
    """Shape [prompt tokens, d], float16, norm(h)."""
    top_ids: Tensor
    """Shape [prompt tokens, TOP], int32: what the target thought would come after each token."""
    top_probabilities: Tensor
    """Shape [prompt tokens, TOP], float16."""


@dataclass(slots=True)
class Answer:
    """m tokens that the target wrote. Row j of an array belongs to the position that emitted token j."""

    job: Job
    prompt: Prefill
    ids: list[int] = field(default_factory=list)
    """Length m."""
    features: list[Tensor] = field(default_factory=list)
    """[d] each, float16, norm(h) at full depth."""
    early: list[Tensor] = field(default_factory=list)
    """[d] each, float16, norm(h) at a random late layer: what the drafter sees after an early exit."""
    top_ids: list[Tensor] = field(default_factory=list)
    """[TOP] each, int32, the likeliest tokens."""
    top_probabilities: list[Tensor] = field(default_factory=list)
    """[TOP] each, float16."""
    kept: list[int] = field(default_factory=list)
    """The j whose layers were kept."""
    layers: list[Tensor] = field(default_factory=list)
    """[L - 1, d] each, float16, norm(h_l), one for each of `kept`."""


class Answerer:
    """Writes answers in a batch of `rows`."""

    def __init__(
        self, decoder: Decoder, end_ids: frozenset[int], *, rows: int, limit: int, longest: int, stride: int, seed: int
    ) -> None:
        """
        Args:
            decoder: the target.
            end_ids: tokens that end an answer.
            rows: sequences side by side.
            limit: most tokens of an answer.
            longest: most tokens of a prompt.
            stride: all layers are kept at every `stride`-th step of the greedy answers.
            seed: for the sampled answers and the late layers.
        """
        self._decoder, self._ends, self._limit, self._stride = decoder, end_ids, limit, stride
        config, capacity = decoder.config, longest + limit
        shape = (config.depth, rows, config.kv_heads, capacity, config.head_dim)
        self._keys = torch.zeros(shape, dtype=decoder.dtype, device=decoder.device)
        self._values = torch.zeros_like(self._keys)
        self._positions = torch.zeros(rows, dtype=torch.int64, device=decoder.device)
        self._newest = torch.zeros(rows, dtype=torch.int64, device=decoder.device)
        self._answers: list[Answer | None] = [None] * rows
        self._random = torch.Generator().manual_seed(seed)
        self._newest_prompt: tuple[Prefill, KVCache] | None = None
        self._steps = 0

    @torch.no_grad()
    def run(self, jobs: Iterator[Job], stop: Callable[[], bool]) -> Iterator[Answer]:
        """The answers as they end; once `stop` says so, those in flight end where they are."""
        while not stop():
            for row, answer in enumerate(self._answers):
                if answer is None and (job := next(jobs, None)) is not None:
                    self._start(row, job)
            if not any(self._answers):
                return
            self._step()
            for row, answer in enumerate(self._answers):
                if answer and (answer.ids[-1] in self._ends or len(answer.ids) >= self._limit):
                    self._answers[row] = None
                    yield answer
        yield from [answer for answer in self._answers if answer]

    def _start(self, row: int, job: Job) -> None:
        """Fill a row with a prompt and its first token."""
        if self._newest_prompt is None or self._newest_prompt[0].ids != job.ids:
            self._newest_prompt = self._read(job.ids)
        (prompt, cache), length = self._newest_prompt, len(job.ids)
        self._keys[:, row, :, :length] = cache.keys
        self._values[:, row, :, :length] = cache.values
        self._answers[row] = Answer(job, prompt)
        self._positions[row] = length
        last = prompt.features[-1:]
        self._take([row], (prompt.top_ids[-1:], prompt.top_probabilities[-1:]), last, last, None)

    def _read(self, ids: tuple[int, ...]) -> tuple[Prefill, KVCache]:
        decoder = self._decoder
        cache = decoder.new_cache(len(ids))
        normed = decoder.norm(decoder.forward(torch.tensor(ids, device=decoder.device), 0, cache))
        top_ids, top_probabilities = zip(*[self._top(block) for block in torch.split(normed, BLOCK)], strict=True)
        return Prefill(ids, normed.half().cpu(), torch.cat(top_ids), torch.cat(top_probabilities)), cache

    def _top(self, normed: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest tokens [n, TOP] after states [n, d], and their probabilities in the whole vocabulary."""
        logits = self._decoder.logits(normed).float()
        top = logits.topk(min(TOP, logits.shape[-1]))
        probabilities = (top.values - logits.logsumexp(-1, keepdim=True)).exp()
        return top.indices.int().cpu(), probabilities.half().cpu()

    def _step(self) -> None:
        """Feed each row's newest token and take the next one."""
        decoder, depth = self._decoder, self._decoder.config.depth
        positions = self._positions
        span = int(positions.max()) + 1
        table = decoder.rows(range(span), span)
        cos, sin = table.cos[positions], table.sin[positions]
        masks = {window: self._mask(span, window) for window in set(decoder.config.windows)}
        late = int(torch.randint(depth * 2 // 3, max(depth - 1, 1), (), generator=self._random))
        keep = self._steps % self._stride == 0
        layers = []
        x = decoder.embed(self._newest)
        for index in range(depth):
            attend = self._attend(index, span, masks[decoder.config.windows[index]])
            x = run_layer(decoder.layers[index], decoder.config, x, cos, sin, attend)
            if index < depth - 1 and (keep or index == late):
                layers.append(decoder.norm(x))
        normed = decoder.norm(x)
        early = layers[late if keep else 0] if layers else normed
        rows = [row for row, answer in enumerate(self._answers) if answer]
        self._positions[rows] += 1
        self._steps += 1
        kept = torch.stack([layer[rows] for layer in layers], 1).half().cpu() if keep and layers else None
        normed = normed[rows]
        self._take(rows, self._top(normed), normed.half().cpu(), early[rows].half().cpu(), kept)

    def _attend(self, index: int, span: int, mask: Tensor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        keys, values, config = self._keys[index], self._values[index], self._decoder.config
        every = torch.arange(len(self._positions), device=keys.device)

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys[every, :, self._positions] = k
            values[every, :, self._positions] = v
            grouped = q.view(len(q), config.kv_heads, config.group, config.head_dim)
            out = F.scaled_dot_product_attention(grouped, keys[:, :, :span], values[:, :, :span], attn_mask=mask)
            return out.reshape(q.shape)

        return attend

    def _mask(self, span: int, window: int | None) -> Tensor:
        """Which slots each row sees, [rows, 1, 1, span]."""
        slots, own = torch.arange(span, device=self._positions.device)[None], self._positions[:, None]
        seen = slots <= own
        return (seen if window is None else seen & (slots > own - window))[:, None, None]

    def _take(
        self, rows: Sequence[int], top: tuple[Tensor, Tensor], features: Tensor, early: Tensor, layers: Tensor | None
    ) -> None:
        """Choose and note the next token of each row; arrays have an entry a row."""
        for at, row in enumerate(rows):
            answer = self._answers[row]
            assert answer is not None, "only rows with an answer take tokens"
            if layers is not None and answer.job.sample == 0:
                answer.kept.append(len(answer.ids))
                answer.layers.append(layers[at])
            answer.features.append(features[at])
            answer.early.append(early[at])
            answer.top_ids.append(top[0][at])
            answer.top_probabilities.append(top[1][at])
            choice = self._choose(top[1][at], answer.job.temperature)
            answer.ids.append(int(top[0][at, choice]))
            self._newest[row] = answer.ids[-1]

    def _choose(self, probabilities: Tensor, temperature: float) -> int:
        """The rank of the next token."""
        if temperature == 0:
            return 0
        weights = probabilities.float() ** (1 / temperature)
        return int(torch.multinomial(weights, 1, generator=self._random))
