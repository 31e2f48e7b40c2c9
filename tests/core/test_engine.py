"""The one decode loop: what it emits, in what order, and what it never changes."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from core.choices import DType, KVPolicy, Policy, Record
from core.config import RunSettings, SchedulerSettings
from core.engine import Engine, RunRequest
from core.errors import UserError
from core.model.loading import LoadedModel, load_model
from core.trace.events import (
    DraftProposed,
    EndReason,
    ExitReason,
    KVUpdated,
    LayerRun,
    RunEnded,
    RunStarted,
    ScheduleChosen,
    TokenEmitted,
    Verified,
)
from core.trace.trace import Trace
from tests.engines import DEPTH, PROMPT, ids, of_type, parts_that_always_propose, run
from tests.tiny import make_tiny_model


def test_that_dense_emits_what_transformers_emits_greedily(tiny_folder: Path, tiny: LoadedModel) -> None:
    reference = AutoModelForCausalLM.from_pretrained(tiny_folder)
    prompt = torch.tensor([tiny.tokenizer.encode_chat(PROMPT)])
    out = reference.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=40, do_sample=False)
    trace = run(Engine(tiny), policy=Policy.DENSE, max_new_tokens=40)
    assert ids(trace) == out[0, prompt.shape[1] :].tolist()


def test_that_greedy_output_is_unchanged_when_no_predictor_fires(tiny: LoadedModel) -> None:
    shy = Engine(tiny, parts_that_always_propose(tiny, bias=-20.0))
    dense = ids(run(shy, policy=Policy.DENSE))
    for policy in KVPolicy:
        trace = run(shy, kv_policy=policy)
        assert ids(trace) == dense
        assert set(trace.exit_layers) == {DEPTH}


def test_that_a_verified_exit_emits_that_layers_own_argmax_and_it_is_a_candidate(eager: Engine) -> None:
    trace = run(eager, max_new_tokens=60)
    early = [r for r in trace.emitted if r.emitted and r.emitted.exit_layer < DEPTH and r.token > 0]
    assert early, "a random drafter over a small vocabulary should hit at least once in 60 tokens"
    for record in early:
        assert record.emitted is not None
        assert record.draft is not None
        last = record.emitted.exit_layer - 1
        assert record.emitted.reason is ExitReason.VERIFIED
        assert record.verified[last].argmax_id == record.emitted.token_id
        assert record.emitted.token_id == record.draft.candidate_ids[record.verified[last].candidate_rank]


def test_that_a_refused_proposal_goes_on_to_the_next_layer(eager: Engine) -> None:
    trace = run(eager)
    refused = [v for v in of_type(trace, Verified) if not v.accepted]
    assert refused
    for check in refused:
        record = trace.records[check.token]
        assert check.argmax_id not in record.draft.candidate_ids
        assert record.layers_run > check.layer + 1 or record.emitted is None


def test_that_recompute_emits_the_argmax_that_full_depth_keys_and_values_give(eager: Engine, tiny: LoadedModel) -> None:
    """Teacher-forcing the emitted text at full depth gives, at each exit layer, the same token."""
    trace = run(eager, max_new_tokens=60)
    context = list(trace.started.prompt_ids) + ids(trace)
    with torch.inference_mode():
        cache = tiny.decoder.new_cache(len(context))
        rows = tiny.decoder.rows(range(len(context)), len(context))
        x, argmax = tiny.decoder.embed(torch.tensor(context)), []
        for layer in range(DEPTH):
            x = tiny.decoder.layer(layer, x, rows, cache)
            argmax.append(tiny.decoder.logits(tiny.decoder.norm(x)).argmax(-1))
    prompt = len(trace.started.prompt_ids)
    for record in trace.emitted:
        assert record.emitted is not None
        assert argmax[record.emitted.exit_layer - 1][prompt - 1 + record.token] == record.emitted.token_id


def test_that_hole_differs_from_recompute_only_after_an_exit(eager: Engine) -> None:
    recompute, hole = run(eager, max_new_tokens=60), run(eager, max_new_tokens=60, kv_policy=KVPolicy.HOLE)
    first_exit = int(np.flatnonzero(recompute.exit_layers < DEPTH)[0])
    assert ids(hole)[: first_exit + 1] == ids(recompute)[: first_exit + 1]
    assert not any(len(e.recomputed) for e in of_type(hole, KVUpdated))
    assert any(len(e.recomputed) for e in of_type(recompute, KVUpdated))


def test_that_the_first_token_comes_from_prefill_at_full_depth(eager: Engine) -> None:
    first = of_type(run(eager), TokenEmitted)[0]
    assert (first.exit_layer, first.reason) == (DEPTH, ExitReason.PREFILL)


def test_that_each_token_is_told_in_the_order_draft_schedule_layers_kv_emitted(eager: Engine) -> None:
    order = {DraftProposed: 0, ScheduleChosen: 1, LayerRun: 2, Verified: 2, KVUpdated: 3, TokenEmitted: 4}
    events = [e for e in run(eager).events if type(e) in order][1:]
    previous = (0, 0)
    for event in events:
        assert (event.token, order[type(event)]) >= previous
        previous = (event.token, order[type(event)])


def test_that_layers_are_told_one_by_one_up_to_the_exit(eager: Engine) -> None:
    trace = run(eager)
    for record in trace.emitted[1:]:
        layers = [e.layer for e in of_type(trace, LayerRun) if e.token == record.token]
        assert layers == list(range(record.emitted.exit_layer))


def test_that_the_ring_holds_the_last_exits_as_indices_and_never_prefill(eager: Engine) -> None:
    trace = run(eager, policy=Policy.SPECEE_T1T2, scheduler=SchedulerSettings(window=3, radius=1, offline_layers=2))
    for event in of_type(trace, ScheduleChosen):
        expected = list(range(max(1, event.token - 3), event.token))
        assert event.ring_tokens.tolist() == expected
        assert event.ring_layers.tolist() == [int(trace.exit_layers[t]) - 1 for t in expected]
        assert np.flatnonzero(event.offline).tolist() == [1, 3]


def test_that_a_second_run_starts_with_an_empty_ring(eager: Engine) -> None:
    run(eager, policy=Policy.SPECEE_T1T2)
    schedules = of_type(run(eager, policy=Policy.SPECEE_T1T2), ScheduleChosen)
    assert len(schedules[0].ring_layers) == 0


def test_that_only_active_layers_are_judged(eager: Engine) -> None:
    trace = run(eager, policy=Policy.SPECEE_T1T2, scheduler=SchedulerSettings(radius=0, offline_layers=1))
    for record in trace.emitted[1:]:
        watched = np.flatnonzero(record.schedule.active)
        judged = np.flatnonzero(record.evaluated)
        assert judged.tolist() == [w for w in watched if w < record.emitted.exit_layer]


def test_that_variations_are_taken_to_the_last_judged_layer(eager: Engine) -> None:
    trace = run(eager, policy=Policy.SPECEE_T1T2, threshold=1.0)
    for record in trace.emitted[1:]:
        judged = np.flatnonzero(record.evaluated)
        local, variation = record.features[judged, 4:8], record.features[judged, 8:]
        np.testing.assert_allclose(variation[1:], np.diff(local, axis=0), atol=1e-6)
        np.testing.assert_array_equal(variation[0], local[0])


def test_that_a_threshold_of_one_never_exits(eager: Engine) -> None:
    assert set(run(eager, threshold=1.0).exit_layers) == {DEPTH}


def test_that_the_run_tells_its_settings_model_and_prompt(eager: Engine, tiny: LoadedModel) -> None:
    trace = run(eager, policy=Policy.SPECEE_T1T2)
    started = trace.started
    assert isinstance(started, RunStarted)
    assert started.model == tiny.info
    assert started.prompt_ids.tolist() == tiny.tokenizer.encode_chat(PROMPT)
    assert RunSettings.from_json(started.settings.to_json()) == started.settings


def test_that_stage_times_never_exceed_the_tokens_time(eager: Engine) -> None:
    for event in of_type(run(eager), TokenEmitted):
        times = dataclasses.asdict(event.times)
        total = times.pop("total")
        assert 0 < sum(times.values()) <= total


def test_that_a_clock_that_stands_still_gives_no_time(eager: Engine) -> None:
    request = RunRequest(PROMPT, RunSettings(Policy.SPECEE_T1, max_new_tokens=3))
    trace = Trace.of(eager.run(request, threading.Event(), clock=lambda: 1.0))
    assert all(e.times.total == 0 for e in of_type(trace, TokenEmitted))


def stop_at(events: Iterator, stop: threading.Event, kind: type) -> list:
    """Consume `events`, setting `stop` at the first event of `kind`; what came after it."""
    after, seen = [], False
    for event in events:
        if seen:
            after.append(event)
        elif isinstance(event, kind):
            stop.set()
            seen = True
    return after


@pytest.mark.parametrize("kind", [LayerRun, TokenEmitted, RunStarted, DraftProposed])
def test_that_stop_acts_before_another_layer_is_run(eager: Engine, kind: type) -> None:
    stop = threading.Event()
    request = RunRequest(PROMPT, RunSettings(Policy.SPECEE_T1, threshold=1.0))
    after = stop_at(eager.run(request, stop), stop, kind)
    assert not any(isinstance(e, LayerRun) for e in after)
    assert isinstance(after[-1], RunEnded)
    assert after[-1].reason is EndReason.STOPPED


@pytest.mark.parametrize("asked", [{"policy": Policy.ORACLE}, {"policy": Policy.FIXED, "record": Record.AUDIT}])
def test_that_stop_acts_between_the_layers_that_are_run_on_the_side(tiny: LoadedModel, asked: dict) -> None:
    stop, calls = threading.Event(), 0
    run_layer = tiny.decoder.layer

    def counted(index: int, *rest: object) -> torch.Tensor:
        nonlocal calls
        calls += stop.is_set()
        if prefilled and index == 2:
            stop.set()
        return run_layer(index, *rest)  # type: ignore[arg-type]

    prefilled = False
    request = RunRequest(PROMPT, RunSettings(**asked, max_new_tokens=3))
    engine = Engine(dataclasses.replace(tiny))
    tiny.decoder.layer = counted  # type: ignore[method-assign]
    try:
        for event in engine.run(request, stop):
            prefilled |= isinstance(event, TokenEmitted)
    finally:
        del tiny.decoder.layer
    assert isinstance(event, RunEnded)
    assert event.reason is EndReason.STOPPED
    assert calls == 0


def test_that_the_head_is_counted_as_verification_for_the_first_token_too(tiny: LoadedModel) -> None:
    ticks = itertools.count()
    request = RunRequest(PROMPT, RunSettings(Policy.DENSE, max_new_tokens=2))
    emitted = of_type(Trace.of(Engine(tiny).run(request, threading.Event(), lambda: next(ticks))), TokenEmitted)
    assert [event.times.verification for event in emitted] == [1, 1]


def test_that_the_token_limit_ends_the_run(eager: Engine) -> None:
    trace = run(eager, max_new_tokens=5)
    assert trace.emitted_count == 5
    assert trace.ended.reason is EndReason.MAX_NEW_TOKENS


def test_that_any_end_of_text_token_ends_the_run(tiny: LoadedModel) -> None:
    dense = run(Engine(tiny), policy=Policy.DENSE)
    third = ids(dense)[2]
    ending = dataclasses.replace(tiny)
    object.__setattr__(ending, "tokenizer", _EndsAt(tiny.tokenizer, third))
    trace = run(Engine(ending), policy=Policy.DENSE)
    assert trace.ended.reason is EndReason.END_OF_TEXT
    assert ids(trace)[-1] == third
    assert ids(trace) == ids(dense)[: trace.emitted_count]


class _EndsAt:
    """A tokenizer for which one more token ends the text."""

    def __init__(self, tokenizer: object, token_id: int) -> None:
        self._tokenizer = tokenizer
        self.end_ids = frozenset({token_id})

    def __getattr__(self, name: str) -> object:
        return getattr(self._tokenizer, name)


def test_that_a_full_context_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    small = load_model(make_tiny_model(tmp_path / "small", depth=2, context=48), dtype=DType.FLOAT32, threads=1)
    trace = run(Engine(small), policy=Policy.DENSE, max_new_tokens=500, chat_template=False)
    assert trace.ended.reason in (EndReason.CONTEXT_FULL, EndReason.END_OF_TEXT)
    assert trace.ended.reason is EndReason.CONTEXT_FULL
    assert len(trace.started.prompt_ids) + trace.emitted_count == 49


def test_that_logits_that_are_not_numbers_end_the_run_with_a_sentence(tiny_folder: Path) -> None:
    broken = load_model(tiny_folder, dtype=DType.FLOAT32, threads=1)
    broken.decoder.final_norm = torch.full_like(broken.decoder.final_norm, torch.nan)
    trace = run(Engine(broken), policy=Policy.DENSE)
    assert trace.ended.reason is EndReason.FAILED
    assert "not finite" in trace.ended.detail


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"prompt": ""}, "The prompt is empty"),
        ({"prompt": " \n\t "}, "The prompt is empty"),
        ({"prompt": "a\udcff"}, "holds broken characters"),
        ({"stop": ("ok", "\udcff")}, "A stop string holds broken characters"),
        ({"prompt": "fox " * 300}, "context holds 256; shorten"),
        ({"policy": Policy.SPECEE_T1T2, "scheduler": SchedulerSettings(offline_layers=6)}, "between 0 and 5"),
        ({"policy": Policy.SPECEE_T1T2, "scheduler": SchedulerSettings(radius=9, offline_layers=1)}, "between 0 and 5"),
    ],
)
def test_that_a_request_that_cannot_run_is_refused_before_the_first_event(
    eager: Engine, changes: dict, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        run(eager, **changes)


def test_that_specee_without_trained_parts_says_how_to_make_them(tiny: LoadedModel) -> None:
    with pytest.raises(UserError, match="specee-viewer train"):
        run(Engine(tiny))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"threshold": float("nan")}, "between 0 and 1"),
        ({"max_new_tokens": 0}, "ask for at least 1"),
        ({"max_new_tokens": -3}, "ask for at least 1"),
    ],
)
def test_that_settings_out_of_range_are_refused_when_made(values: dict, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        RunSettings(**values)


@pytest.mark.parametrize("values", [{"window": 0}, {"radius": -1}, {"offline_layers": -1}, {"window": 5000}])
def test_that_scheduler_settings_out_of_range_are_refused_when_made(values: dict) -> None:
    with pytest.raises(UserError, match="must be between"):
        SchedulerSettings(**values)
