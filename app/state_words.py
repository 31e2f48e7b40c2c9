"""What the window says in each state: the empty panels' sentences and the status bar's detail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.run_state import RunState
from core.choices import Policy

if TYPE_CHECKING:
    from core.trace.reading import ReadableTrace

NEXT = {
    RunState.NO_MODEL: "No model is open.\nChoose one under Model, at the top left (Ctrl+D takes the default one).",
    RunState.LOADING: "The model is being loaded.\nWrite a prompt meanwhile.",
    RunState.READY: "Write a prompt and press Run (F5).\nF10 goes token by token, F11 layer by layer.",
    RunState.RUNNING: "Reading the prompt…",
    RunState.PAUSED: "Held before the first token.\nF5 goes on, F10 steps one token, F11 one layer.",
    RunState.FINISHED: "The run ended before its first token.\nPress Run (F5) to start again.",
    RunState.FAILED: "The run broke off before its first token.\nPress Run (F5) to try again.",
}
"""By state: what to do next, shown where the tokens will stand."""

NOT_LOADED = "The model could not be opened.\nChoose another under Model, at the top left, or reload it (Ctrl+Shift+R)."

PURPOSE = {
    "exits": "One bar a token: how many layers it ran",
    "scheduler": "One column a token: the layers that were watched, and the one it left at",
    "candidates": "How the candidates’ probabilities shift from layer to layer",
    "tree": "The token tree that a pass ran, its hyper-tokens, and what was accepted of it",
    "why": "Why the selected token left where it did, in words",
}
"""By panel: what will stand there."""

DENSE = "A dense run watches no layers.\nChoose a SpecEE policy to see the scheduler at work."


def nothing_to_show(key: str, trace: ReadableTrace | None) -> str | None:
    """What to show in place of a panel's view whatever there is of the run; None where the view has its part."""
    is_dense = trace is not None and trace.started is not None and trace.started.settings.policy is Policy.DENSE
    return DENSE if key == "scheduler" and is_dense else None


def empty_sentences(state: RunState, has_model: bool, trace: ReadableTrace | None) -> dict[str, str] | None:
    """By panel, what to show in place of its view; None once there is a token to show."""
    if trace is not None and trace.started is not None and trace.records:
        return None
    following = NEXT[state]
    if state is RunState.FAILED and not has_model:
        following = NOT_LOADED
    return {"tokens": following, **PURPOSE}


def detail(state: RunState, trace: ReadableTrace | None) -> str:
    """A few words beside the state: how far the prompt is read, where the run is held, why it ended."""
    if trace is None:
        return ""
    match state:
        case RunState.RUNNING if not trace.records and trace.prefill is not None:
            return f"reading the prompt, {trace.prefill.done} of {trace.prefill.total} tokens"
        case RunState.PAUSED:
            return _held_at(trace)
        case RunState.FINISHED if trace.ended is not None:
            return trace.ended.reason.value
        case _:
            return ""


def _held_at(trace: ReadableTrace) -> str:
    if not trace.records:
        return "before the first token"
    record = trace.records[-1]
    if record.emitted is not None:
        return f"after token {record.token + 1}"
    return f"in token {record.token + 1}, after {record.layers_run} of {record.depth} layers"
