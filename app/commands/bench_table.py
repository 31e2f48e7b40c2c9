"""A bench's figures for people: the comparison, where the time goes, and the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.commands.bench_costs import OTHER, STAGES, TOTAL

Row = dict[str, Any]
NAME = 24


def table(measured: dict[str, Any]) -> str:
    """All of `bench_report.result`, as text."""
    rows = [row for row in measured["rows"] if row["tokens_per_second"] is not None]
    ours = [row for row in rows if row["stages"]]
    blocks = [
        _comparison(rows, measured["generate_dtype"]),
        _empty_rows(measured["rows"]),
        _stage_table(ours),
        _budget_table([row for row in ours if row["budget"] and row["recording"] == "off"]),
        "\n".join(
            [
                _run_line(measured["run"]),
                _floor_line(measured),
                same_line(measured["float32_tokens"]),
                _machine_line(measured["machine"]),
            ]
        ),
    ]
    return "\n\n".join(block for block in blocks if block)


def _comparison(rows: Sequence[Row], generate_dtype: str | None) -> str:
    head = (
        f"{'':<{NAME}}{'dtype':<10}{'K/V':<11}{'recording':<10}{'tokens/s':>9}  {'quartiles':<13}{'generate':>9}"
        f"{'dense':>8}{'exit layer':>12}{'τ':>6}{'agreement':>11}"
    )
    lines = [
        f"Ratios are to generate in {generate_dtype or 'no format'}, its faster one, and to dense in the row's own.",
        head,
    ]
    return "\n".join(lines + [_comparison_row(row) for row in rows])


def _comparison_row(row: Row) -> str:
    quartiles = row["tokens_per_second_quartiles"]
    spread = f"{quartiles[0]:.1f}–{quartiles[1]:.1f}" if quartiles else "–"
    return (
        f"{row['name']:<{NAME}}{row['dtype']:<10}{row['kv_policy'] or '–':<11}{row['recording']:<10}"
        f"{_figure(row['tokens_per_second'], '.1f'):>9}  {spread:<13}{_times(row['ratio_to_generate']):>9}"
        f"{_times(row['ratio_to_dense']):>8}{_figure(row['mean_exit_layer'], '.2f'):>12}"
        f"{_figure(row['acceptance_length'], '.2f'):>6}{_figure(row['agreement'], '.1%'):>11}"
    )


def _empty_rows(rows: Sequence[Row]) -> str:
    """Each reason once, with the rows that it keeps empty."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            names = reasons.setdefault(row["note"], [])
            name = f"{row['name']} in {row['dtype']}"
            names += [name] if name not in names else []
    return "\n".join(f"Not measured: {', '.join(names)}. {reason}" for reason, names in reasons.items())


def _stage_table(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    stages = (*STAGES, OTHER, TOTAL)
    lines = ["Where a token's time goes, in ms:", _who() + "".join(f"{name:>{len(name) + 2}}" for name in stages)]
    for row in rows:
        lines.append(_who(row) + "".join(f"{1000 * row['stages'][name]:>{len(name) + 2}.2f}" for name in stages))
    return "\n".join(lines)


def _budget_table(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    columns = ("layers", "head", "draft", "predictor", "total", "measured")
    lines = [
        "The budget of a token in layer-times, beside what it took without recording; × is dense's over its own:",
        _who() + "".join(f"{name:>10}" for name in (*columns, "budget ×", "measured ×")),
    ]
    for row in rows:
        cells = "".join(f"{row['budget'][name]:>10.2f}" for name in columns)
        ratios = f"{_times(row['budget']['ratio_to_dense']):>10}{_times(row['ratio_to_dense']):>10}"
        lines.append(_who(row) + cells + ratios)
    return "\n".join(lines)


def _who(row: Row | None = None) -> str:
    if row is None:
        return f"{'':<{NAME}}{'dtype':<10}{'recording':<10}"
    return f"{row['name']:<{NAME}}{row['dtype']:<10}{row['recording']:<10}"


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _run_line(run: dict[str, Any]) -> str:
    chosen = f", chosen by a pilot to fit {run['minutes']:g} minutes" if run["minutes"] is not None else ""
    slow = f" Slow ones took part in every {run['slow_every']}rd round." if run["slow_every"] else ""
    return (
        f"{run['rounds']} rounds over {run['prompts']} prompts, answers of up to {run['tokens']} tokens{chosen}; "
        f"{run['seconds']:.0f} s. Medians over answers, taken in turns in one process.{slow}"
    )


def _floor_line(measured: dict[str, Any]) -> str:
    floors = ", ".join(f"{speed:.0f} in {dtype}" for dtype, speed in measured["floors_by_dtype"].items())
    return (
        f"Reading a token's weights at the {measured['memory_bytes_per_second'] / 1e9:.1f} GB/s that this machine's "
        f"memory gives allows this many tokens/s: {floors or '–'}."
    )


def same_line(same: dict[str, Any] | None) -> str:
    """Whether dense and generate agree, for people."""
    if same is None:
        return "Whether dense emits generate's tokens was not checked: that needs both in float32."
    if same["same"]:
        return f"In float32, dense emits generate's tokens: all {same['tokens']} of {same['answers']} answers."
    return f"In float32, dense and generate DIFFER, first at token {same['first_difference'] + 1} of an answer."


def _machine_line(on: dict[str, Any]) -> str:
    load = "" if on["load"] is None else f", load {on['load']:.1f}"
    return (
        f"{on['processor']}, {on['threads']} threads on {on['device']}{load}, torch {on['torch']}, "
        f"transformers {on['transformers']}."
    )
