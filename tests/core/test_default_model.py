"""On the real default model: our greedy tokens are transformers' greedy tokens (`docs/rules.md`)."""

from __future__ import annotations

import dataclasses
import statistics
import threading
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from core.choices import Policy, Record
from core.config import RunSettings
from core.engine import Engine, RunRequest
from core.model.loading import LoadedModel
from core.trace.events import TokenEmitted

pytestmark = pytest.mark.model

NEW_TOKENS = 200
PROMPTS = (
    "Describe a lighthouse keeper's day in the year 1890, hour by hour.",
    "Write a Python class for a bank account with deposits, withdrawals and interest, with comments.",
    "Plan a week of meals for a family of four, with a shopping list.",
    "Explain how a bicycle works, part by part, to a curious child.",
    "Compare tea and coffee: history, preparation, effects and customs in several countries.",
)


@pytest.fixture(scope="module")
def reference(default_model_folder: Path) -> AutoModelForCausalLM:
    return AutoModelForCausalLM.from_pretrained(default_model_folder, dtype=torch.float32).eval()


@pytest.mark.parametrize("prompt", PROMPTS)
def test_that_dense_emits_the_tokens_that_transformers_generates(
    default_model: LoadedModel, reference: AutoModelForCausalLM, prompt: str
) -> None:
    settings = RunSettings(Policy.DENSE, max_new_tokens=NEW_TOKENS)
    events = Engine(default_model).run(RunRequest(prompt, settings), threading.Event())
    ours = [event.token_id for event in events if isinstance(event, TokenEmitted)]
    ids = torch.tensor([default_model.tokenizer.encode_chat(prompt)])
    with torch.inference_mode():
        theirs = reference.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=NEW_TOKENS,
            eos_token_id=sorted(default_model.tokenizer.end_ids),
        )[0, ids.shape[1] :].tolist()
    assert len(ours) == NEW_TOKENS, "a prompt whose answer is shorter proves less"
    assert ours == theirs


@pytest.mark.parametrize("record", Record)
def test_that_the_stages_add_up_to_the_tokens_wall_time(default_model: LoadedModel, record: Record) -> None:
    """Within 5 %, for the median token: another program may take the processor between two stages."""
    settings = RunSettings(Policy.CALM, threshold=0.9, max_new_tokens=16, record=record)
    events = Engine(default_model).run(RunRequest(PROMPTS[0], settings), threading.Event())
    shares = []
    for event in events:
        if isinstance(event, TokenEmitted):
            stages = dataclasses.asdict(event.times)
            total = stages.pop("total")
            shares.append(sum(stages.values()) / total)
    assert 0.95 <= statistics.median(shares) <= 1
