"""`specee-viewer parts`: trained parts made of what others have published."""

from __future__ import annotations

import argparse

from app.commands import console, options


def add_parser(commands: options.Commands) -> None:
    """Add `parts` and its own commands to the program's."""
    parser = commands.add_parser("parts", help="use published draft heads and predictors", description=_ABOUT)
    actions = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    importing = actions.add_parser("import", help="make trained parts of published files", description=_IMPORT)
    importing.set_defaults(action=import_)
    options.add_model(importing)
    importing.add_argument(
        "--drafter", metavar="PATH", type=options.path, help="an EAGLE-1 head: model.safetensors or its folder"
    )
    importing.add_argument(
        "--predictors",
        metavar="FILE",
        nargs="+",
        type=options.path,
        default=(),
        help="SpecEE's released predictors, one file a layer, named by the layer's index as in model15.pth",
    )
    importing.add_argument(
        "--base", metavar="DIR", type=options.path, help="trained parts to take the other pieces from"
    )
    importing.add_argument("--out", metavar="DIR", type=options.folder, required=True, help="where the parts go")


_ABOUT = "Draft heads and predictors that others have published."
_IMPORT = (
    "Make a folder of trained parts from an EAGLE-1 draft head and SpecEE's released predictors. Nothing in the files "
    "is run: anything but numbers is refused. Layers without a predictor never propose an exit."
)


def import_(arguments: argparse.Namespace) -> int:
    """Write the parts and print their folder.

    Raises:
        UserError: a file is refused or does not fit the model, or nothing can be written.
    """
    from core.choices import DType
    from core.exits.importing import import_parts
    from core.exits.parts_writing import save_parts
    from core.model.loading import load_model
    from core.model.store import ModelStore

    with console.interruptible() as cancel, console.progress() as report:
        folder = ModelStore().resolve(arguments.model, report, cancel)
        model = load_model(folder, dtype=DType.FLOAT32, report=report, cancel=cancel)
    parts = import_parts(model, drafter=arguments.drafter, predictors=tuple(arguments.predictors), base=arguments.base)
    save_parts(arguments.out, parts)
    print(arguments.out)
    return 0
