"""transformers' own loops as contenders, on the same weights and prompt tokens as ours."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedModel
from transformers.utils.logging import disable_progress_bar

from app.commands.bench_contest import GENERATE, Arrivals, Label, Turn
from app.commands.opening import Opened
from core.decoding import encode_prompt
from core.stopwatch import Clock

PROMPT_LOOKUP = "generate-prompt-lookup"
EARLY_EXIT = "generate-early-exit"
LOOKUP_TOKENS = 10
"""Candidates that prompt lookup takes over at once; the number in transformers' documentation."""


def load_peer(opened: Opened, dtype: str) -> PreTrainedModel:
    """transformers' model from the same files, in another number format where need be."""
    disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(opened.folder, dtype=getattr(torch, dtype), local_files_only=True)
    ends = sorted(opened.model.tokenizer.end_ids)
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=ends, pad_token_id=ends[0] if ends else 0)
    return model.to(opened.model.decoder.device).eval()


def flags_of(name: str, depth: int) -> Mapping[str, int]:
    """What `generate` is asked for besides plain decoding. Early exit drafts with the lower half of the layers."""
    return {
        GENERATE: {},
        PROMPT_LOOKUP: {"prompt_lookup_num_tokens": LOOKUP_TOKENS},
        EARLY_EXIT: {"assistant_early_exit": max(1, depth // 2)},
    }[name]


class GenerateContender:
    """transformers' `generate`, greedy."""

    def __init__(
        self, name: str, opened: Opened, model: PreTrainedModel, dtype: str, clock: Clock = time.perf_counter
    ) -> None:
        self.label = Label(name, "off", dtype)
        self._ours, self._model, self._clock = opened.model, model, clock
        self._depth = opened.model.info.depth
        self._flags = flags_of(name, self._depth)

    @torch.inference_mode()
    def take_turn(self, prompt: str, tokens: int) -> Turn:
        ids = torch.tensor([encode_prompt(self._ours, prompt, chat_template=True)], device=self._model.device)
        streamer = _StampingStreamer(self._clock)
        try:
            output = self._model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=tokens,
                streamer=streamer,
                **self._flags,
            )
        finally:
            # Early exit lowers this while it drafts, and leaves it so where that fails.
            self._model.config.num_hidden_layers = self._depth
        made = tuple(output[0, ids.shape[1] :].tolist())
        return Turn(made, (self._depth,) * len(made), streamer.arrivals.tokens_per_second)


class _StampingStreamer:
    """What `generate` hands the prompt to first, and then its tokens as they come, one or several at a time."""

    def __init__(self, clock: Clock) -> None:
        self.arrivals = Arrivals(clock)
        self._prompt_seen = False

    def put(self, value: Any) -> None:
        if self._prompt_seen:
            self.arrivals.tick(value.numel())
        self._prompt_seen = True

    def end(self) -> None:
        """Nothing is buffered."""
