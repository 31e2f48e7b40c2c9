"""Audit watches and changes nothing: not a token, not an exit, not a feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.choices import DType, KVPolicy, Policy, Record
from core.engine import Engine
from core.model.loading import load_model
from tests.engines import DEPTH, ids, parts_that_always_propose, run
from tests.tiny import make_tiny_model

TEXT = "the quick brown fox jumps over the lazy dog, early exit of a language model, sun sea sky blue and green. "
PROMPTS = [(TEXT * 3)[number : 1 + number * (2 + number)] + "?" for number in range(20)]
"""Of 1 to some 300 characters, so that chunks of the prompt and windows end in many places."""

CASES = [("llama", Policy.SPECEE_T1T2), ("llama", Policy.CALM), ("mistral", Policy.CALM)]
"""Mistral's layers see no further back than 9 positions."""


def engine(folder: Path, family: str) -> Engine:
    window = {"sliding_window": 9} if family == "mistral" else {}
    model = load_model(make_tiny_model(folder, family, depth=DEPTH, **window), dtype=DType.FLOAT32, threads=1)
    return Engine(model, parts_that_always_propose(model))


@pytest.mark.parametrize("kv_policy", KVPolicy)
@pytest.mark.parametrize(("family", "policy"), CASES)
def test_that_on_twenty_prompts_audit_changes_no_token_no_exit_and_no_feature(
    tmp_path: Path, family: str, policy: Policy, kv_policy: KVPolicy
) -> None:
    watched, early = engine(tmp_path / "tiny", family), 0
    for prompt in PROMPTS:
        asked = {
            "policy": policy,
            "kv_policy": kv_policy,
            "threshold": 0.045,
            "max_new_tokens": 8,
            "chat_template": False,
        }
        live, audit = run(watched, prompt, **asked), run(watched, prompt, **asked, record=Record.AUDIT)
        assert ids(audit) == ids(live)
        np.testing.assert_array_equal(audit.exit_layers, live.exit_layers)
        for one, other in zip(live.records, audit.records, strict=True):
            np.testing.assert_array_equal(one.features, other.features)
        early += int((live.exit_layers < DEPTH).sum())
    assert early > 0
