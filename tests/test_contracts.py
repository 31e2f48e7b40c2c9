"""Which part may import which, and what each can do without."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE_FOLDERS = ("app", "core", "widgets", "resources")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, {root!r})
"""
"""The start of a program for a machine on which some packages are not installed."""

QT = ("PySide6", "shiboken6", "pyqtgraph")
STARTED_WITH = ("app.cli", "app.application", "app.main_window", "app.engine_worker", "app.session", "core.model.store")
"""What is imported before the window is painted; torch comes later, in the worker."""
TORCH = ("torch", "transformers", "accelerate", "safetensors")


def run_without(absent: Iterable[str], program: str) -> subprocess.CompletedProcess[str]:
    """Run `program` in a fresh Python that cannot import the packages `absent`."""
    start = WITHOUT.format(absent=set(absent), root=str(ROOT))
    return subprocess.run([sys.executable, "-c", start + program], capture_output=True, text=True, check=False)


def modules_of(*names: str) -> list[str]:
    """These modules and all below them, found without importing any."""
    found: list[str] = []
    for name in names:
        path = ROOT.joinpath(*name.split("."))
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        found += [dotted(file) for file in files if file.name != "__main__.py"]
    return found


def dotted(file: Path) -> str:
    """The name that a source file is imported by."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def importing(names: Iterable[str]) -> str:
    """A program that imports all of these."""
    return "".join(f"import {name}\n" for name in names)


def torch_free_modules() -> list[str]:
    """What the import contract lists, with everything below it."""
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    listed = next(c for c in contracts if c["name"] == "the torch-free modules stay torch-free")["source_modules"]
    return modules_of(*listed)


def test_that_every_import_contract_is_kept() -> None:
    program = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_that_core_and_its_tests_import_with_qt_uninstalled(tmp_path: Path) -> None:
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\nmarkers = model: needs the default model\n")
    tests = str(ROOT / "tests" / "core")
    # Nothing is run: rewriting each `assert` would take longer than all else.
    options = ["--collect-only", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:pytest-qt"]
    arguments = [*options, "-c", str(settings), tests]
    collect = f"import pytest\nsys.exit(pytest.main({arguments!r}))"
    done = run_without(QT, importing(modules_of("core")) + collect)
    assert done.returncode == 0, done.stdout + done.stderr


def test_that_reading_a_trace_and_drawing_it_need_no_torch() -> None:
    done = run_without(TORCH, importing(torch_free_modules()))
    assert done.returncode == 0, done.stderr


def test_that_the_window_opens_without_torch() -> None:
    done = run_without(TORCH, importing(STARTED_WITH))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", SOURCE_FOLDERS)
def test_that_every_folder_with_sources_is_a_package(name: str) -> None:
    """Without its `__init__.py` a folder loses to a foreign package of the same name."""
    folders = {path.parent for path in (ROOT / name).rglob("*.py")}
    assert not [str(folder) for folder in folders if not (folder / "__init__.py").is_file()]


def test_that_importing_core_imports_nothing() -> None:
    assert (ROOT / "core" / "__init__.py").read_text(encoding="utf-8") == ""


def test_that_views_never_ask_for_what_imports_masked_arrays() -> None:
    """`np.unique` imports `numpy.ma` when it is first called, for longer than a frame may take."""
    assert not [path.name for path in (ROOT / "widgets").glob("*.py") if "np.unique(" in path.read_text("utf-8")]
