"""The model card of trained parts: how they were made, what they are worth on unseen prompts, and where they are not to
be trusted; Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.commands.figure_words import CURVE, shown
from core.errors import UserError

if TYPE_CHECKING:
    from app.commands.opening import Opened
    from core.analysis.evaluation import Figures
    from core.config import RunSettings


def check_place(path: Path) -> None:
    """Refuse before the work what could not be written after it.

    Raises:
        UserError: a folder lies there, or nothing can be written where the file would lie.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; add a file's name.")
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise UserError(f"{path} cannot be written: {there} is no folder that takes files; choose another place.")


def check_parts(opened: Opened) -> Mapping[str, Any]:
    """What trained parts say of themselves.

    Raises:
        UserError: nothing is trained for the model.
    """
    if opened.parts is None:
        raise UserError(f"Nothing is trained for {opened.model.info.name}, so there is no card to write.")
    return opened.parts.card


def write(
    path: Path, opened: Opened, settings: RunSettings, overall: Figures, by_category: Mapping[str, Figures]
) -> None:
    """Write the card to a file.

    Raises:
        UserError: nothing is trained for the model, or the file cannot be written.
    """
    text = card_text(opened.model.info.name, check_parts(opened), settings, overall, by_category)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}); choose another place.") from error


def card_text(
    model: str,
    card: Mapping[str, Any],
    settings: RunSettings,
    overall: Figures,
    by_category: Mapping[str, Figures],
) -> str:
    """The whole card."""
    sections = [
        f"# Trained parts for {model}\n\nA drafter, exit predictors, an exit lens and a low-rank LM head that let "
        "SpecEE leave this model early. They change no weight of the model and run nothing when they are loaded.",
        _measured(settings, overall, by_category),
        _curve(overall.get(CURVE)),
        _operating_point(_part(card, "tune")),
        _drafter(_part(card, "drafter")),
        _head(_part(card, "head")),
        _lens(_part(card, "lens")),
        _predictors(_part(card, "predictors")),
        _baseline(_part(card, "adainfer")),
        _made(card),
        "## Limits\n\nThe figures hold for prompts like those above, greedy decoding and the model's own number format "
        "as named. Predictors and thresholds were found on English chat, code, mathematics, questions and summaries; "
        "on other text exits are rarer or less often right. Nothing here makes the model safer or more truthful.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _measured(settings: RunSettings, overall: Figures, by_category: Mapping[str, Figures]) -> str:
    columns = {"all": overall, **by_category}
    rows = [
        [name.replace("_", " "), *(shown(name, figures.get(name)) for figures in columns.values())]
        for name in overall
        if name != CURVE
    ]
    point = (
        f"Policy {settings.policy.value}, threshold {settings.threshold:g}, margin gate {settings.gate:g}, lens "
        f"{settings.lens.value}, check {settings.check.value}, drafter's head {settings.draft_head.value}, "
        f"M {settings.scheduler.offline_layers}, N {settings.scheduler.window}, r {settings.scheduler.radius}, K/V "
        f"{settings.kv_policy.value}, up to {settings.max_new_tokens} new tokens."
    )
    return f"## On prompts never trained on\n\n{point}\n\n{_table(['', *columns], rows)}"


def _curve(curve: Sequence[Mapping[str, Any]] | None) -> str:
    if not curve:
        return ""
    rows = [[str(one["window"]), _percent(one["hit_rate"]), _percent(one["chance"])] for one in curve]
    return f"## Online hit rate over N, every predictor on\n\n{_table(['N', 'hit rate', 'by chance'], rows)}"


def _operating_point(tune: Mapping[str, Any]) -> str:
    names = ("agreement", "mean_exit_layer", "early", "verifications", "predictors", "ratio_to_dense")
    shares = ("agreement", "early")
    rows = [
        [one["name"], *(_percent(one[name]) if name in shares else f"{one[name]:.2f}" for name in names)]
        for one in tune.get("measured", [])
    ]
    if not rows:
        return ""
    heads = ["", "agreement", "mean exit layer", "leave early", "checks", "predictors", "speed over dense"]
    return (
        f"## The operating point, in real runs over tune prompts\n\nRecommended: {tune.get('chosen')}. Numbers are a "
        f"token; measured in {tune.get('dtype')}, all settings in turns.\n\n{_table(heads, rows)}"
    )


def _drafter(about: Mapping[str, Any]) -> str:
    quality = _part(about, "quality")
    named = {"all": _part(quality, "overall"), **_part(quality, "by_category")}
    rows = [
        [name, str(one.get("tokens")), _percent(one.get("top1")), _percent(one.get("top4"))]
        for name, one in named.items()
    ]
    table = _table(["test prompts", "tokens", "top-1", "top-4"], rows) if quality else ""
    return _section("Drafter", about, table)


def _head(about: Mapping[str, Any]) -> str:
    if not about:
        return ""
    named = {
        f"low rank, r = {about.get('rank')}": about,
        f"{_part(about, 'trimmed').get('tokens')} most used tokens": _part(about, "trimmed"),
    }
    rows = [[name, _figure(one.get("rho_tau")), *map(_percent, _hits(one))] for name, one in named.items()]
    rows.append(["full", "1.000", *map(_percent, _hits(about, "_full"))])
    verdict = (
        f"ν {_figure(about.get('nu'))} and κ {_figure(about.get('kappa'))} in {about.get('dtype')}: it pays where "
        f"ρ_τ > (ν + κ) / (1 + κ) = {_figure(about.get('least_rho'))}, so it "
        f"{'does' if about.get('pays') else 'does not'}. "
        f"Of states that leave early {_percent(about.get('shortlist_miss'))} have their token not on its shortlist of "
        f"{about.get('shortlist')}."
    )
    return _section("Low-rank head", about, verdict + "\n\n" + _table(["head", "ρ_τ", "top-1", "top-4"], rows))


def _hits(about: Mapping[str, Any], suffix: str = "") -> tuple[float | None, float | None]:
    return about.get("top1" + suffix), about.get("top4" + suffix)


def _lens(about: Mapping[str, Any]) -> str:
    rows = [
        [
            str(at + 1),
            *(f"{_percent(one[f'plain_{name}'])} → {_percent(one[name])}" for name in ("agreement", "could_exit")),
        ]
        for at, one in enumerate(about.get("layers", []))
    ]
    if not rows:
        return ""
    words = f"Form {about['form']}; {about['macs']} products a state, {_percent(about['share_of_a_layer'])} of a layer."
    heads = ["layer", "argmax = final", "could exit at 99 % agreement by top probability"]
    return _section("Exit lens", about, words + "\n\n" + _table(heads, rows))


def _predictors(about: Mapping[str, Any]) -> str:
    label = about.get("label", "")
    rows = []
    for lens, found in (("identity", about), ("tuned", _part(about, "tuned"))):
        for schedule, words in (("t1", "every layer"), ("t1t2", "scheduled layers")):
            late = _part(found, "quality", label, schedule, label, "late_half")
            if late:
                rows.append([lens, words, *(_figure(late.get(name)) for name in ("accuracy", "auc", "ece"))])
    heads = ["lens", "predictors on", "accuracy", "ROC-AUC", "ECE"]
    return (
        _section("Predictors", about, f"Label `{label}`, late half of the layers.\n\n{_table(heads, rows)}")
        if rows
        else ""
    )


def _baseline(about: Mapping[str, Any]) -> str:
    rows = [
        [name.upper(), _percent(one.get("share_pruned")), _percent(one.get("agreement"))]
        for name in ("svm", "crf")
        if (one := _part(about, name))
    ]
    return f"## AdaInfer, the baseline\n\n{_table(['', 'layers pruned', 'agreement'], rows)}" if rows else ""


def _made(card: Mapping[str, Any]) -> str:
    data = _part(card, "data")
    versions = ", ".join(f"{name} {version}" for name, version in _part(card, "versions").items())
    tokens = ", ".join(f"{use} {count}" for use, count in _part(data, "answer_tokens").items())
    lines = [
        f"- `specee-viewer train --budget {card.get('budget_minutes')} --seed {card.get('seed')}`",
        f"- Answer tokens: {tokens}; SHA-256 of prompts and answers `{data.get('sha256')}`",
        f"- {versions}",
    ]
    return "## How they were made\n\n" + "\n".join(lines)


def _section(title: str, about: Mapping[str, Any], body: str) -> str:
    return f"## {title}\n\n{about.get('recipe', '')}.\n\n{body}" if about and body else ""


def _part(values: Mapping[str, Any], *path: str) -> dict[str, Any]:
    found: Any = values
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _figure(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
