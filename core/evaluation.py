"""Runs that `core.analysis.evaluation` reports on: a policy in audit depth, beside the dense model on the same text."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from core.analysis.digest import HeadTrial, Sample
from core.choices import Policy, Record
from core.config import RunSettings, TreeSettings
from core.drafting.taps import tap_layers
from core.engine import Engine, RunRequest
from core.model.decoder import Decoder
from core.progress import Progress, Report, check, quiet
from core.sampling import Chooser
from core.trace.events import BoolArray, EndReason, FloatArray
from core.trace.trace import Trace
from core.training.chains import DEPTH, read_chains
from core.training.costs import head_times
from core.training.data import Key
from core.training.examples import Example

CHUNK = 256
"""Positions whose logits are held at once."""
ROUNDS = 3
"""Of timing, for each prompt."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to evaluate on."""

    text: str
    category: str = ""


def evaluate_prompts(
    engine: Engine,
    prompts: Sequence[Prompt],
    settings: RunSettings,
    report: Report = quiet,
    cancel: threading.Event | None = None,
) -> Iterator[Sample]:
    """Run each prompt under `settings`, audited, then dense, then (for T2) with every predictor on.

    Raises:
        UserError: a prompt cannot be run.
        ArithmeticError: a run failed midway; the text is a sentence for the user.
        Cancelled: `cancel` was set.
    """
    for number, prompt in enumerate(prompts):
        report(Progress("Evaluating", number, len(prompts), "prompts"))
        yield _sample(engine, prompt, settings, cancel or threading.Event())
    report(Progress("Evaluating", len(prompts), len(prompts), "prompts"))


def _sample(engine: Engine, prompt: Prompt, settings: RunSettings, cancel: threading.Event) -> Sample:
    trace = _run(engine, prompt, replace(settings, record=Record.AUDIT), cancel)
    equal, logs = judged_by_dense(engine, trace)
    dense = _run(engine, prompt, replace(settings, policy=Policy.DENSE, tree=TreeSettings()), cancel)
    free = None
    # In a tree's ring the tokens of one pass stand beside each other, which is no hit of the scheduler's.
    if settings.policy.needs_parts and engine.parts and not settings.tree.on:
        free = trace
    if settings.policy is Policy.SPECEE_T1T2 and not settings.tree.on:
        free = _run(engine, prompt, replace(settings, policy=Policy.SPECEE_T1), cancel)
    heads = try_heads(engine, dense) if settings.policy.needs_parts else None
    return Sample(prompt.category, trace, free, equal, logs, judged_by_dense(engine, dense)[1], heads)


def try_heads(engine: Engine, dense: Trace) -> HeadTrial | None:
    """How far the target goes along with chains drafted over its own text, through either head; and what both cost.

    None where the parts have no low-rank head, or the text is too short for a chain.
    """
    parts = engine.parts
    if parts is None or parts.slim is None:
        return None
    chains = read_chains(parts.drafter, [dense_example(engine, dense)])
    count, times = int(chains.starts.sum()), head_times(parts.drafter, parts.slim, rounds=ROUNDS)
    if not count:
        return None
    taus = [chains.acceptance(logits).tau for logits in (engine.model.decoder.logits, parts.slim.logits)]
    accepted = [round((tau - 1) * count) for tau in taus]
    return HeadTrial(count, accepted[0], accepted[1], (times.full, times.slim), times.other, DEPTH)


@torch.inference_mode()
def dense_example(engine: Engine, dense: Trace) -> Example:
    """A dense answer as the drafter would have followed it: states by teacher forcing, and the answer's own tokens."""
    assert dense.started is not None, "only a started run has a prompt"
    decoder, prompt = engine.model.decoder, dense.started.prompt_ids
    emitted = [record.emitted.token_id for record in dense.emitted if record.emitted]
    ids = torch.tensor([*prompt, *emitted], device=decoder.device)
    normed, taps = _states(decoder, ids[:-1])
    following = torch.arange(2, len(ids))
    return Example(
        key=Key(0, 0),
        ids=ids[1:-1],
        features=normed[:-1],
        early=normed[:-1],
        taps=taps[:-1],
        top_ids=ids[2:, None].cpu(),
        top_probabilities=torch.ones(len(following), 1),
        drafted=following > len(prompt),
        learned=following > len(prompt),
    )


def _states(decoder: Decoder, ids: Tensor) -> tuple[Tensor, Tensor]:
    """norm(h) at full depth [n, d] and at the drafter's taps [n, t, d]."""
    cache, rows = decoder.new_cache(len(ids)), decoder.rows(range(len(ids)), len(ids))
    x, taps = decoder.embed(ids), []
    for layer in range(decoder.config.depth):
        x = decoder.layer(layer, x, rows, cache)
        if layer in tap_layers(decoder.config.depth):
            taps.append(decoder.norm(x))
    normed = decoder.norm(x)
    return normed, torch.stack(taps, 1) if taps else normed[:, None][:, :0]


def _run(engine: Engine, prompt: Prompt, settings: RunSettings, cancel: threading.Event) -> Trace:
    trace = Trace.of(engine.run(RunRequest(prompt.text, settings), cancel))
    check(cancel)
    assert trace.ended is not None, "a run always ends"
    if trace.ended.reason is EndReason.FAILED:
        raise ArithmeticError(trace.ended.detail)
    return trace


@torch.inference_mode()
def judged_by_dense(engine: Engine, trace: Trace) -> tuple[BoolArray, FloatArray]:
    """What the dense model, teacher-forced on the emitted text, makes of each emitted token.

    Returns:
        Whether its argmax, or under sampling its draw, is the token, and the token's natural log probability; both
        shaped [emitted tokens].
    """
    assert trace.started is not None, "only a started run has a prompt"
    decoder = engine.model.decoder
    emitted = [record.emitted.token_id for record in trace.emitted if record.emitted]
    ids = torch.tensor([*trace.started.prompt_ids, *emitted], device=decoder.device)
    cache = decoder.new_cache(len(ids))
    states = [decoder.forward(ids[at : at + CHUNK], at, cache) for at in range(0, len(ids), CHUNK)]
    prompt = len(trace.started.prompt_ids)
    before, targets = decoder.norm(torch.cat(states))[prompt - 1 : -1], ids[prompt:]
    chooser = Chooser(trace.started.settings.sampling)
    equal, logs = [], []
    for at in range(0, len(targets), CHUNK):
        logits, wanted = decoder.logits(before[at : at + CHUNK]).float(), targets[at : at + CHUNK]
        drawn = [chooser.choose(row, place).token_id for place, row in enumerate(logits, prompt + at)]
        equal.append(np.array(drawn) == wanted.cpu().numpy())
        logs.append((logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(-1)).cpu().numpy())
    return np.concatenate(equal), np.concatenate(logs)
