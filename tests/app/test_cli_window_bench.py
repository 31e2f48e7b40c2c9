"""`specee-viewer bench --window`: the real window in a process of its own. No figure itself is tested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import cli
from app.commands import window_bench, window_long
from core.trace.events import TokenEmitted
from core.trace.session_file import SessionFile
from tests.tiny import make_tiny_model

PROMISED = ("first_paint_s", "idle_gap_p99_ms", "gap_p99_ms", "gap_max_ms", "load_stall_ms", "scrub_fps", "idle_cpu")
PROMISED += ("step_paint_ms", "step_cpu_ms", "open_100k_s", "idle_gap_max_ms", "watch_gap_p99_ms", "watch_gap_max_ms")
SHORT = 130
"""Tokens of what is a very long session otherwise: a little more than the sample's run twice."""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(window_bench, "SETTLE_MS", 0)
    monkeypatch.setattr(window_bench, "REST_MS", 100)
    monkeypatch.setattr(window_bench, "LONG", {"tokens": SHORT, "moves": 12, "steps": 3, "rounds": 2})
    return str(make_tiny_model(tmp_path / "tiny"))


def measure(model: str, *flags: str) -> int:
    return cli.main(["bench", "--window", "--model", model, "--repeats", "1", "--max-new-tokens", "4", *flags])


def test_that_the_window_measures_itself_and_closes(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(model, "--json", "--threads", "1", "--dtype", "float32") == 0
    out, err = capsys.readouterr()
    figures = json.loads(out)
    assert err == ""
    assert all(figures[key] > 0 for key in PROMISED)
    assert figures["gap_max_ms"] >= figures["gap_p99_ms"]
    assert figures["idle_gap_max_ms"] >= figures["idle_gap_p99_ms"]
    assert figures["watch_gap_max_ms"] >= figures["watch_gap_p99_ms"]
    assert figures["stolen"] is None or 0 <= figures["stolen"] <= 1
    assert (figures["platform"], figures["dtype"], figures["threads"]) == ("offscreen", "float32", 1)
    assert figures["tokens"] >= 6
    assert figures["long_tokens"] == SHORT
    assert figures["rss_growth"] > -1


def test_that_what_the_window_is_refused_becomes_one_sentence(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("sun " * 500, encoding="utf-8")
    assert measure(model, "--prompts", str(prompts)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "context" in err


def test_that_the_table_sets_each_figure_beside_what_we_hold_ourselves_to() -> None:
    measured = dict.fromkeys(PROMISED, 20.0) | {
        "model": "tiny",
        "dtype": "float32",
        "threads": 2,
        "tokens": 24,
        "policy": "dense",
        "tokens_per_second": 35.0,
        "platform": "offscreen",
        "rss_growth": 0.012,
        "stolen": None,
        "long_tokens": 100_000,
        "rss_mib": [900, 910],
    }
    lines = window_bench.table(measured).splitlines()
    assert len(lines) == len(PROMISED) + 5
    assert lines[0].endswith("at most 1")
    assert lines[4].endswith("at most 33")
    assert lines[14].split()[-5:] == ["1.20", "%", "at", "most", "5"]
    assert lines[7].endswith("not told by this system")
    assert "35.0 tokens/s" in lines[-2]
    assert lines[-1].endswith("memory was 900, 910 MiB after each round.")


def test_that_every_token_of_the_very_long_session_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "long.specee"
    window_long.write_long_session(path, SHORT)
    file = SessionFile(path)
    trace = file.trace(0)
    assert [record.token for record in trace.records] == list(range(SHORT))
    assert trace.emitted_count == SHORT
    assert trace.ended is not None
    assert [event.token for event in trace.events if isinstance(event, TokenEmitted)] == list(range(SHORT))
    assert trace.records[1].layers_run == trace.records[64].layers_run
    file.close()
