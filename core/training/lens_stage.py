"""The stage that trains the exit lens, a layer after the other from the last one down (`docs/rules.md`).

Which form A takes, one matrix or two thin ones, is tried out on a few layers and judged on tune prompts: a full matrix
has so many numbers to fit that on little text it does worse than a thin pair, which also costs a fraction. Then each
layer starts from the lens of the layer above it, which is nearly right for it already.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from core.errors import UserError
from core.exits.lens import ExitLens
from core.model.config import ModelConfig
from core.model.decoder import Decoder
from core.progress import Progress, Report
from core.training.data import Answers
from core.training.distil import Vocabulary, token_mass
from core.training.kept import KeptTokens, spaced
from core.training.lens import MOST_STEPS, Head, LayerLens, carried, fit, zeros
from core.training.lessons import Lesson
from core.training.options import Stage, TrainOptions
from core.training.prompts import Use
from core.training.readings import could_exit, divergence, read
from core.training.workspace import Timer, Workspace

COLUMNS, SAMPLED, COVERAGE = 4096, 1024, 0.99
"""Tokens that the loss always sums over, drawn ones beside them, and the share of the mass at which to stop."""
PROBED = (0.6, 0.8, 0.95)
"""Where among the layers the forms are tried."""
ENOUGH = 1.03
"""The cheapest form is taken whose divergence is within this of the best one's."""
JUDGING = 1500
"""Tune tokens that judge a layer."""
EARLY_SHARE = 0.4
"""Of a late layer's time, what a layer of the first third gets: few tokens ever leave there."""
PROBE_SHARE, PROBE_STEPS = 0.25, 100
"""Of the stage's time, for trying the forms, and steps of each trial; a busy moment must not decide for a form."""
PATIENCE = 2.0
"""A trial may take so many times its share."""


@dataclass(frozen=True, slots=True)
class Form:
    """How A is written down."""

    name: str
    rank: int | None
    """None is one matrix."""

    def macs(self, hidden: int) -> int:
        """Multiplications that the correction of one state costs."""
        return hidden * hidden if self.rank is None else 2 * hidden * self.rank


def forms(hidden: int) -> list[Form]:
    """The forms to try, the cheapest first."""
    ranks = sorted({max(1, hidden // 16), max(1, hidden // 8), max(1, hidden // 4)})
    return [*(Form(f"rank {rank}", rank) for rank in ranks), Form("full", None)]


def train_lens(
    decoder: Decoder,
    answers: Answers,
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> ExitLens:
    """Train the lens, or go on with what an earlier run left of it.

    Raises:
        Cancelled: `cancel` was set; finished layers stay.
        UserError: there are too few tokens to learn from.
    """
    if work.load_json(Stage.LENS, "facts.json") is None:
        _Lenses(decoder, answers, options, work, report, cancel).run()
    return load_lens(decoder, work)


def load_lens(decoder: Decoder, work: Workspace) -> ExitLens:
    """The lens that an earlier stage trained, rounded as it will be stored.

    Raises:
        UserError: there is none.
    """
    if not has_lens(work):
        raise UserError("No exit lens has been trained here yet; run the stages data and lens first.")
    return ExitLens.from_state(decoder, work.load_tensors(Stage.LENS, "lens.safetensors"))


def has_lens(work: Workspace) -> bool:
    """Whether the stage has been run."""
    return work.path(Stage.LENS, "facts.json").is_file()


def lens_facts(work: Workspace) -> dict[str, Any]:
    """How the lens was trained and what it is worth, for the parts' card; empty where there is none."""
    return work.load_json(Stage.LENS, "facts.json") or {}


class _Lenses:
    """All layers' lenses under training."""

    def __init__(
        self,
        decoder: Decoder,
        answers: Answers,
        options: TrainOptions,
        work: Workspace,
        report: Report,
        cancel: threading.Event | None,
    ) -> None:
        self._decoder, self._options, self._work = decoder, options, work
        self._report, self._cancel = report, cancel
        self._train = KeptTokens(answers, answers.kept_of(Use.TRAIN))
        self._tune = KeptTokens(answers, spaced(answers.kept_of(Use.TUNE), answers, JUDGING))
        if not (len(self._train) and len(self._tune)):
            raise UserError("Too few answers have been written to train a lens on; give more minutes or prompts.")
        self._weight = decoder.head_weight.float()
        mass = token_mass(self._train.top_ids, self._train.top_probabilities, len(self._weight))
        vocabulary = Vocabulary(self._weight, mass, most=COLUMNS, sampled=SAMPLED, coverage=COVERAGE)
        self._head = Head(decoder.final_norm.float(), decoder.config.norm_eps, vocabulary)
        self._layers = decoder.config.depth - 1
        self._last = ""
        """What the layer before has come to, for the user."""
        self._fresh: dict[str, float] = {}
        """The same for the curves, until it has been told."""

    def run(self) -> None:
        """Choose a form, train every layer in it, and write lens and facts."""
        form, tried = self._form()
        seconds = (1 - PROBE_SHARE) * self._options.seconds(Stage.LENS)
        weights = [EARLY_SHARE if layer < self._layers // 3 else 1.0 for layer in range(self._layers)]
        for layer in reversed(range(self._layers)):
            self._layer(_name(layer, form), layer, form, seconds * weights[layer] / sum(weights), MOST_STEPS)
        names = [_name(layer, form) for layer in range(self._layers)]
        states = [self._work.load_tensors(Stage.LENS, f"{name}.safetensors") for name in names]
        stacked = {name: torch.stack([state[name] for state in states]).half() for name in states[0]}
        self._work.save_tensors(Stage.LENS, "lens.safetensors", stacked)
        quality = [self._work.load_json(Stage.LENS, f"{name}.json") for name in names]
        self._work.save_json(Stage.LENS, "facts.json", self._facts(form, tried, quality))

    def _form(self) -> tuple[Form, dict[str, Any]]:
        """The form to use, and the mean figures of each one tried."""
        offered = forms(self._decoder.config.hidden)
        layers = sorted({min(self._layers - 1, int(share * self._layers)) for share in PROBED})
        seconds = PROBE_SHARE * self._options.seconds(Stage.LENS) / (len(offered) * len(layers))
        tried = {
            form.name: _means(
                [
                    self._layer(f"probe-{_name(layer, form)}", layer, form, PATIENCE * seconds, PROBE_STEPS)
                    for layer in layers
                ]
            )
            for form in offered
        }
        best = min(means["kl"] for means in tried.values())
        chosen = next(form for form in offered if tried[form.name]["kl"] <= ENOUGH * best)
        return chosen, {"layers": layers, "forms": tried}

    def _layer(self, name: str, layer: int, form: Form, seconds: float, most: int) -> dict[str, Any]:
        """Train one layer in one form, or take what is there under this name; its figures on tune prompts."""
        done = self._work.load_json(Stage.LENS, f"{name}.json")
        if done is not None:
            return done
        states = self._train.layer(layer)
        lens = LayerLens(states, self._start(layer, form, states))
        lesson = Lesson(states, self._train.top_ids, self._train.top_probabilities)
        steps = 0

        def tell(step: int, loss: float) -> None:
            nonlocal steps
            steps = step
            self._tell(f"layer {layer + 1}, {form.name}", self._layers - layer - 1, step, loss)

        seed, timer = self._options.seed + layer, Timer(0.0, seconds)
        fit(lens, lesson, self._head, seed=seed, timer=timer, tell=tell, cancel=self._cancel, steps=most)
        figures = {"steps": steps, **self._judged(layer, lens)}
        self._work.save_tensors(Stage.LENS, f"{name}.safetensors", lens.folded())
        self._work.save_json(Stage.LENS, f"{name}.json", figures)
        agreement = f"{figures['agreement']:.0%} of tune tokens, without it {figures['plain_agreement']:.0%}"
        self._fresh = {"top1": figures["agreement"]}
        self._last = f"; at layer {layer + 1} the final token comes first at {agreement}"
        return figures

    def _tell(self, what: str, done: int, step: int, loss: float) -> None:
        """How a lens is getting on, with what the one before has come to; `done` counts layers."""
        message = f"Training the lens: {what}, step {step}, loss {loss:.3f}{self._last}"
        figures = {"step": float(step), "loss": loss, **self._fresh}
        self._fresh = {}
        self._report(Progress(message, done, self._layers, "layers", figures=figures))

    def _start(self, layer: int, form: Form, states: Tensor) -> dict[str, Tensor]:
        """As the lens of the layer above ended, where there is one; else a lens that changes nothing."""
        above = f"{_name(layer + 1, form)}.safetensors"
        if self._work.path(Stage.LENS, above).is_file():
            return carried(self._work.load_tensors(Stage.LENS, above), states)
        return zeros(self._decoder.config.hidden, form.rank, self._options.seed + layer)

    @torch.no_grad()
    def _judged(self, layer: int, lens: LayerLens) -> dict[str, float]:
        """What the head makes of tune tokens without and with the lens."""
        states = self._tune.layer(layer).float()
        plain, seen = self._of(states), self._of(lens(states))
        return {f"plain_{name}": value for name, value in plain.items()} | seen

    def _of(self, states: Tensor) -> dict[str, float]:
        normed = self._head.normed(states)
        found = read(self._weight, normed)
        right = found.argmax == self._tune.final.numpy()
        kl = divergence(self._weight, normed, self._tune.top_ids, self._tune.top_probabilities)
        values = {"kl": kl, "agreement": float(right.mean()), "could_exit": could_exit(found.top, right)}
        return {name: round(value, 4) for name, value in values.items()}

    def _facts(self, form: Form, tried: dict[str, Any], quality: Sequence[Any]) -> dict[str, Any]:
        config = self._decoder.config
        return {
            "recipe": "h + A h + b a layer, KL(final‖layer) over the most used tokens and a weighted sample of the "
            "others, Adam; the last layer starts from zero, each other from the lens above it",
            "form": form.name,
            "rank": form.rank,
            "macs": form.macs(config.hidden),
            "share_of_a_layer": round(form.macs(config.hidden) / layer_macs(config), 4),
            "tokens": {"train": len(self._train), "tune": len(self._tune)},
            "tried": tried,
            "layers": list(quality),
        }


def layer_macs(config: ModelConfig) -> int:
    """Multiplications by weights that one token costs in one decoder layer; attention over the context left out."""
    q, kv = config.heads * config.head_dim, config.kv_heads * config.head_dim
    return config.hidden * (2 * q + 2 * kv + 3 * config.mlp)


def _name(layer: int, form: Form) -> str:
    return f"layer-{layer:03}-{form.name.replace(' ', '-')}"


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    return {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in rows[0]}
