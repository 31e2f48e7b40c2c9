"""The stage that trains the low-rank LM head: choose its rank by what it does to the speed, then train it.

The rank is chosen among a few heads that were trained briefly, by the ratio of speeds that acceptance on tune prompts
and times measured on this machine give (`core.training.slim`). Beside it stands the other way to make a head cheap,
dropping rare tokens (VocabTrim): at equal cost, and as a trimmed head whose size is chosen likewise.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from core.drafting.head import DraftHead
from core.errors import UserError
from core.model.decoder import Decoder
from core.model.slim_head import SHORTLIST, SlimHead
from core.model.trimmed_head import LEAST, TrimmedHead
from core.progress import Progress, Report, check
from core.training.chains import DEPTH, Chains, read_chains
from core.training.costs import HeadTimes, head_times
from core.training.data import Answers
from core.training.distil import token_mass
from core.training.examples import read_examples
from core.training.kept import KeptTokens, spaced
from core.training.lessons import Lesson, joined
from core.training.options import Stage, TrainOptions
from core.training.prompts import Use
from core.training.slim import SlimTraining, fit, least_rho, speed_ratio
from core.training.workspace import Timer, Workspace

DRAFTED, FULL, LATE = 40_000, 12_000, 8_000
"""Rows to learn from: the drafter's outputs, states of full depth, and those of late layers, where checks look."""
JUDGING = 3000
"""Tokens of chains that judge a head."""
TARGETS = 32
"""Tokens kept of a distribution that had to be worked out."""
STEPS, BRIEF = 4000, 150
"""Of training, and of each trial for the sweep."""
SWEEP_SHARE = 0.4
"""Of the stage's time, for choosing the rank."""
BLOCK = 256


def ranks(hidden: int) -> list[int]:
    """The ranks to try; d/8 is SlimSpec's."""
    return sorted({max(1, hidden // part) for part in (32, 16, 8, 4)})


def trims(vocabulary: int) -> list[int]:
    """How many tokens a trimmed head may keep."""
    return sorted({max(LEAST, vocabulary // part) for part in (32, 16, 8, 4) if vocabulary >= LEAST} or {vocabulary})


def train_slim(
    head: DraftHead,
    answers: Answers,
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> SlimHead:
    """Train the head, or take what an earlier run has finished.

    Raises:
        Cancelled: `cancel` was set; the chosen rank stays.
        UserError: there are too few tokens to learn from.
    """
    if not has_slim(work):
        _Slim(head, answers, options, work, report, cancel).run()
    return load_slim(head.decoder, work)


def load_slim(decoder: Decoder, work: Workspace) -> SlimHead:
    """The head that an earlier stage trained, rounded as it will be stored.

    Raises:
        UserError: there is none.
    """
    if not has_slim(work):
        raise UserError("No low-rank head has been trained here yet; run the stages data, drafter and head first.")
    return SlimHead.from_state(decoder, work.load_tensors(Stage.HEAD, "slim.safetensors"))


def load_trimmed(decoder: Decoder, work: Workspace) -> TrimmedHead | None:
    """The head whose tokens an earlier stage chose; None where it ran before there were any."""
    if not work.path(Stage.HEAD, "trimmed.safetensors").is_file():
        return None
    return TrimmedHead.from_state(decoder, work.load_tensors(Stage.HEAD, "trimmed.safetensors"))


def has_slim(work: Workspace) -> bool:
    """Whether the stage has been run."""
    return work.path(Stage.HEAD, "facts.json").is_file()


def slim_facts(work: Workspace) -> dict[str, Any]:
    """How the head was trained and what it is worth, for the parts' card; empty where there is none."""
    return work.load_json(Stage.HEAD, "facts.json") or {}


@dataclass(frozen=True, slots=True)
class _Judge:
    """What candidates for the drafter's head are held against."""

    tune: Chains
    test: Chains
    full: Tensor
    """The whole LM head, [V, d]."""

    def figures(self, logits: Any, chains: Chains) -> dict[str, float]:
        """Acceptance through one head, as shares of that through the full one too."""
        own, whole = chains.acceptance(logits), chains.acceptance(lambda rows: rows @ self.full.T)
        return {
            "rho_tau": round(own.tau / whole.tau, 4),
            "tau": round(own.tau, 4),
            "tau_full": round(whole.tau, 4),
            "top1": round(own.top1, 4),
            "top1_full": round(whole.top1, 4),
            "top4": round(own.top4, 4),
            "top4_full": round(whole.top4, 4),
        }


class _Slim:
    """One run of the stage."""

    def __init__(
        self,
        head: DraftHead,
        answers: Answers,
        options: TrainOptions,
        work: Workspace,
        report: Report,
        cancel: threading.Event | None,
    ) -> None:
        self._head, self._decoder, self._answers = head, head.decoder, answers
        self._options, self._work, self._report, self._cancel = options, work, report, cancel
        self._full = head.decoder.head_weight.float()
        greedy = answers.greedy_of(Use.TRAIN)
        self._examples = read_examples(answers, greedy[:: max(1, round(_tokens(answers, greedy) / DRAFTED))])
        self._lesson = joined([self._drafted(), self._full_depth(), self._late()])
        if not len(self._lesson):
            raise UserError("Too few answers have been written to train a head on; give more minutes or prompts.")
        self._mass = token_mass(self._lesson.top_ids, self._lesson.top_probabilities, len(self._full))
        self._judge = _Judge(self._chains(Use.TUNE), self._chains(Use.TEST), self._full)

    def run(self) -> None:
        """Choose, train, judge and write."""
        seconds = self._options.seconds(Stage.HEAD)
        sweep = self._sweep(SWEEP_SHARE * seconds)
        rank = max(sweep, key=lambda one: one["speed_ratio"])["rank"]
        timer = Timer(0.0, (1 - SWEEP_SHARE) * seconds)
        slim, steps = self._trained(rank, STEPS, timer)
        self._work.save_tensors(Stage.HEAD, "slim.safetensors", {k: one.half() for k, one in slim.state().items()})
        rounded = SlimHead.from_state(self._decoder, {name: one.half().float() for name, one in slim.state().items()})
        trimmed, sizes = self._trim()
        self._work.save_tensors(Stage.HEAD, "trimmed.safetensors", trimmed.state())
        self._work.save_json(Stage.HEAD, "facts.json", self._facts(rounded, steps, sweep) | {"trimming": sizes})

    def _sweep(self, seconds: float) -> list[dict[str, Any]]:
        """Each rank, trained briefly; what an interrupted run has found is taken over."""
        saved = self._work.load_json(Stage.HEAD, "sweep.json")
        if saved is not None:
            return list(saved["ranks"])
        offered, rows = ranks(self._decoder.config.hidden), []
        for rank in offered:
            slim, _ = self._trained(rank, BRIEF, Timer(0.0, seconds / len(offered)))
            rows.append({"rank": rank, **self._judge.figures(slim.logits, self._judge.tune), **self._times(slim)})
            rows[-1] |= verdict(rows[-1])
            words = f"rank {rank} keeps {rows[-1]['rho_tau']:.1%} of the acceptance on tune prompts"
            hits = {name: rows[-1][name] for name in ("top1", "top4")}
            self._report(Progress(f"Trying heads: {words}", len(rows), len(offered), "ranks", figures=hits))
        self._work.save_json(Stage.HEAD, "sweep.json", {"ranks": rows})
        return rows

    def _trained(self, rank: int, steps: int, timer: Timer) -> tuple[SlimHead, int]:
        training = SlimTraining(self._full, self._lesson.states.float(), self._mass, rank)

        def tell(step: int, loss: float) -> None:
            message, figures = f"Training a head of rank {rank}: loss {loss:.3f}", {"step": float(step), "loss": loss}
            self._report(Progress(message, step, steps, "steps", figures=figures))

        done = fit(
            training,
            self._lesson,
            steps=steps,
            seed=self._options.seed,
            timer=timer,
            tell=tell,
            cancel=self._cancel,
        )
        state = training.weights()
        return SlimHead(state["down"], state["up"]), done

    def _times(self, slim: SlimHead | TrimmedHead) -> dict[str, float]:
        times: HeadTimes = head_times(self._head, slim)
        return {"nu": round(times.nu, 4), "kappa": round(times.kappa, 4)}

    def _facts(self, slim: SlimHead, steps: int, sweep: Sequence[dict[str, Any]]) -> dict[str, Any]:
        config = self._decoder.config
        figures = self._judge.figures(slim.logits, self._judge.test) | self._times(slim)
        return {
            "recipe": "singular value decomposition of the head weighted by its inputs' covariance and its tokens' "
            "probabilities, then KL over the whole vocabulary, Adam",
            "rank": slim.rank,
            "steps": steps,
            "rows": len(self._lesson),
            "cost": round(slim.rank * (config.hidden + config.vocabulary) / (config.hidden * config.vocabulary), 4),
            "chain": DEPTH,
            "dtype": str(self._decoder.dtype).removeprefix("torch."),
            **figures,
            **verdict(figures),
            "sweep": list(sweep),
            "trimmed": self._trimmed(slim.rank),
            "shortlist": SHORTLIST,
            "shortlist_miss": round(shortlist_miss(self._full, slim, self._exit_states()), 5),
        }

    def _trimmed(self, rank: int) -> dict[str, Any]:
        """VocabTrim at equal cost: the most used tokens only."""
        config = self._decoder.config
        count = min(config.vocabulary, rank * (config.hidden + config.vocabulary) // config.hidden)
        kept = self._mass.argsort(descending=True)[:count].to(torch.int32)
        head = TrimmedHead.from_state(self._decoder, {"tokens": kept})
        return {"tokens": count, **self._judge.figures(self._spread(head), self._judge.test)}

    def _trim(self) -> tuple[TrimmedHead, list[dict[str, Any]]]:
        """The most used tokens, as many as should decode fastest, with what each number of them would do."""
        order, rows = self._mass.argsort(descending=True).to(torch.int32), list[dict[str, Any]]()
        for count in trims(len(self._full)):
            head = TrimmedHead.from_state(self._decoder, {"tokens": order[:count]})
            row = self._judge.figures(self._spread(head), self._judge.tune) | self._times(head)
            rows.append({"tokens": count} | row | verdict(row))
        count = max(rows, key=lambda one: one["speed_ratio"])["tokens"]
        return TrimmedHead.from_state(self._decoder, {"tokens": order[:count]}), rows

    def _spread(self, head: TrimmedHead) -> Callable[[Tensor], Tensor]:
        """The head's logits over the whole vocabulary."""

        def logits(rows: Tensor) -> Tensor:
            found = torch.full((len(rows), len(self._full)), -torch.inf)
            found[:, head.tokens] = rows @ self._full[head.tokens].T
            return found

        return logits

    def _chains(self, use: Use) -> Chains:
        keys = self._answers.greedy_of(use)
        some = keys[:: max(1, round(_tokens(self._answers, keys) / JUDGING))]
        return read_chains(self._head, read_examples(self._answers, some))

    @torch.no_grad()
    def _drafted(self) -> Lesson:
        """The drafter's outputs along chains of its own, against what the target says there."""
        found = []
        for example in self._examples:
            check(self._cancel)
            outputs = read_chains(self._head, [example]).outputs.half()
            at = example.drafted
            for depth in range(DEPTH):
                found.append(_rows(outputs[depth], example.top_ids[at], example.top_probabilities[at]))
        return _thinned(found, DRAFTED)

    def _full_depth(self) -> Lesson:
        """The target's own states, against what its head says of them."""
        found = []
        for example in self._examples:
            # Slot i holds the feature of the position before its token, and the distribution of the one after it.
            found.append(_rows(example.features[1:], example.top_ids[:-1], example.top_probabilities[:-1]))
        return _thinned(found, FULL)

    @torch.no_grad()
    def _late(self) -> Lesson:
        """States that leave early, against what the full head says of them."""
        states = self._late_states(Use.TRAIN, LATE)
        tops = [torch.softmax(rows.float() @ self._full.T, -1).topk(TARGETS) for rows in torch.split(states, BLOCK)]
        if not tops:
            return _rows(states, torch.zeros(0, TARGETS, dtype=torch.int64), torch.zeros(0, TARGETS))
        return _rows(states, torch.cat([top.indices for top in tops]), torch.cat([top.values for top in tops]).half())

    def _exit_states(self) -> Tensor:
        return self._late_states(Use.TEST, JUDGING)

    @torch.no_grad()
    def _late_states(self, use: Use, count: int) -> Tensor:
        """Normed states of layers of the late half, [about count, d], float16."""
        layers = range((self._decoder.config.depth - 1) // 2, self._decoder.config.depth - 1)
        keys = spaced(self._answers.kept_of(use), self._answers, max(1, count // max(1, len(layers) // 2)))
        tokens = KeptTokens(self._answers, keys)
        parts = [self._decoder.norm(tokens.layer(layer).to(self._decoder.dtype)).half() for layer in layers if keys]
        states = torch.cat(parts) if parts else torch.zeros(0, self._decoder.config.hidden)
        return states[:: max(1, len(states) // count)]


@torch.no_grad()
def shortlist_miss(weight: Tensor, slim: SlimHead, normed: Tensor) -> float:
    """Of states [n, d], the share whose likeliest token by the head [V, d] is not on the shortlist."""
    missed = 0
    for rows in torch.split(normed.to(weight.dtype), BLOCK):
        best = (rows @ weight.T).argmax(-1, keepdim=True)
        missed += int((slim.shortlist(rows) != best).all(-1).sum())
    return missed / max(1, len(normed))


def verdict(row: dict[str, Any]) -> dict[str, Any]:
    """Judged by the figures as they are written, so that a reader of them comes to the same."""
    rho, nu, kappa = row["rho_tau"], row["nu"], row["kappa"]
    least = round(least_rho(nu, kappa), 4)
    return {
        "least_rho": least,
        "pays": rho > least,
        "speed_ratio": round(speed_ratio(rho, nu, kappa), 4),
    }


def _rows(states: Tensor, ids: Tensor, probabilities: Tensor) -> Lesson:
    return Lesson(states, ids.long(), probabilities.half())


def _thinned(parts: Sequence[Lesson], most: int) -> Lesson:
    """All of them together, every so many rows, about `most`."""
    if not parts:
        return _rows(torch.zeros(0, 0), torch.zeros(0, 0), torch.zeros(0, 0))
    whole = joined(parts)
    step = max(1, len(whole) // most)
    return Lesson(whole.states[::step], whole.top_ids[::step], whole.top_probabilities[::step])


def _tokens(answers: Answers, keys: Sequence[Any]) -> int:
    return sum(answers.length(key, "ids") for key in keys)
