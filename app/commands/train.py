"""`specee-viewer train`: make what SpecEE needs for a model, in stages that can be interrupted and taken up again."""

from __future__ import annotations

import argparse

from app.commands import console, options, prompt_files
from app.commands.training_lines import watched
from core.training.options import Stage, TrainOptions


def add_parser(commands: options.Commands) -> None:
    """Add `train` to the program's commands."""
    parser = commands.add_parser(
        "train",
        help="train what SpecEE needs for a model",
        description="Train a model's drafter, low-rank head, exit lens and exit predictors, measure where its tokens "
        "exit, and choose an operating point. Ctrl-C keeps what is done; --resume goes on from there.",
    )
    parser.set_defaults(action=train)
    options.add_model(parser)
    prompt_files.add_prompts(parser)
    parser.add_argument(
        "--out", metavar="DIR", type=options.folder, help="where the parts go (default: your user data folder)"
    )
    parser.add_argument(
        "--budget",
        metavar="MINUTES",
        type=options.number("budget in minutes", above=0),
        default=12.0,
        help="about how long it may take (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", metavar="N", type=options.whole("seed", 0, 2**63 - 1), default=0, help="(default: %(default)s)"
    )
    parser.add_argument("--resume", action="store_true", help="go on from what an earlier, interrupted run left")
    parser.add_argument(
        "--stage",
        type=options.one_of("stage", Stage),
        metavar=options.braces(Stage),
        default=Stage.ALL.value,
        help="run only this step, on what earlier ones left (default: %(default)s)",
    )


def train(arguments: argparse.Namespace) -> int:
    """Train and print the folder of the parts.

    Raises:
        UserError: the prompts or the model will not do.
    """
    from core.training.recipe import train as run_recipe

    wanted = TrainOptions(
        model=arguments.model,
        prompts=tuple(prompt_files.given(arguments)),
        out=arguments.out,
        budget_minutes=arguments.budget,
        seed=arguments.seed,
        resume=arguments.resume,
        stage=Stage(arguments.stage),
    )
    with console.interruptible() as cancel, watched() as report:
        folder = run_recipe(wanted, report, cancel)
    print(folder)
    return 0
