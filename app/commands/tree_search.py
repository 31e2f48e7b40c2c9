"""`specee-viewer bench --search-trees`: which token tree decodes fastest on this machine."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.commands import console, setting_flags
from core.choices import Head
from core.config import TreeSettings

if TYPE_CHECKING:
    import threading

    from app.commands.opening import Opened
    from core.analysis.tree_shapes import Costs, Shape
    from core.progress import Report

    Open = Callable[[argparse.Namespace, str | None, Report, threading.Event], Opened]

TOKENS = 48
"""Of each answer that trees are recorded over."""
SHOWN = 12
"""Shapes in the table, beside no tree."""


def search_trees(arguments: argparse.Namespace, prompts: Sequence[str], open_model: Open) -> int:
    """Record, time, compare and print; returns 0.

    Raises:
        UserError: the model or its parts cannot be had, or the prompts will not do.
        Cancelled: Ctrl-C; nothing is printed.
    """
    with console.interruptible() as cancel, console.progress() as report:
        opened = open_model(arguments, arguments.dtype, report, cancel)
        from core.engine import Engine
        from core.training import tree_search

        head = _head(arguments, opened.parts.card if opened.parts else {})
        engine, tokens = Engine(opened.model, opened.parts), arguments.max_new_tokens or TOKENS
        found, costs = tree_search.search(engine, prompts, head, tokens, report, cancel)
    result = report_of(found, costs, head, opened.model.info.dtype)
    print(json.dumps(result) if arguments.json else table(result))
    return 0


def _head(arguments: argparse.Namespace, card: Mapping[str, Any]) -> Head:
    """The LM head of the drafter: the one asked for, or the one that is recommended."""
    settings = dataclasses.replace(setting_flags.point_from(arguments), tree=TreeSettings("1"))
    return setting_flags.fill_in(settings, arguments, card).draft_head


def report_of(found: Sequence[Shape], costs: Costs, head: Head, dtype: str) -> dict[str, Any]:
    """What `--json` prints; the fastest shape first, seconds everywhere."""
    alone = next(shape for shape in found if not shape.tree.on)
    return {
        "dtype": dtype,
        "draft_head": head.value,
        "choice": dataclasses.asdict(found[0].tree),
        "ratio_to_no_tree": found[0].tokens_per_second / alone.tokens_per_second,
        "shapes": [_row(shape, alone) for shape in found],
        "target_seconds": costs.target,
        "draft_seconds": costs.draft,
        "head_seconds": costs.head,
    }


def _row(shape: Shape, alone: Shape) -> dict[str, Any]:
    return {
        "tree": dataclasses.asdict(shape.tree),
        "nodes": shape.nodes,
        "acceptance_length": shape.acceptance_length,
        "seconds": shape.seconds,
        "tokens_per_second": shape.tokens_per_second,
        "ratio_to_no_tree": shape.tokens_per_second / alone.tokens_per_second,
    }


def flags_of(tree: dict[str, Any]) -> str:
    """The flags that ask `run` for this tree."""
    if tree["shape"] != "dynamic":
        return f"--tree {tree['shape']}"
    return f"--tree dynamic --tree-nodes {tree['nodes']} --tree-depth {tree['depth']} --tree-expand {tree['expand']}"


def table(result: dict[str, Any]) -> str:
    """The same for people: the fastest shapes, no tree, and what passes cost."""
    rows = result["shapes"]
    shown = rows[:SHOWN] + [row for row in rows[SHOWN:] if row["tree"]["shape"] == "off"]
    lines = [
        f"Trees by what they should give in {result['dtype']}, drafted through the {result['draft_head']} head:",
        f"{'':<70}{'nodes':>6}{'τ':>7}{'pass, ms':>10}{'tokens/s':>10}{'no tree':>9}",
    ]
    lines += [
        f"{flags_of(row['tree']):<70}{row['nodes']:>6}{row['acceptance_length']:>7.2f}{1000 * row['seconds']:>10.2f}"
        f"{row['tokens_per_second']:>10.1f}{row['ratio_to_no_tree']:>8.2f}×"
        for row in shown
    ]
    return "\n".join([*lines, "", *_costs(result), "", f"Fastest: {flags_of(result['choice'])}"])


def _costs(result: dict[str, Any]) -> list[str]:
    return [
        "A pass in ms, by rows. Target: " + _by_rows(result["target_seconds"]),
        f"Drafter: {_by_rows(result['draft_seconds'])}. One node's check: {1000 * result['head_seconds']:.2f}.",
    ]


def _by_rows(seconds: dict[int, float]) -> str:
    return ", ".join(f"{rows}: {1000 * value:.2f}" for rows, value in seconds.items())
