"""The flags that say which token tree a run decodes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping as Card
from dataclasses import replace
from typing import Any

from app.commands import options
from core.choices import Mapping
from core.config import MOST_NODES, TreeSettings
from core.errors import UserError
from core.plain_values import from_plain

DEFAULTS = TreeSettings()
MEASURED = TreeSettings("dynamic", nodes=8, depth=4, expand=4)
"""What a bench grows where nothing is asked for or recommended."""
FLAGS = {
    "tree": "shape",
    "tree_nodes": "nodes",
    "tree_depth": "depth",
    "tree_expand": "expand",
    "ngrams": "ngrams",
}
"""Flags' names to fields of `TreeSettings`; None where a flag was not given."""


def add_tree(parser: argparse.ArgumentParser) -> None:
    """`--tree` and what belongs to it."""
    group = parser.add_argument_group("token trees")
    group.add_argument(
        "--tree",
        metavar="SPEC",
        type=_shape,
        help="draft a tree of tokens and verify it in one pass: children a level as in 4-2-2-1-1, eagle for EAGLE-1's "
        f"shape, dynamic for EAGLE-2's growth, or off (default: {DEFAULTS.shape})",
    )
    for flag, what, text, default in (
        (
            "--tree-nodes",
            "number of tree nodes",
            f"drafted nodes that dynamic growth keeps, 1 to {MOST_NODES}",
            "nodes",
        ),
        ("--tree-depth", "number of tree levels", "levels of dynamic growth", "depth"),
        ("--tree-expand", "number of expanded nodes", "nodes a level that dynamic growth expands", "expand"),
    ):
        help_text = f"{text} (default: {getattr(DEFAULTS, default)})"
        group.add_argument(flag, metavar="N", type=options.whole(what), help=help_text)
    group.add_argument(
        "--mapping",
        type=options.one_of("mapping", Mapping),
        metavar=options.braces(Mapping),
        help="how predictors judge a tree: a path by its lowest node, by the mean of its features, or every node by "
        f"itself (default: {DEFAULTS.mapping})",
    )
    group.add_argument(
        "--ngrams",
        action="store_true",
        default=None,
        help="let continuations found in the text so far join the tree",
    )


def _shape(text: str) -> str:
    return TreeSettings(text).shape


def tree_from(arguments: argparse.Namespace, base: TreeSettings = DEFAULTS) -> TreeSettings:
    """The tree that the flags of `add_tree` ask for; what was not given is that of `base`.

    Raises:
        UserError: a value is out of range.
    """
    values: dict[str, Any] = {
        field: value for flag, field in FLAGS.items() if (value := getattr(arguments, flag)) is not None
    }
    if arguments.mapping is not None:
        values["mapping"] = Mapping(arguments.mapping)
    return replace(base, **values)


def tree_for(arguments: argparse.Namespace, card: Card[str, Any]) -> TreeSettings:
    """The tree that the flags ask for, or the one that the trained parts of this card recommend, or `MEASURED`.

    Raises:
        UserError: a value is out of range.
    """
    asked = tree_from(arguments)
    return asked if arguments.tree is not None else recommended(card) or MEASURED


def recommended(card: Card[str, Any]) -> TreeSettings | None:
    """The tree in the card's entry "recommended", where there is one that can be read."""
    given = card.get("recommended")
    try:
        tree = from_plain(TreeSettings, given["tree"]) if isinstance(given, Card) and "tree" in given else None
    except (TypeError, ValueError, OverflowError, UserError):
        return None
    return tree if tree and tree.on else None
