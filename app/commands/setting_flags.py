"""The flags that become a run's settings, for every command that runs some."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any

from app.commands import fitting, options
from core.config import KVPolicy, Policy, RunSettings, policy_from_text

DEFAULTS = RunSettings()
POLICIES = ("dense", "specee-t1", "specee-t1t2", "adainfer-svm", "adainfer-crf", "fixed:N", "oracle", "calm")


def add_settings(parser: argparse.ArgumentParser, *, max_new_tokens: int = DEFAULTS.max_new_tokens) -> None:
    """Every setting of a run but what is recorded of it."""
    add_policy(parser)
    add_threshold(parser)
    _add_scheduler(parser)
    parser.add_argument(
        "--kv-policy",
        type=options.one_of("KV policy", KVPolicy),
        metavar=options.braces(KVPolicy),
        default=DEFAULTS.kv_policy.value,
        help="what happens to the K/V of skipped layers: computed later (exact), filled from the state that the token "
        "left with, or left out (default: %(default)s)",
    )
    _add_sampling(parser)
    parser.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=options.whole("number of new tokens"),
        default=max_new_tokens,
        help="stop after this many (default: %(default)s)",
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


def add_policy(parser: argparse.ArgumentParser) -> None:
    """`--policy`."""
    parser.add_argument(
        "--policy",
        type=policy_from_text,
        metavar="NAME",
        help=f"which rule may end a token early: {', '.join(POLICIES)}, or FILE.py:Class for one of your own, which is "
        f"code and will be run (default: {DEFAULTS.policy}, or dense where nothing is trained)",
    )


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """`--threshold`."""
    parser.add_argument(
        "--threshold",
        type=options.number("threshold"),
        metavar="P",
        default=DEFAULTS.threshold,
        help="SpecEE proposes an exit where the predictor's score is above this, and CALM leaves where the likeliest "
        "token's probability is (default: %(default)s)",
    )


def _add_scheduler(parser: argparse.ArgumentParser) -> None:
    def number_of(flag: str, what: str, default: int, text: str) -> None:
        # None marks a flag that was not given: only then may a default shrink to fit a shallow model.
        parser.add_argument(flag, metavar="N", type=options.whole(what), help=f"{text} (default: {default})")

    scheduler = DEFAULTS.scheduler
    number_of("--window", "window N", scheduler.window, "N, how many past exits the scheduler remembers")
    number_of("--radius", "radius r", scheduler.radius, "r, how many layers around a past exit become active")
    number_of(
        "--offline-layers", "number of offline layers M", scheduler.offline_layers, "M, layers that are always active"
    )
    parser.add_argument("--distinct", action="store_true", help="count equal exits among the past ones once")


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    sampling = DEFAULTS.sampling
    parser.add_argument(
        "--temperature",
        type=options.number("temperature"),
        metavar="T",
        default=sampling.temperature,
        help="0 always takes the likeliest token (default: %(default)s)",
    )
    parser.add_argument(
        "--top-p",
        type=options.number("top-p"),
        metavar="P",
        default=sampling.top_p,
        help="draw only among the likeliest tokens that together reach this probability (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=options.whole("seed"),
        metavar="N",
        default=sampling.seed,
        help="the same seed draws the same tokens (default: %(default)s)",
    )


def settings_from(arguments: argparse.Namespace) -> RunSettings:
    """The settings that the flags of `add_settings` ask for.

    Raises:
        UserError: a value is out of range, or two do not go together.
    """
    scheduler = _given(arguments, ("window", "radius", "offline_layers"))
    sampling = {name: getattr(arguments, name) for name in ("temperature", "top_p", "seed")}
    return RunSettings(
        **(arguments.policy or {"policy": DEFAULTS.policy}),
        threshold=arguments.threshold,
        scheduler=dataclasses.replace(DEFAULTS.scheduler, distinct=arguments.distinct, **scheduler),
        kv_policy=KVPolicy(arguments.kv_policy),
        max_new_tokens=arguments.max_new_tokens,
        chat_template=not arguments.no_chat_template,
        sampling=dataclasses.replace(DEFAULTS.sampling, **sampling),
        stop=tuple(arguments.stop or ()),
    )


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def fit_model(
    settings: RunSettings, arguments: argparse.Namespace, *, depth: int, has_parts: bool
) -> tuple[RunSettings, bool]:
    """Let defaults fit the model: M and r shrink to a shallow one, and without trained parts the policy is dense.

    What was given must fit as it is.

    Returns:
        The settings, and whether the policy became dense.

    Raises:
        UserError: what was given does not fit.
    """
    not_given = [name for name in fitting.DEPTH_BOUND if getattr(arguments, name) is None]
    fitted = fitting.shrink(settings, depth, not_given)
    fitted.check_against(depth)
    runs_dense = arguments.policy is None and not has_parts
    return (dataclasses.replace(fitted, policy=Policy.DENSE) if runs_dense else fitted), runs_dense
