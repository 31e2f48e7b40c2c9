"""On the real default model: what a token tree emits without exits are the greedy tokens (`docs/rules.md`)."""

from __future__ import annotations

import threading

import pytest

from core.choices import Policy
from core.config import RunSettings, TreeSettings
from core.engine import Engine, RunRequest
from core.exits.parts_folder import find_parts
from core.exits.parts_reading import load_parts
from core.model.loading import LoadedModel
from core.trace.events import TokenEmitted, TreeAccepted
from tests.core.test_default_model import PROMPTS

pytestmark = pytest.mark.model

NEW_TOKENS = 120
TREES = (TreeSettings("4-2-1"), TreeSettings("dynamic", nodes=16, depth=5, expand=4, ngrams=True))


@pytest.fixture(scope="module")
def engine(default_model: LoadedModel) -> Engine:
    folder = find_parts(default_model.info)
    assert folder is not None, "parts for the default model come with the program"
    return Engine(default_model, load_parts(folder, default_model))


@pytest.mark.parametrize("prompt", PROMPTS[:1])
def test_that_trees_emit_the_greedy_tokens_and_more_than_one_a_pass(engine: Engine, prompt: str) -> None:
    plain, _ = emitted(engine, prompt, TreeSettings())
    assert len(plain) == NEW_TOKENS, "a prompt whose answer is shorter proves less"
    for tree in TREES:
        tokens, passes = emitted(engine, prompt, tree)
        assert tokens == plain
        assert len(tokens) > 1.3 * passes


def emitted(engine: Engine, prompt: str, tree: TreeSettings) -> tuple[list[int], int]:
    """The tokens of a dense run, and how many passes were over trees."""
    settings = RunSettings(Policy.DENSE, max_new_tokens=NEW_TOKENS, tree=tree)
    events = list(engine.run(RunRequest(prompt, settings), threading.Event()))
    tokens = [event.token_id for event in events if isinstance(event, TokenEmitted)]
    return tokens, sum(isinstance(event, TreeAccepted) for event in events)
