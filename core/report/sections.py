"""The parts of a report on one run, each as HTML."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable

import numpy as np

from core.analysis import costs, ledger, summaries
from core.analysis.breakpoints import INTERESTING
from core.analysis.compare import figures_of
from core.analysis.conditions import Refused, WrongExit
from core.analysis.frontier import advice, live_point
from core.analysis.summaries import Outcome
from core.analysis.texts import quoted
from core.analysis.why import why
from core.choices import Policy
from core.errors import UserError
from core.report import measure_figures, token_figures
from core.report.escaping import escaped, escaped_lines
from core.report.exit_colours import ExitPalette
from core.report.inks import BY_STYLE, Inks
from core.report.markup import card, figure, paragraph, table
from core.report.run_figures import MARKS, MEANINGS
from core.report.views import VIEWS, Subject
from core.trace.marks import Mark

MOST_TOKENS = 5000
"""Tokens of a run whose text is shown."""
MOST_TOLD = 8
"""Tokens that are explained in words."""
ROLES = {Outcome.REFUSED: "refused", Outcome.WRONG_EXIT: "wrong"}


def figures(subject: Subject) -> str:
    """What the run comes to."""
    found = figures_of(subject.trace)
    shown = (
        ("tokens", f"{found.tokens}"),
        ("mean exit layer", _number(found.mean_exit_layer, f" of {subject.trace.depth}")),
        ("left early", _share(found.early)),
        ("agreement with full depth", _share(found.agreement)),
        ("refusals a token", _number(found.refusals)),
        ("active layers", _number(found.active_layers_mean)),
        ("tokens a pass", _number(found.acceptance_length)),
        ("tokens a second", _number(found.tokens_per_second)),
    )
    pairs = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>\n" for name, value in shown)
    return f'<section class="card"><dl class="figures">\n{pairs}</dl></section>\n'


def _number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:.2f}{unit}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def prompt(subject: Subject) -> str:
    """What the model was asked."""
    asked = subject.trace.started.prompt if subject.trace.started else ""
    return card("Prompt", f'<pre dir="auto">{escaped_lines(asked)}</pre>\n')


def text(subject: Subject, inks: Inks) -> str:
    """Every token over a line in the colour of its exit layer, with its mark."""
    chips = summaries.token_chips(subject.trace)
    count = min(len(chips.texts), MOST_TOKENS)
    special, seen = subject.trace.overview.special, subject.trace.overview.texts
    spans = "".join(_token(chips, at, seen[at], bool(special[at]), inks) for at in range(count))
    rest = len(chips.texts) - count
    cut = f'<p class="muted">{rest} more tokens are not shown.</p>\n' if rest else ""
    return card("Text, by exit layer", _legend(chips, inks), f'<p class="tokens" dir="auto">{spans}</p>\n', cut)


def _token(chips: summaries.TokenChips, at: int, token_bytes: bytes, special: bool, inks: Inks) -> str:
    outcome, layer = Outcome(int(chips.outcomes[at])), int(chips.exit_layers[at])
    kept = (
        token_bytes.decode("utf-8", errors="replace") if token_bytes.isspace() else quoted(token_bytes, special)[1:-1]
    )
    shown = escaped_lines(kept) if token_bytes.isspace() else escaped(kept)
    mark, early = MARKS.get(outcome, ""), layer < chips.depth
    role = " ".join(filter(None, [ROLES.get(outcome, ""), "special" if special else ""]))
    told = f"token {chips.first + at + 1}: exit layer {layer} of {chips.depth}"
    told += f", {MEANINGS[outcome]}" if outcome in MEANINGS else ", early exit"
    note = f"<small>{layer if early else ''}{'' if outcome is Outcome.FULL_DEPTH else mark}</small>"
    colour = inks.exit_colour(layer, chips.depth)
    return f'<bdi class="{role}" style="border-color:{colour}" title="{told}">{shown}{note}</bdi>'


def _legend(chips: summaries.TokenChips, inks: Inks) -> str:
    steps = np.linspace(1, chips.depth, min(chips.depth, 12)).round().astype(int).tolist()
    scale = "".join(f'<i style="background:{inks.exit_colour(layer, chips.depth)}"></i>' for layer in steps)
    marks = " · ".join(
        f"{MARKS[kind]} {MEANINGS[kind]}" for kind in MARKS if kind in chips.outcomes and kind is not Outcome.FULL_DEPTH
    )
    words = f"line below a token: layers run, 1 {scale} {chips.depth} · small number: exit layer where it left early"
    return f'<p class="muted scale">{words}{" · " if marks else ""}{marks}</p>\n'


def plots(subject: Subject, inks: Inks) -> str:
    """Exit layers and scheduler map."""
    parts = [("exits", "Exit layers")]
    started = subject.trace.started
    if started and started.settings.policy is not Policy.DENSE:
        parts.append(("scheduler", "Scheduler"))
    return "".join(card(title, _drawn(subject, name, inks)) for name, title in parts)


def _drawn(subject: Subject, name: str, inks: Inks) -> str:
    picture = VIEWS[name].picture
    assert picture is not None, "only views with pictures are drawn"
    return figure(picture(subject, inks))


def measures(subject: Subject) -> str:
    """Ledger, frontier and costs, or why there are none."""
    parts = (("Outcome ledger", _ledger), ("Frontier", _frontier), ("Costs", _costs))
    return "".join(card(title, _told(part, subject)) for title, part in parts)


def _told(part: Callable[[Subject], str], subject: Subject) -> str:
    try:
        return part(subject)
    except UserError as error:
        return f'<p class="muted">{escaped(str(error))}</p>\n'


def _ledger(subject: Subject) -> str:
    found = subject.ledger()
    rows = [(row.label, ledger.MEANINGS[row.entry], row.count, row.saved, row.lost) for row in found.rows]
    head = ("class", "meaning", "tokens", "layers saved", "layers lost")
    refused, gated = int(found.refusals.sum()), int(found.gated.sum())
    told = f"Beside these classes, <b>{refused}</b> proposed exits were refused, <b>{gated}</b> of them by the gate."
    drawn = figure(measure_figures.ledger_figure(found, BY_STYLE))
    return drawn + table(head, rows, numbers=(2, 3, 4)) + paragraph(ledger.blame(found)) + paragraph(told)


def _frontier(subject: Subject) -> str:
    found, started = subject.frontier, subject.trace.started
    assert started is not None, "a run with tokens has begun"
    drawn = figure(measure_figures.frontier_figure(found, live_point(subject.trace), BY_STYLE))
    head = ("threshold", "mean exit layer", "agreement", "left early", "checks a token", "exact tokens")
    rows = [
        (
            f"{point.threshold:g}",
            f"{point.mean_exit_layer:.2f}",
            *(_share(point.agreement), _share(point.early), f"{point.verifications:.2f}", point.exact_tokens),
        )
        for point in found.points
    ]
    return drawn + paragraph(advice(found, started.settings.threshold)) + table(head, rows, numbers=range(6))


def _costs(subject: Subject) -> str:
    found = costs.costs(subject.trace)
    drawn = figure(measure_figures.cost_figure(found, BY_STYLE), "Milliseconds of all tokens after the first.")
    return drawn + paragraph(costs.verdict(found))


def explanations(subject: Subject) -> str:
    """Why some telling tokens left where they did: wrong exits, refusals, the earliest exits."""
    parts = [_explained(dataclasses.replace(subject, token=token)) for token in telling_tokens(subject)]
    return card("Why: some telling tokens", *parts)


def telling_tokens(subject: Subject) -> list[int]:
    """Tokens worth explaining, in their order: some of each kind, and the earliest exits where there is room."""
    trace = subject.trace
    count = trace.emitted_count
    kinds: Iterable[np.ndarray] = (
        *(np.flatnonzero(one.found(trace, 0, count)) for one in (WrongExit(), Refused(), INTERESTING)),
        np.argsort(trace.exit_layers, kind="stable"),
    )
    chosen: list[int] = []
    for found, most in zip(kinds, (2, 5, 6, MOST_TOLD), strict=True):
        new = [token for token in found.tolist() if token not in chosen]
        chosen += new[: max(0, most - len(chosen))]
    return sorted(chosen)


def _explained(subject: Subject) -> str:
    token = subject.token or 0
    trace, seen = subject.trace, subject.trace.overview
    name = escaped(quoted(seen.texts[token], bool(seen.special[token])))
    parts = [f"<h4>Token {token + 1} {name}</h4>\n", paragraph(why(trace, token, None))]
    record = trace.records[token]
    checked = [layer for layer, check in record.checks.items() if not check.accepted]
    parts += [paragraph(why(trace, token, layer)) for layer in checked[:2]]
    if record.draft or record.tree:
        parts.append(figure(token_figures.candidate_figure(subject.curves(), BY_STYLE)))
    if record.tree:
        parts.append(figure(token_figures.tree_figure(subject.tree(), BY_STYLE)))
    return "".join(parts)


def notes(marks: list[Mark]) -> str:
    """Bookmarks and notes of the run; "" where there are none."""
    if not marks:
        return ""
    rows = [
        (*("" if at is None else at + 1 for at in (mark.token, mark.layer)), mark.note or "(no note)") for mark in marks
    ]
    return card("Bookmarks and notes", table(("token", "layer", "note"), rows, numbers=(0, 1)))


def settings(subject: Subject) -> str:
    """Settings, model and versions: what it takes to do it again."""
    started = subject.trace.started
    assert started is not None, "a run with tokens has begun"
    model = {f"model {name}": value for name, value in dataclasses.asdict(started.model).items()}
    rows = [
        (name.replace("_", " "), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in {**dataclasses.asdict(started.settings), **model, **started.versions}.items()
    ]
    return card("Settings, model and versions", table(("name", "value"), rows))


def run_body(subject: Subject, marks: list[Mark], exits: ExitPalette) -> Iterable[str]:
    """Everything about one run, part by part."""
    inks = dataclasses.replace(BY_STYLE, exits=exits)
    yield figures(subject)
    yield prompt(subject)
    yield text(subject, inks)
    yield plots(subject, inks)
    yield measures(subject)
    yield explanations(subject)
    yield notes(marks)
    yield settings(subject)
