"""`specee-viewer run`, on scripted engines."""

from __future__ import annotations

import dataclasses
import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from app import cli, loader
from app.choices import NO_TEMPLATE
from app.commands import console
from core.choices import DType, KVPolicy, Policy, Record
from core.config import RunSettings, SamplingSettings, SchedulerSettings
from core.errors import UserError
from core.progress import Cancelled, Progress, Report, check
from core.trace.events import (
    EndReason,
    Event,
    ExitReason,
    ModelInfo,
    RunEnded,
    RunStarted,
    ScheduleChosen,
    StageTimes,
    TokenEmitted,
)

JSON_KEYS = [
    "text",
    "token_ids",
    "exit_layers",
    "mean_exit_layer",
    "tokens_per_second",
    "active_layers_mean",
    "acceptance_length",
    "agreement",
    "shortlist_miss_rate",
]
DEPTH = 4
INFO = ModelInfo("tiny", "f" * 8, "LlamaForCausalLM", DEPTH, 8, 300, 256, "float32", "cpu", 1)
SMILE = "😀".encode()
PROBLEM = "Nothing is trained for this model."


class ScriptedEngine:
    """Emits these tokens; `on_token` is called before each one."""

    def __init__(self, *tokens: bytes, end: EndReason = EndReason.END_OF_TEXT) -> None:
        self.tokens = tokens
        self.end = end
        self.requests: list[loader.ModelRequest] = []
        self.settings: RunSettings | None = None

    def on_token(self, index: int) -> None:
        """Nothing, unless a test replaces it."""

    def run(
        self, prompt: str, settings: RunSettings, run: int, stop: threading.Event, clock: Callable[[], float]
    ) -> Iterator[Event]:
        self.settings = settings
        yield RunStarted(run, settings, INFO, prompt, np.arange(3), np.arange(0), {})
        for index, token in enumerate(self.tokens):
            self.on_token(index)
            if stop.is_set():
                yield RunEnded(run, EndReason.STOPPED, "Stopped.")
                return
            yield from token_events(run, index, token)
        yield RunEnded(run, self.end, "The end.")


def token_events(run: int, index: int, token: bytes) -> Iterator[Event]:
    if index:
        active = np.array([True, False, True, False])
        nobody = np.zeros(DEPTH, bool)
        yield ScheduleChosen(run, index, active, nobody, np.zeros(DEPTH, np.int64), np.arange(0), np.arange(0))
    exit_layer, reason = (3, ExitReason.VERIFIED) if index else (DEPTH, ExitReason.PREFILL)
    special = token.startswith(b"<|")
    yield TokenEmitted(run, index, 10 + index, token, special, exit_layer, reason, StageTimes(total=0.5))


def use(
    monkeypatch: pytest.MonkeyPatch,
    engine: ScriptedEngine,
    *,
    has_parts: bool = True,
    depth: int = DEPTH,
    has_chat_template: bool = True,
) -> ScriptedEngine:
    def load(request: loader.ModelRequest, report: Report, cancel: threading.Event) -> loader.LoadedEngine:
        engine.requests.append(request)
        report(Progress("Loading weights", 1, 2, "layers"))
        check(cancel)
        info = dataclasses.replace(INFO, depth=depth)
        problem = "" if has_parts else PROBLEM
        summary = loader.LoadedSummary(request, info, has_parts, problem, has_chat_template=has_chat_template)
        return loader.LoadedEngine(summary, engine.run)

    monkeypatch.setattr(loader, "load_engine", load)
    return engine


def test_that_the_text_is_printed_without_control_tokens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"Hi ", SMILE[:2], SMILE[2:], b"<|im_end|>"))
    assert cli.main(["run", "--prompt", "x"]) == 0
    assert capsys.readouterr() == ("Hi 😀\n", "")


def test_that_each_piece_of_text_is_out_before_the_next_token_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"one ", b"two ", SMILE[:2], SMILE[2:]))
    seen: list[str] = []
    monkeypatch.setattr(engine, "on_token", lambda index: seen.append(capsys.readouterr().out))
    cli.main(["run", "--prompt", "x"])
    assert [*seen, capsys.readouterr().out] == ["", "one ", "two ", "", "😀\n"]


def test_that_bytes_cut_off_at_the_end_show_as_a_replacement_mark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a", SMILE[:2]))
    cli.main(["run", "--prompt", "x"])
    assert capsys.readouterr().out == "a\N{REPLACEMENT CHARACTER}\n"


def test_that_json_is_one_object_with_exactly_the_promised_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a", SMILE, b"<|im_end|>"))
    assert cli.main(["run", "--prompt", "x", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result) == JSON_KEYS
    assert result == {
        "text": "a😀",
        "token_ids": [10, 11, 12],
        "exit_layers": [4, 3, 3],
        "mean_exit_layer": 3.0,
        "tokens_per_second": 2.0,
        "active_layers_mean": 2.0,
        "acceptance_length": None,
        "agreement": None,
        "shortlist_miss_rate": None,
    }


def test_that_what_was_not_measured_is_null_in_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a"))
    cli.main(["run", "--prompt", "x", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (result["mean_exit_layer"], result["tokens_per_second"], result["active_layers_mean"]) == (None, None, None)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_that_ctrl_c_prints_what_there_is_and_leaves_with_130(
    flags: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"one ", b"two ", b"three"))
    monkeypatch.setattr(engine, "on_token", lambda index: index == 2 and signal.raise_signal(signal.SIGINT))
    assert cli.main(["run", "--prompt", "x", *flags]) == 130
    out, err = capsys.readouterr()
    assert (json.loads(out)["text"] if flags else out.rstrip("\n")) == "one two "
    assert err == ""


def test_that_ctrl_c_while_loading_leaves_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_: object, report: Report, cancel: threading.Event) -> loader.LoadedEngine:
        signal.raise_signal(signal.SIGINT)
        assert cancel.is_set()
        raise Cancelled("Cancelled; nothing was changed.")

    monkeypatch.setattr(loader, "load_engine", load)
    assert cli.main(["run", "--prompt", "x"]) == 130


def test_that_a_second_ctrl_c_does_not_wait() -> None:
    before = signal.getsignal(signal.SIGINT)
    with console.interruptible() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_that_an_engine_that_failed_midway_leaves_with_1_and_its_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a", end=EndReason.FAILED))
    assert cli.main(["run", "--prompt", "x"]) == 1
    assert capsys.readouterr() == ("a\n", "The end.\n")


def test_that_flags_reach_the_loader_and_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"))
    flags = "--policy specee-t1 --threshold 0.75 --window 7 --radius 1 --offline-layers 2 --kv-policy hole"
    flags += " --max-new-tokens 9 --no-chat-template --dtype bfloat16 --threads 3 --device cuda:1 --distinct"
    flags += " --temperature 0.5 --top-p 0.9 --seed 7 --stop END --stop Q: --record audit --model here --parts"
    cli.main(["run", "--prompt", "x", *flags.split(), str(tmp_path)])
    assert engine.requests == [
        loader.ModelRequest(
            ref="here", dtype=DType.BFLOAT16, threads=3, device="cuda:1", parts_folder=tmp_path, fetch=True
        )
    ]
    assert engine.settings == RunSettings(
        policy=Policy.SPECEE_T1,
        threshold=0.75,
        scheduler=SchedulerSettings(window=7, radius=1, offline_layers=2, distinct=True),
        kv_policy=KVPolicy.HOLE,
        max_new_tokens=9,
        chat_template=False,
        record=Record.AUDIT,
        sampling=SamplingSettings(0.5, 0.9, 7),
        stop=("END", "Q:"),
    )


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("calm", {"policy": Policy.CALM}),
        ("fixed:3", {"policy": Policy.FIXED, "fixed_layer": 3}),
        ("adainfer-crf", {"policy": Policy.ADAINFER_CRF}),
        ("my.py:Mine", {"policy": Policy.CUSTOM, "custom": "my.py:Mine"}),
    ],
)
def test_that_every_policy_can_be_named(text: str, fields: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"), depth=30)
    assert cli.main(["run", "--prompt", "x", "--policy", text]) == 0
    assert engine.settings == RunSettings(**fields)  # type: ignore[arg-type]


def test_that_a_fixed_layer_beyond_the_model_is_refused_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"))
    assert cli.main(["run", "--prompt", "x", "--policy", "fixed:5"]) == 2
    assert engine.settings is None


def test_that_without_recording_text_and_figures_are_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for record in ("off", "live"):
        use(monkeypatch, ScriptedEngine(b"a", b"b"))
        cli.main(["run", "--prompt", "x", "--json", "--record", record])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_that_the_defaults_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"), depth=30)
    cli.main(["run", "--prompt", "x"])
    assert engine.settings == RunSettings()


def test_that_default_m_and_r_shrink_to_a_shallow_model(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"), depth=2)
    assert cli.main(["run", "--prompt", "x"]) == 0
    assert engine.settings is not None
    assert engine.settings.scheduler == SchedulerSettings(offline_layers=1, radius=1)


def test_that_a_model_without_parts_runs_dense_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"), has_parts=False)
    assert cli.main(["run", "--prompt", "x"]) == 0
    assert engine.settings is not None
    assert engine.settings.policy is Policy.DENSE
    assert capsys.readouterr() == ("a\n", f"{PROBLEM} This run is dense.\n")


@pytest.mark.parametrize(("flags", "told"), [((), f"{NO_TEMPLATE}\n"), (("--no-chat-template",), "")])
def test_that_a_chat_template_that_is_not_there_is_told_of_where_one_is_wanted(
    flags: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a"), has_chat_template=False)
    assert cli.main(["run", "--prompt", "x", *flags]) == 0
    assert capsys.readouterr() == ("a\n", told)


def test_that_a_policy_asked_for_by_name_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"), has_parts=False)
    cli.main(["run", "--prompt", "x", "--policy", "specee-t1"])
    assert engine.settings is not None
    assert engine.settings.policy is Policy.SPECEE_T1


@pytest.mark.parametrize("flag", ["--offline-layers", "--radius"])
def test_that_what_does_not_fit_the_models_depth_is_refused_before_it_runs(
    flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"), has_parts=False)
    assert cli.main(["run", "--prompt", "x", flag, "4"]) == 2
    assert engine.settings is None
    assert capsys.readouterr().err.count("\n") == 1


def test_that_a_refused_run_says_nothing_but_its_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = use(monkeypatch, ScriptedEngine(), has_parts=False)

    def refuse(*_: object) -> Iterator[Event]:
        raise UserError("The prompt is longer than the context; shorten it.")
        yield

    monkeypatch.setattr(engine, "run", refuse)
    assert cli.main(["run", "--prompt", "x"]) == 2
    assert capsys.readouterr() == ("", "The prompt is longer than the context; shorten it.\n")
