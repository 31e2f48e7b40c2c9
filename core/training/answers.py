"""Answers by the target itself, many at a time, with what training wants to know of each token.

Rows of one batch are different texts, each with slots of its own; when one ends, the next job takes its place, so no
row waits for the longest. What is kept of a step costs nothing here and a second pass over the text later: the normed
hidden states that the drafter reads, the target's distribution, and of some tokens the states of all layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from core.drafting.taps import tap_layers
from core.model.decoder import Decoder, run_layer
from core.model.kv_cache import KVCache
from core.training.notes import TOP, Notes
from core.training.turned import turned_layers

BLOCK = 128
"""Rows whose logits are held at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to write."""

    prompt: int
    """Which prompt, as the caller counts; it does not matter where the prompt is still to be written."""
    sample: int
    """0 is the greedy answer."""
    ids: tuple[int, ...]
    temperature: float
    """0 is greedy."""
    stride: int = 0
    """All layers are kept at every so many tokens, from the second on; 0 keeps none."""
    writes: bool = False
    """The model goes on with a prompt of its own first, see `Answerer`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """m tokens that the target wrote. Row j of an array belongs to the position that emitted token j."""

    job: Job
    """Of a prompt that the model wrote, the job that `admit` gave."""
    ids: tuple[int, ...]
    """Length m."""
    ended: bool
    """Whether it came to its end, or to the most tokens that an answer may have."""
    prompt: dict[str, Tensor]
    """As `Notes.part` over the prompt's n tokens."""
    own: dict[str, Tensor]
    """As `Notes.part` over the m positions."""
    kept: tuple[int, ...]
    """The j whose layers were kept."""
    layers: Tensor | None
    """Shape [kept, L - 1, d], h_l as the layers leave it (not normed); None where none were kept."""


@dataclass(slots=True)
class _Text:
    """What a row is writing."""

    job: Job
    ids: list[int] = field(default_factory=list)
    """Of the answer, or of the prompt that is being written."""
    forced: list[int] = field(default_factory=list)
    """Tokens that come next whatever the model would say."""
    kept: list[int] = field(default_factory=list)
    layers: list[Tensor] = field(default_factory=list)

    @property
    def wants_layers(self) -> bool:
        at, stride = len(self.ids), self.job.stride
        return bool(stride and at and not self.job.writes and not self.forced and at % stride == 0)


class Answerer:
    """Writes answers in a batch of `rows`.

    A job that `writes` begins with a chat as far as the user's text. The model writes that text until it ends its turn;
    `admit` then makes of its tokens the job of answering it, whose ids begin with those that are there, or drops it.
    """

    def __init__(
        self,
        decoder: Decoder,
        end_ids: frozenset[int],
        *,
        rows: int,
        limit: int,
        longest: int,
        seed: int,
        admit: Callable[[Sequence[int]], Job | None] | None = None,
        written: int = 0,
    ) -> None:
        """Room for `rows` texts of up to `longest` + `limit` tokens side by side.

        Args:
            decoder: the target.
            end_ids: tokens that end an answer, or a prompt that the model writes.
            rows: texts side by side.
            limit: most tokens of an answer.
            longest: most tokens of a prompt.
            seed: for the sampled answers and the late layers.
            admit: takes the tokens of a prompt that the model has written; what it gives None for is dropped.
            written: most tokens of such a prompt; longer ones are dropped.
        """
        self._decoder, self._ends, self._limit = decoder, end_ids, limit
        self._admit, self._written = admit, written
        config, capacity = decoder.config, longest + limit
        shape = (config.depth, rows, config.kv_heads, capacity, config.head_dim)
        self._keys = torch.zeros(shape, dtype=decoder.dtype, device=decoder.device)
        self._values = torch.zeros_like(self._keys)
        self._positions = torch.zeros(rows, dtype=torch.int64, device=decoder.device)
        self._newest = torch.zeros(rows, dtype=torch.int64, device=decoder.device)
        self._texts: list[_Text | None] = [None] * rows
        self._random = torch.Generator().manual_seed(seed)
        self._taps = tap_layers(config.depth)
        self._notes = Notes(rows, capacity, config.hidden, len(self._taps))
        self._layers = turned_layers(decoder, rows)
        self._read_last: dict[tuple[int, ...], tuple[dict[str, Tensor], KVCache]] = {}

    @torch.no_grad()
    def run(self, jobs: Iterator[Job], stop: Callable[[], bool]) -> Iterator[Answer]:
        """The answers as they end; once `stop` says so, those in flight end where they are."""
        while not stop():
            for row in range(len(self._texts)):
                while self._texts[row] is None and (job := next(jobs, None)) is not None:
                    self._start(row, job)
            if not any(self._texts):
                return
            yield from self._ended()
            if any(self._texts):
                self._step()
                yield from self._ended()
        yield from [self._answer(row, text) for row, text in enumerate(self._texts) if text and _has_answer(text)]

    def _ended(self) -> Iterator[Answer]:
        for row, text in enumerate(self._texts):
            if text and _has_answer(text) and self._is_over(text):
                self._texts[row] = None
                yield self._answer(row, text)

    def _is_over(self, text: _Text) -> bool:
        return text.ids[-1] in self._ends or len(text.ids) >= self._limit

    def _answer(self, row: int, text: _Text) -> Answer:
        prompt, m = len(text.job.ids), len(text.ids)
        return Answer(
            text.job,
            tuple(text.ids),
            self._is_over(text),
            self._notes.part(row, 0, prompt),
            self._notes.part(row, prompt - 1, prompt - 1 + m),
            tuple(text.kept),
            _stacked(text.layers) if text.layers else None,
        )

    def _start(self, row: int, job: Job) -> None:
        """Fill a row with a prompt and its first token."""
        notes, cache = self._read(job.ids)
        length = len(job.ids)
        self._keys[:, row, :, :length] = cache.keys
        self._values[:, row, :, :length] = cache.values
        self._notes.fill(row, notes)
        self._texts[row] = _Text(job)
        self._positions[row] = length
        last = {name: values[-1:] for name, values in notes.items()}
        self._take([row], last["top_ids"], last["top_probabilities"])

    def _read(self, ids: tuple[int, ...]) -> tuple[dict[str, Tensor], KVCache]:
        """A prompt's notes and K/V; the last two prompts are remembered."""
        if ids not in self._read_last:
            while len(self._read_last) >= 2:
                self._read_last.pop(next(iter(self._read_last)))
            self._read_last[ids] = self._read_anew(ids)
        self._read_last[ids] = self._read_last.pop(ids)
        return self._read_last[ids]

    def _read_anew(self, ids: tuple[int, ...]) -> tuple[dict[str, Tensor], KVCache]:
        decoder = self._decoder
        cache, rows = decoder.new_cache(len(ids)), decoder.rows(range(len(ids)), len(ids))
        x, taps = decoder.embed(torch.tensor(ids, device=decoder.device)), []
        for index in range(decoder.config.depth):
            x = decoder.layer(index, x, rows, cache)
            if index in self._taps:
                taps.append(decoder.norm(x))
        normed = decoder.norm(x)
        tops = [self._top(block) for block in torch.split(normed, BLOCK)]
        top_ids, top_probabilities = (torch.cat(parts) for parts in zip(*tops, strict=True))
        return self._notes.of(normed, normed, taps, top_ids, top_probabilities), cache

    def _top(self, normed: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest tokens [n, TOP] after states [n, d], and their probabilities in the whole vocabulary."""
        logits = self._decoder.logits(normed).float()
        top = logits.topk(min(TOP, logits.shape[-1]))
        probabilities = (top.values - logits.logsumexp(-1, keepdim=True)).exp()
        return top.indices.int().cpu(), probabilities.half().cpu()

    def _step(self) -> None:
        """Feed each row's newest token and take the next one."""
        decoder, depth = self._decoder, self._decoder.config.depth
        rows = [row for row, text in enumerate(self._texts) if text]
        wanted = [row for row, text in enumerate(self._texts) if text and text.wants_layers and depth > 1]
        late = int(torch.randint(depth * 2 // 3, max(depth - 1, 1), (), generator=self._random))
        states = self._run_layers({late, depth - 1, *self._taps} | (set(range(depth - 1)) if wanted else set()))
        normed = {index: decoder.norm(states[index])[rows] for index in {late, depth - 1, *self._taps}}
        if wanted:
            self._keep(wanted, torch.stack([states[index][wanted] for index in range(depth - 1)], 1))
        positions = self._positions[rows].cpu()
        self._positions[rows] += 1
        top_ids, top_probabilities = self._top(normed[depth - 1])
        taps = [normed[index] for index in self._taps]
        noted = self._notes.of(normed[depth - 1], normed[late], taps, top_ids, top_probabilities)
        self._notes.put(torch.tensor(rows), positions, noted)
        self._take(rows, top_ids, top_probabilities)

    def _run_layers(self, kept: set[int]) -> dict[int, Tensor]:
        """The states [rows, d] that these layers leave."""
        decoder, positions = self._decoder, self._positions
        span = int(positions.max()) + 1
        table = decoder.rows(range(span), span)
        cos, sin = table.cos[positions], table.sin[positions]
        masks = {window: self._mask(span, window) for window in set(decoder.config.windows)}
        x, states = decoder.embed(self._newest), {}
        for index, layer in enumerate(self._layers):
            attend = self._attend(index, span, masks[decoder.config.windows[index]])
            x = run_layer(layer, decoder.config, x, cos, sin, attend)
            if index in kept:
                states[index] = x
        return states

    def _attend(self, index: int, span: int, mask: Tensor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        keys, values, config = self._keys[index], self._values[index], self._decoder.config
        every = torch.arange(len(self._positions), device=keys.device)

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys[every, :, self._positions] = k
            values[every, :, self._positions] = v
            grouped = q.reshape(len(q), config.kv_heads, config.group, config.head_dim)
            out = F.scaled_dot_product_attention(grouped, keys[:, :, :span], values[:, :, :span], attn_mask=mask)
            return out.reshape(q.shape)

        return attend

    def _mask(self, span: int, window: int | None) -> Tensor:
        """Which slots each row sees, [rows, 1, 1, span], as what is added to a score."""
        slots, own = torch.arange(span, device=self._positions.device)[None], self._positions[:, None]
        seen = slots <= own
        seen = seen if window is None else seen & (slots > own - window)
        mask = torch.zeros(seen.shape, dtype=self._decoder.dtype, device=seen.device)
        return mask.masked_fill_(~seen, -torch.inf)[:, None, None]

    def _keep(self, rows: Sequence[int], states: Tensor) -> None:
        """Note the states [n, L - 1, d] of these rows' next tokens."""
        for row, layers in zip(rows, narrow(states).cpu(), strict=True):
            text = self._texts[row]
            assert text is not None, "only rows with a text want their layers kept"
            text.kept.append(len(text.ids))
            text.layers.append(layers)

    def _take(self, rows: Sequence[int], top_ids: Tensor, top_probabilities: Tensor) -> None:
        """Choose the next token of each row; arrays have an entry a row."""
        texts = [text for row in rows if (text := self._texts[row]) is not None]
        temperatures = torch.tensor([text.job.temperature for text in texts])
        ranks = choose(top_probabilities, temperatures, self._random)
        chosen = top_ids.gather(1, ranks[:, None])[:, 0].tolist()
        taken = [self._next(row, text, token) for row, text, token in zip(rows, texts, chosen, strict=True)]
        self._newest[list(rows)] = torch.tensor(taken, device=self._newest.device)

    def _next(self, row: int, text: _Text, token: int) -> int:
        """What a row goes on with where the model says `token`."""
        if text.forced:
            return text.forced.pop(0)
        if not text.job.writes:
            text.ids.append(token)
            return token
        if token not in self._ends:
            text.ids.append(token)
            if len(text.ids) > self._written:
                self._texts[row] = None
            return token
        job = self._admit(text.ids) if self._admit else None
        forced = list(job.ids[len(text.job.ids) + len(text.ids) :]) if job else [token]
        self._texts[row] = _Text(job, forced=forced[1:]) if job else None
        return forced[0]


def choose(probabilities: Tensor, temperatures: Tensor, random: torch.Generator) -> Tensor:
    """The rank [n] of each row's next token among the likeliest [n, TOP]; temperature 0 takes the first."""
    greedy = temperatures == 0
    if bool(greedy.all()):
        return torch.zeros(len(greedy), dtype=torch.int64)
    weights = probabilities.float() ** (1 / torch.where(greedy, 1.0, temperatures))[:, None]
    return torch.where(greedy, 0, torch.multinomial(weights, 1, generator=random)[:, 0])


def narrow(states: Tensor) -> Tensor:
    """States in half the room: float16 where all are within its range, else bfloat16."""
    return states.half() if bool(states.abs().amax() < torch.finfo(torch.float16).max) else states.bfloat16()


def _stacked(layers: Sequence[Tensor]) -> Tensor:
    """Tokens' states in one array, of the wider range where any needs it."""
    dtype = torch.bfloat16 if any(one.dtype is torch.bfloat16 for one in layers) else torch.float16
    return torch.stack([one.to(dtype) for one in layers])


def _has_answer(text: _Text) -> bool:
    return not text.job.writes and bool(text.ids)
