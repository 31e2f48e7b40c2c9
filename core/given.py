"""The past of a branch: tokens that are given instead of decided, fed along the layers that each had run before.

What a run leaves behind is restored by feeding it again: every row of K/V with the layers that it had (and what the K/V
policy makes of those it skipped), the drafter's K/V, the state that it sees next, and the scheduler's ring. So a branch
that changes nothing goes on as its origin did. Two things are not restored: what a policy of the user's own has kept
for itself beyond `record`, and the last bits of products over more rows (a token tree's pass ran its whole tree).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from core.errors import UserError
from core.model.loading import LoadedModel
from core.run_state import Pass, RunState
from core.trace.events import Event, ExitReason, KVUpdated
from core.trace.fork import Fork

Given = Sequence[tuple[int, int]]
"""Ids of tokens with the layers that each runs, 1…L."""


def given_tokens(model: LoadedModel, fork: Fork, most: int) -> Given:
    """The tokens that a branch is given; `most` is how many the run may have in all.

    Raises:
        UserError: another model made the origin, what was typed is no token, or nothing may follow the given tokens.
    """
    if fork.model.fingerprint != model.info.fingerprint:
        raise UserError(
            f"Run {fork.origin + 1} was made by another model than {model.info.name}; load {fork.model.name} to "
            "branch off it."
        )
    typed = model.tokenizer.encode_more(fork.text)
    if fork.text and not typed:
        raise UserError("What was typed holds no token that this model knows; type something else.")
    given = fork.given(typed)
    _check_fits(model, fork, given)
    if len(given) >= most:
        raise UserError(
            f"The branch is given {len(given)} tokens and the run may have {most}; raise the number of new tokens."
        )
    if len(fork.prompt_ids) + len(given) > model.config.context:
        raise UserError(f"The model's context of {model.config.context} tokens is full there; branch off earlier.")
    return given


def _check_fits(model: LoadedModel, fork: Fork, given: Given) -> None:
    """A file may say anything of the model that made its runs."""
    ids, layers = [*fork.prompt_ids.tolist(), *(token_id for token_id, _ in given)], [run for _, run in given]
    known = min(ids) >= 0 and max(ids) < model.info.vocabulary
    if not len(fork.prompt_ids) or not known or not 1 <= min(layers) <= max(layers) <= model.config.depth:
        raise UserError(f"Run {fork.origin + 1} does not fit {model.info.name}; record it again to branch off it.")


def feed_given(state: RunState, one_pass: Pass, given: Given) -> Iterator[Event]:
    """Emit the tokens after the first, which prefill has emitted, each after a pass that decides nothing."""
    for token_id, layers_run in given:
        one_pass.take_in()
        state.feature = _feed(state, layers_run)
        one_pass.record(state.emitted, layers_run - 1)
        position, caught_up = state.context.length - 1, np.array(state.context.recomputed, np.int64)
        yield KVUpdated(state.run, state.emitted, position, layers_run, caught_up)
        yield state.emit(token_id, layers_run, ExitReason.GIVEN)


def _feed(state: RunState, layers_run: int) -> Tensor:
    """Run the newest token through its layers; what the drafter sees of it then."""
    context, hidden = state.context, []
    context.begin(state.newest)
    for layer in range(layers_run):
        state.check_stop()
        with state.watch.shared("layers", "recompute", lambda: context.share_of_waiting):
            hidden.append(context.run(layer))
    with state.watch("recompute"):
        context.end(layers_run)
    return state.seen(hidden, state.readout.normed(layers_run - 1, hidden[-1]))
