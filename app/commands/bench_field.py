"""Who competes in a bench: transformers' loops, our dense loop and our policies, in the number formats worth asking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.commands import fitting
from app.commands.bench_contest import GENERATE, Contender, Label
from app.commands.bench_ours import EngineContender, label_of
from app.commands.bench_peers import EARLY_EXIT, PROMPT_LOOKUP, GenerateContender, load_peer
from app.commands.opening import Opened
from app.commands.recording import Keep
from core.choices import DType, KVPolicy, Policy
from core.config import RunSettings, TreeSettings
from core.errors import UserError
from core.exits.requirements import check_parts
from core.model.devices import fastest_dtype
from core.model.loading import LoadedModel
from core.progress import Cancelled, Progress, Report

PLAIN = ("float32", "bfloat16", "float16")
"""The number formats that transformers computes in."""
TREE_POLICIES = (Policy.DENSE, Policy.SPECEE_T1T2)
POLICIES = (Policy.DENSE, Policy.SPECEE_T1, Policy.SPECEE_T1T2, Policy.ADAINFER_SVM)
LARGEST_COPY = 4 << 30
"""Bytes of float32 weights up to which the model is loaded in further formats beside the first."""

Open = Callable[[str | None], Opened]
"""Loads the model in a number format; None is the machine's fastest."""
FillIn = Callable[[RunSettings, Mapping[str, Any]], RunSettings]
"""Settings with what the card of trained parts recommends where nothing was given."""
Trees = Callable[[Mapping[str, Any]], TreeSettings]
"""The token tree to measure, which the card of trained parts may recommend."""


@dataclass(slots=True)
class Field:
    """The contenders, and the rows that have to stay empty."""

    model: LoadedModel
    """The first one loaded, in the format that was asked for."""
    order: list[Label] = field(default_factory=list)
    """All rows."""
    contenders: list[Contender] = field(default_factory=list)
    absent: dict[Label, str] = field(default_factory=dict)
    """Why a row is empty, in a sentence."""

    def add(self, contender: Contender) -> None:
        """One that competes."""
        self.order.append(contender.label)
        self.contenders.append(contender)

    def leave_out(self, label: Label, why: str) -> None:
        """One that cannot."""
        self.order.append(label)
        self.absent[label] = why

    def withdraw(self, label: Label, why: str) -> None:
        """One that was to compete and has failed."""
        self.contenders = [one for one in self.contenders if one.label != label]
        self.absent[label] = why


def gather(
    open_as: Open,
    dtype: str | None,
    base: RunSettings,
    also: Sequence[RunSettings],
    fill_in: FillIn,
    tree_for: Trees,
    report: Report,
) -> Field:
    """Load all models and line up the contenders.

    Args:
        open_as: loads the model.
        dtype: the number format of the main rows; None is the machine's fastest.
        base: settings that all of ours share; their policy is replaced.
        also: further policies to run.
        fill_in: fits settings to the trained parts that were found.
        tree_for: chooses the token tree.
        report: told what is being loaded.

    Raises:
        Cancelled: the user asked to stop.
        UserError: the model cannot be had, or it has too few layers for what was asked.
    """
    main = open_as(dtype)
    depth, found = main.model.info.depth, Field(main.model)
    small = main.model.config.depth * _layer_weights(main.model) * 4 <= LARGEST_COPY
    _add_peers(found, main, small=small, report=report)
    card = main.parts.card if main.parts else {}

    def fit(settings: RunSettings) -> RunSettings:
        return fitting.shrink(fill_in(settings, card), depth)

    tree = tree_for(card)
    plain = [fitting.with_policy(base, {"policy": policy}) for policy in POLICIES]
    trees = [fitting.with_policy(base, {"policy": policy, "tree": tree}) for policy in TREE_POLICIES if tree.on]
    for settings in map(fit, [*plain, *trees, *also]):
        settings.check_against(depth)
        _add_ours(found, main, settings)
    if small:
        dense = fitting.with_policy(base, {"policy": Policy.DENSE})
        _add_format(found, open_as, main, DType.FLOAT32, [dense], [Keep.OFF])  # held against generate's tokens
        # One token at a time, which pays for no catching up.
        filled = fitting.with_policy(base, {"policy": Policy.SPECEE_T1T2, "kv_policy": KVPolicy.PROPAGATE})
        _add_format(found, open_as, main, DType.NATIVE, [dense, *map(fit, [filled, *trees])], list(Keep))
    return found


def _layer_weights(model: LoadedModel) -> int:
    config = model.config
    return 2 * config.hidden * config.head_dim * (config.heads + config.kv_heads) + 3 * config.hidden * config.mlp


def _add_peers(found: Field, main: Opened, *, small: bool, report: Report) -> None:
    device, own = main.model.decoder.device, main.model.info.dtype
    first = own if own in PLAIN else fastest_dtype(device).value
    for dtype in dict.fromkeys((first, DType.FLOAT32.value) if small else (first,)):
        report(Progress(f"Loading transformers' model in {dtype}"))
        peer = load_peer(main, dtype)
        names = (GENERATE, PROMPT_LOOKUP, EARLY_EXIT) if dtype == first else (GENERATE,)
        for name in names:
            found.add(GenerateContender(name, main, peer, dtype))


def _add_ours(found: Field, opened: Opened, settings: RunSettings, keeps: Sequence[Keep] = tuple(Keep)) -> None:
    info = opened.model.info
    for keep in keeps:
        label = label_of(settings, keep, info.dtype)
        if label in found.order:
            continue
        try:
            check_parts(settings, opened.parts, info.name)
        except UserError as error:
            found.leave_out(label, str(error))
        else:
            found.add(EngineContender(opened, settings, keep))


def _add_format(
    found: Field, open_as: Open, main: Opened, dtype: DType, wanted: Sequence[RunSettings], keeps: Sequence[Keep]
) -> None:
    """Rows of ours in another number format, empty where the model cannot be had in it."""
    try:
        opened = main if main.model.info.dtype == dtype else open_as(dtype.value)
    except Cancelled:
        raise
    except UserError as error:
        for settings in wanted:
            for keep in keeps:
                found.leave_out(label_of(settings, keep, dtype.value), str(error))
        return
    for settings in wanted:
        _add_ours(found, opened, settings, keeps)
