"""The flags that become a run's settings, for every command that runs some."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from app.commands import fitting, options, tree_flags
from app.form_values import FOLLOW_MODEL
from app.profiles import PAPER, recommended
from core.choices import Head, KVPolicy, Lens, Policy
from core.config import RunSettings, policy_from_text

DEFAULTS = RunSettings()
PROFILES = (FOLLOW_MODEL, PAPER)
POLICIES = ("dense", "specee-t1", "specee-t1t2", "adainfer-svm", "adainfer-crf", "fixed:N", "oracle", "calm")


def add_settings(parser: argparse.ArgumentParser, *, max_new_tokens: int = DEFAULTS.max_new_tokens) -> None:
    """Every setting of a run but what is recorded of it. None marks a flag that was not given."""
    add_policy(parser)
    add_point(parser)
    _add_scheduler(parser)
    parser.add_argument(
        "--kv-policy",
        type=options.one_of("KV policy", KVPolicy),
        metavar=options.braces(KVPolicy),
        help="what happens to the K/V of skipped layers: computed later (exact), filled from the state that the token "
        f"left with, or left out (default: {DEFAULTS.kv_policy})",
    )
    _add_sampling(parser)
    parser.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=options.whole("number of new tokens"),
        help=f"stop after this many (default: {max_new_tokens})",
    )
    parser.add_argument(
        "--stop",
        metavar="TEXT",
        action="append",
        type=options.text_of("stop string"),
        help="end the text once it holds this; may be given several times",
    )
    parser.add_argument(
        "--no-chat-template", action="store_true", help="feed the prompt as it is, without the model's chat format"
    )
    tree_flags.add_tree(parser)


def add_policy(parser: argparse.ArgumentParser) -> None:
    """`--policy`."""
    parser.add_argument(
        "--policy",
        type=policy_from_text,
        metavar="NAME",
        help=f"which rule may end a token early: {', '.join(POLICIES)}, or FILE.py:Class for one of your own, which is "
        f"code and will be run (default: {DEFAULTS.policy}, or dense where nothing is trained)",
    )


def add_point(parser: argparse.ArgumentParser) -> None:
    """`--profile`, and what it stands for but the scheduler: threshold, lens, gate and heads.

    None marks a flag that was not given, and may be the profile's.
    """
    parser.add_argument(
        "--profile",
        type=options.one_of("profile", PROFILES),
        metavar=options.braces(PROFILES),
        default=FOLLOW_MODEL,
        help="where SpecEE's settings come from that are not given: what the trained parts recommend, or the paper's "
        f"values, threshold {DEFAULTS.threshold:g}, no lens, no gate, full heads (default: %(default)s)",
    )
    parser.add_argument(
        "--threshold",
        type=options.number("threshold"),
        metavar="P",
        help="SpecEE proposes an exit where the predictor's score is above this, and CALM leaves where the likeliest "
        f"token's probability is (default: the profile's, {DEFAULTS.threshold:g} for CALM)",
    )
    parser.add_argument(
        "--lens",
        type=options.one_of("lens", Lens),
        metavar=options.braces(Lens),
        help="how the head sees a layer's state: as it is, or through a correction trained for the layer "
        "(default: the profile's)",
    )
    parser.add_argument(
        "--gate",
        type=options.number("margin gate"),
        metavar="P",
        help="refuse exits whose token leads the next best by less than this probability; 0 refuses none "
        "(default: the profile's)",
    )
    _add_heads(parser)


def _add_heads(parser: argparse.ArgumentParser) -> None:
    exact, drafting = "the full LM head, or exact logits on the low-rank head's best 64", "full, low-rank or trimmed"
    for flag, what, heads, text in (
        ("--check", "check", (Head.FULL, Head.SLIM), f"what checks an exit: {exact}"),
        ("--draft-head", "draft head", tuple(Head), f"the LM head that the drafter proposes through: {drafting}"),
    ):
        parser.add_argument(
            flag,
            type=options.one_of(what, heads),
            metavar=options.braces(heads),
            help=f"{text} (default: the profile's)",
        )


def _add_scheduler(parser: argparse.ArgumentParser) -> None:
    def number_of(flag: str, what: str, default: int, text: str) -> None:
        # None marks a flag that was not given: only then may a default shrink to fit a shallow model.
        told = f"{text} (default: the profile's; the paper's is {default})"
        parser.add_argument(flag, metavar="N", type=options.whole(what), help=told)

    scheduler = DEFAULTS.scheduler
    number_of("--window", "window N", scheduler.window, "N, how many past exits the scheduler remembers")
    number_of("--radius", "radius r", scheduler.radius, "r, how many layers around a past exit become active")
    number_of(
        "--offline-layers", "number of offline layers M", scheduler.offline_layers, "M, layers that are always active"
    )
    parser.add_argument(
        "--distinct", action="store_true", default=None, help="count equal exits among the past ones once"
    )


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    sampling = DEFAULTS.sampling
    parser.add_argument(
        "--temperature",
        type=options.number("temperature"),
        metavar="T",
        help=f"0 always takes the likeliest token (default: {sampling.temperature:g})",
    )
    parser.add_argument(
        "--top-p",
        type=options.number("top-p"),
        metavar="P",
        help=f"draw only among the likeliest tokens that together reach this probability (default: {sampling.top_p:g})",
    )
    parser.add_argument(
        "--seed",
        type=options.whole("seed"),
        metavar="N",
        help=f"the same seed draws the same tokens (default: {sampling.seed})",
    )


def settings_from(arguments: argparse.Namespace, base: RunSettings = DEFAULTS) -> RunSettings:
    """The settings that the flags of `add_settings` ask for; what was not given is that of `base`, the paper's.

    Raises:
        UserError: a value is out of range, or two do not go together.
    """
    given = _given(arguments, ("max_new_tokens",)) | (arguments.policy or {})
    if arguments.kv_policy is not None:
        given["kv_policy"] = KVPolicy(arguments.kv_policy)
    if arguments.stop is not None:
        given["stop"] = tuple(arguments.stop)
    return dataclasses.replace(
        point_from(arguments, base),
        **given,
        scheduler=dataclasses.replace(base.scheduler, **_given(arguments, SCHEDULER)),
        chat_template=base.chat_template and not arguments.no_chat_template,
        sampling=dataclasses.replace(base.sampling, **_given(arguments, SAMPLING)),
        tree=tree_flags.tree_from(arguments, base.tree),
    )


def point_from(arguments: argparse.Namespace, base: RunSettings = DEFAULTS) -> RunSettings:
    """The settings that the flags of `add_point` ask for; everything else is that of `base`.

    Raises:
        UserError: a value is out of range.
    """
    given = {name: _READ[name](value) for name, value in _given(arguments, tuple(_READ)).items()}
    if "threshold" in given:
        given["layer_thresholds"] = ()
    return dataclasses.replace(base, **given)


_READ: dict[str, Any] = {"threshold": float, "lens": Lens, "gate": float, "check": Head, "draft_head": Head}
SAMPLING = ("temperature", "top_p", "seed")
SCHEDULER = ("window", "radius", "offline_layers", "distinct")


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


def fill_in(settings: RunSettings, arguments: argparse.Namespace, card: Mapping[str, Any]) -> RunSettings:
    """The settings with what the trained parts of this card recommend wherever no flag was given.

    The paper's values stay with the profile "paper", where nothing is recommended, and but for a tree's head for
    policies without predictors, for which the recommendation was not made.
    """
    point = recommended(card)
    if arguments.profile == PAPER or point is None:
        return settings
    given = set(_given(arguments, tuple(_READ)))
    if not settings.policy.needs_parts:
        # Trees are drafted without predictors, too.
        drafts = settings.tree.on and "draft_head" not in given
        return dataclasses.replace(settings, draft_head=point.draft_head) if drafts else settings
    own = {name: value for name, value in point.values().items() if name not in given}
    own["scheduler"] = dataclasses.replace(point.scheduler, **_given(arguments, SCHEDULER))
    if "threshold" in given:
        own["layer_thresholds"] = ()
    if settings.sampling.temperature > 0 and "check" not in given:
        own["check"] = Head.FULL  # a shortlist is for greedy decoding
    return dataclasses.replace(settings, **own)


def fit_model(
    settings: RunSettings,
    arguments: argparse.Namespace,
    *,
    depth: int,
    has_parts: bool,
    card: Mapping[str, Any],
) -> tuple[RunSettings, bool]:
    """Let defaults fit the model and its trained parts, whose card this is.

    What the parts recommend takes the place of the paper's values, M and r shrink to a shallow model, and without
    trained parts the policy is dense. What was given must fit as it is.

    Returns:
        The settings, and whether the policy became dense.

    Raises:
        UserError: what was given does not fit.
    """
    not_given = [name for name in fitting.DEPTH_BOUND if getattr(arguments, name) is None]
    fitted = fitting.shrink(fill_in(settings, arguments, card), depth, not_given)
    fitted.check_against(depth)
    runs_dense = arguments.policy is None and not has_parts
    return (dataclasses.replace(fitted, policy=Policy.DENSE) if runs_dense else fitted), runs_dense
