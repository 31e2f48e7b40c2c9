"""Runs that `core.analysis.evaluation` reports on: a policy in audit depth, beside the dense model on the same text."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from core.analysis.evaluation import Sample
from core.config import Policy, Record, RunSettings
from core.engine import Engine, RunRequest
from core.progress import Progress, Report, check, quiet
from core.sampling import Chooser
from core.trace.events import BoolArray, EndReason, FloatArray
from core.trace.trace import Trace

CHUNK = 256
"""Positions whose logits are held at once."""


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
        Cancelled: `cancel` was set.
    """
    for number, prompt in enumerate(prompts):
        report(Progress("Evaluating", number, len(prompts), "prompts"))
        yield _sample(engine, prompt, settings, cancel or threading.Event())
    report(Progress("Evaluating", len(prompts), len(prompts), "prompts"))


def _sample(engine: Engine, prompt: Prompt, settings: RunSettings, cancel: threading.Event) -> Sample:
    trace = _run(engine, prompt, replace(settings, record=Record.AUDIT), cancel)
    equal, logs = judged_by_dense(engine, trace)
    dense = _run(engine, prompt, replace(settings, policy=Policy.DENSE), cancel)
    free = None
    if settings.policy.needs_parts and engine.parts:
        free = trace
    if settings.policy is Policy.SPECEE_T1T2:
        free = _run(engine, prompt, replace(settings, policy=Policy.SPECEE_T1), cancel)
    return Sample(prompt.category, trace, free, equal, logs, judged_by_dense(engine, dense)[1])


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
