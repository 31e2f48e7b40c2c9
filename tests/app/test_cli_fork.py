"""`run --fork` on a real tiny model: a recorded run is left at a token and goes on, in a file beside its origin."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app import cli
from core.choices import Policy
from core.trace.events import Branch
from core.trace.marks import Mark
from core.trace.raw_runs import RawRun
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from tests.fakes import fake_run_events
from tests.tiny import make_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_tiny_model(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.fixture
def origin(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A recorded run of eight tokens with holes in its K/V."""
    path = tmp_path / "origin.specee"
    flags = ["--policy", "fixed:3", "--kv-policy", "hole", "--max-new-tokens", "8"]
    assert cli.main(["run", "--model", model, "--prompt", "the sky", *flags, "--out", str(path)]) == 0
    capsys.readouterr()
    return path


def test_that_a_fork_goes_on_as_its_origin_did_and_keeps_it_beside(
    model: str, origin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "branch.specee"
    assert cli.main(["run", "--model", model, "--fork", str(origin), "--at", "3", "--json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    with closing(SessionFile(out)) as file:
        first, second = (file.trace(run.number) for run in file.runs)
        assert first.overview.token_ids.tolist() == second.overview.token_ids.tolist() == told["token_ids"]
        assert first.exit_layers.tolist() == second.exit_layers.tolist()
        assert first.info.started.settings == second.info.started.settings
        branch = second.info.started.branch
        assert (branch.origin, branch.token, branch.given, branch.changed) == (0, 2, 3, ())


def test_that_flags_change_what_they_name_and_nothing_else(
    model: str, origin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, flags = tmp_path / "branch.specee", ["--token", " green", "--max-new-tokens", "128"]
    command = ["run", "--model", model, "--fork", str(origin), "--run", "1", "--at", "3", *flags, "--out", str(out)]
    assert cli.main(command) == 0
    assert " green" in capsys.readouterr().out
    with closing(SessionFile(out)) as file:
        first, second = (run.started for run in file.runs)
        assert second.settings == replace(first.settings, max_new_tokens=128)
        assert second.branch.changed[-1] == "max new tokens 8 → 128"


def test_that_a_branch_of_a_branch_keeps_its_whole_descent_with_bookmarks_and_the_windows_numbers(
    model: str, origin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = SessionWriter(tmp_path / "three.specee")
    with closing(SessionFile(origin)) as file:
        events = list(file.trace(0).events)
        writer.copy(RawRun.of(file, 0))
    for number, left in ((3, 0), (5, None)):  # as after runs that were refused
        first = replace(events[0], run=number, branch=None if left is None else Branch(left, 2, 3))
        for event in (first, *(replace(one, run=number) for one in events[1:])):
            writer.take(event)
    writer.put_mark(Mark(0, 4, None, "here"))
    writer.put_mark(Mark(5, 4, None, "another run's"))
    writer.close()
    out = tmp_path / "branch.specee"
    fork = ["run", "--model", model, "--fork", str(tmp_path / "three.specee"), "--at", "5"]
    assert cli.main([*fork, "--run", "2"]) == 2
    assert "has no run 2; it holds the runs 1, 4 and 6." in capsys.readouterr().err
    assert cli.main([*fork, "--run", "4", "--out", str(out)]) == 0
    with closing(SessionFile(out)) as file:
        assert [run.number for run in file.runs] == [0, 3, 6]
        assert [run.started.branch and run.started.branch.origin for run in file.runs] == [None, 0, 3]
        assert file.marks() == [Mark(0, 4, None, "here")]
    capsys.readouterr()
    assert cli.main(["diff", str(out), str(out), "--run-a", "1", "--run-b", "7"]) == 0
    assert "B is a branch from token 5 of run 4: nothing changed." in capsys.readouterr().out
    assert cli.main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        page.count('<h2 id="run-7">Run 7</h2>') == page.count("A branch from token 5 of run 4: nothing changed.") == 1
    )


def test_that_what_cannot_be_forked_is_one_sentence(
    model: str, origin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "theirs.specee"
    writer, (started, *events) = SessionWriter(theirs), fake_run_events(4)
    writer.take(replace(started, settings=replace(started.settings, policy=Policy.CUSTOM, custom="evil.py:Policy")))
    for event in events:
        writer.take(event)
    writer.close()
    fork = ["run", "--model", model, "--fork"]
    for command, words in (
        (["run", "--prompt", "x", "--at", "3"], "--at says where a run is left"),
        ([*fork, str(origin), "--at", "3", "--prompt", "x"], "leave out --prompt"),
        ([*fork, str(origin)], "--at is missing"),
        ([*fork, str(origin), "--at", "9"], "no token 9"),
        ([*fork, str(origin), "--at", "3", "--token", ""], "--token is empty"),
        ([*fork, str(origin), "--at", "8"], "raise the number of new tokens"),
        ([*fork, str(origin), "--at", "3", "--run", "2"], "has no run 2"),
        ([*fork, str(theirs), "--at", "3"], "name it with --policy"),
        ([*fork, str(theirs), "--at", "3", "--policy", "dense"], "was made by another model"),
    ):
        assert cli.main(command) == 2
        told = capsys.readouterr().err.strip()
        assert words in told
        assert "\n" not in told
