"""What trained parts say of themselves: how they were made, and what they are worth on unseen prompts."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from core.drafting.head import DraftHead
from core.training import drafter, jobs, predictors
from core.training.data import Answers
from core.training.examples import CONTEXT, read_examples
from core.training.options import TrainOptions
from core.training.prompts import WRITTEN, Prompt, Use, digest
from core.training.quality import DrafterQuality, draft_ranks
from core.version import version


def make_card(
    options: TrainOptions,
    answers: Answers,
    head: DraftHead,
    drafter_facts: Mapping[str, Any],
    predictor_facts: Mapping[str, Any],
    profile: Mapping[str, Any],
) -> dict[str, Any]:
    """Plain JSON values for `TrainedParts.card`."""
    facts = dict(predictor_facts)
    return {
        "seed": options.seed,
        "budget_minutes": options.budget_minutes,
        "versions": versions(),
        "data": data_facts(answers),
        "drafter": {**drafter_recipe(), **drafter_facts, "quality": drafter_table(head, answers)},
        "predictors": {
            "recipe": "MLP 12→512→1 a layer, BCE, Adam; differences over gaps drawn from simulated schedules; learned "
            "from half of the training prompts, with candidates of a second drafter that had not seen these",
            "rate": predictors.RATE,
            "batch": predictors.BATCH,
            "epochs_at_most": predictors.EPOCHS,
            "second_drafter": facts.pop("second_drafter"),
            "label": facts.pop("label"),
            "tokens": facts.pop("tokens"),
            "quality": facts.pop("quality"),
            "tune_auc": facts.pop("tune_auc"),
        },
        "profile": {name: profile[name] for name in ("exits", "tokens", "prompts", "threshold")},
        **facts,
    }


def versions() -> dict[str, str]:
    """Of everything that the result depends on."""
    libraries = {name: metadata.version(name) for name in ("torch", "transformers", "numpy")}
    return {"specee-viewer": version(), **libraries, "python": platform.python_version()}


def data_facts(answers: Answers) -> dict[str, Any]:
    """What was learned from: prompts and tokens of each use, and a hash over prompts and answers."""
    content = hashlib.sha256(digest(answers.prompts).encode())
    tokens = dict.fromkeys(Use, 0)
    for key in answers.keys:
        ids = answers.read(key, "ids")
        content.update(f"{answers.prompts[key.prompt].text}\0{key.sample}\0".encode() + ids.numpy().tobytes())
        tokens[answers.prompts[key.prompt].use] += len(ids)
    return {
        "sha256": content.hexdigest(),
        "prompts": _count(answers.prompts),
        "answered": {use.value: len({key.prompt for key in answers.of(use)}) for use in Use},
        "answers": {use.value: len(answers.of(use)) for use in Use},
        "answer_tokens": {use.value: tokens[use] for use in Use},
        "written_by_the_model": sum(prompt.category == WRITTEN for prompt in answers.prompts),
        "longest_prompt": jobs.LONGEST,
        "answer_limit": jobs.LIMIT,
        "temperature_of_samples": jobs.TEMPERATURE,
    }


def drafter_recipe() -> dict[str, Any]:
    """The choices of `core.training.drafter`."""
    return {
        "recipe": "EAGLE-1 head, KL(target‖drafter) only, AdamW, cosine rate; softmax summed over the most used "
        "tokens and a weighted sample of the others",
        "rate": drafter.RATE,
        "betas": list(drafter.BETAS),
        "weight_decay": drafter.DECAY,
        "clip": drafter.CLIP,
        "noise": drafter.NOISE,
        "late_layer_features": drafter.EARLY,
        "batch_slots": drafter.SLOTS,
        "prompt_context": CONTEXT,
    }


def drafter_table(head: DraftHead, answers: Answers) -> dict[str, Any]:
    """Top-1 and top-4 on the greedy answers to test prompts, overall and for each category."""
    ranks: dict[str, list[Any]] = {}
    for example in read_examples(answers, answers.greedy_of(Use.TEST)):
        category = answers.prompts[example.key.prompt].category
        ranks.setdefault(category, []).append(draft_ranks(head, example))
    table = {category: np.concatenate(found) for category, found in sorted(ranks.items())}
    every = np.concatenate(list(table.values())) if table else np.zeros(0, np.int64)
    by_category = {category: DrafterQuality.of(found).values() for category, found in table.items()}
    return {"overall": DrafterQuality.of(every).values(), "by_category": by_category}


def _count(prompts: Sequence[Prompt]) -> dict[str, int]:
    return {use.value: sum(prompt.use is use for prompt in prompts) for use in Use}
