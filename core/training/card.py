"""What trained parts say of themselves: how they were made, and what they are worth on unseen prompts."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from core.choices import Lens
from core.drafting.head import DraftHead
from core.training import drafter, drafter_steps, jobs, predictors
from core.training.data import Answers
from core.training.drafter_steps import Recipe
from core.training.examples import CONTEXT, read_examples
from core.training.options import TrainOptions
from core.training.prompts import WRITTEN, Prompt, Use, digest
from core.training.quality import DrafterQuality, draft_ranks
from core.training.texts import text_hash
from core.version import version

Facts = Mapping[str, Any]


def make_card(options: TrainOptions, answers: Answers, head: DraftHead, facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Plain JSON values for `TrainedParts.card`; `facts` are what each stage has written down, by its name."""
    predictors, tuned = dict(facts["predictors"]), facts["tune"]
    plain = predictors[Lens.IDENTITY.value]
    card = {
        "seed": options.seed,
        "budget_minutes": options.budget_minutes,
        "versions": versions(),
        "data": data_facts(answers),
        "drafter": {**drafter_recipe(), **facts["drafter"], "quality": drafter_table(head, answers)},
        "head": dict(facts["head"]),
        "lens": dict(facts["lens"]),
        "predictors": predictors_card(predictors),
        "profile": {name: value for name, value in facts["profile"].items() if name not in ("layers", "done")},
        "frontier": [point for about in predictors.values() for point in about["frontier"]],
        "recommended_threshold": plain["recommended_threshold"],
        "tune": {name: value for name, value in tuned.items() if name != "recommended"},
        "adainfer": dict(facts["adainfer"]),
    }
    if tuned.get("recommended"):
        card["recommended"] = tuned["recommended"]
    return {name: value for name, value in card.items() if value not in ({}, None)}


def predictors_card(facts: Facts) -> dict[str, Any]:
    """The predictors' entry: those of the paper's way, and under "tuned" what differs with the lens."""
    plain = facts[Lens.IDENTITY.value]
    about = {
        "recipe": f"MLP 12→{predictors.HIDDEN}→1 a layer, BCE, Adam; differences over gaps drawn from simulated "
        "schedules; learned from prompts kept from the drafter; a temperature a layer, found on tune prompts",
        "rate": predictors.RATE,
        "batch": predictors.BATCH,
        "epochs_at_most": predictors.EPOCHS,
        **{name: value for name, value in plain.items() if name not in ("frontier", "recommended_threshold")},
    }
    return about | ({Lens.TUNED.value: facts[Lens.TUNED.value]} if Lens.TUNED.value in facts else {})


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
        "learned_from": sorted(text_hash(one.text) for one in answers.prompts if one.use is not Use.TEST),
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
        "recipe": "EAGLE head that sees lower layers too and learns from its own outputs, KL(target‖drafter) only, "
        "AdamW, cosine rate; softmax summed over the most used tokens and a weighted sample of the others",
        **dataclasses.asdict(Recipe()),
        "rate": drafter_steps.RATE,
        "betas": list(drafter_steps.BETAS),
        "weight_decay": drafter_steps.DECAY,
        "clip": drafter_steps.CLIP,
        "noise": drafter_steps.NOISE,
        "late_layer_features": drafter_steps.EARLY,
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
