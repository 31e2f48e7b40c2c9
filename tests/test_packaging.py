"""What is installed: the same program from a checkout, a wheel or `-m`, under one name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import specee_viewer
from core import version

ROOT = Path(__file__).resolve().parent.parent
SOURCE_FOLDERS = ("app", "core", "widgets", "resources")
NOT_PACKED = shutil.ignore_patterns("__pycache__", "*.pyc")


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a child without the checkout on its path, unless `folder` is the checkout."""
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare copy of what a package is built from, with stray compiled files put in."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in (*SOURCE_FOLDERS, "specee_viewer"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=NOT_PACKED)
    for file in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "CHANGELOG.md", "dev.sh"):
        shutil.copy2(ROOT / file, tree / file)
    for stray in (tree / "core" / "stray.pyc", tree / "resources" / "__pycache__" / "stray.cpython-311.pyc"):
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"not to be packed")
    return tree


@pytest.fixture(scope="module")
def distributions(copied_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    built = run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copied_tree)], copied_tree)
    assert built.returncode == 0, built.stdout + built.stderr
    return out


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site-packages folder with the wheel in it."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(next(distributions.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    return site


def files_below(folder: Path) -> set[str]:
    """Relative paths of the files that belong in a package."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix() for path in paths}


def test_that_a_wheel_packs_exactly_the_files_of_the_tree(installed: Path) -> None:
    expected = files_below(ROOT / "specee_viewer")
    for folder in SOURCE_FOLDERS:
        expected |= {f"{folder}/{path}" for path in files_below(ROOT / folder)}
    assert files_below(installed / "specee_viewer") == expected


def test_that_no_compiled_file_is_packed(installed: Path, distributions: Path) -> None:
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as sdist:
        packed = sdist.getnames()
    assert not [name for name in packed if name.endswith(".pyc")]
    assert not list(installed.rglob("*.pyc"))


def test_that_a_wheel_adds_one_name_to_site_packages(installed: Path) -> None:
    assert [path.name for path in installed.iterdir() if path.suffix != ".dist-info"] == ["specee_viewer"]


def test_that_a_wheel_carries_the_licence_and_the_command(installed: Path) -> None:
    metadata = next(installed.glob("*.dist-info"))
    assert "Apache License" in (metadata / "licenses" / "LICENSE").read_text(encoding="utf-8")
    assert "specee-viewer = specee_viewer:main" in (metadata / "entry_points.txt").read_text(encoding="utf-8")


def test_that_an_installed_wheel_runs_its_own_copy_even_beside_a_foreign_core(installed: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    (foreign / "core").mkdir(parents=True)
    (foreign / "core" / "__init__.py").write_text("raise SystemExit('the foreign core was imported')")
    done = run([sys.executable, "-m", "specee_viewer", "--version"], foreign, PYTHONPATH=str(installed))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["specee-viewer", version.declared_version(ROOT / "pyproject.toml")]


def test_that_a_bare_checkout_runs_and_says_a_version(copied_tree: Path) -> None:
    done = run([sys.executable, "-m", "specee_viewer", "--version"], copied_tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("specee-viewer ")


def test_that_a_mistyped_command_leaves_with_2_and_one_sentence(copied_tree: Path) -> None:
    done = run([sys.executable, "-m", "specee_viewer", "no-such-command"], copied_tree)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_that_the_launcher_finds_the_sources_beside_it_in_a_checkout() -> None:
    assert specee_viewer.source_folder() == ROOT


def test_that_a_checkout_without_metadata_declares_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def no_metadata(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", no_metadata)
    assert version.version() == version.declared_version(ROOT / "pyproject.toml") != version.UNKNOWN


@pytest.mark.parametrize("text", ["", "[project]", "not toml = ["])
def test_that_an_unreadable_pyproject_gives_an_unknown_version(tmp_path: Path, text: str) -> None:
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(text)
    assert version.declared_version(pyproject) == version.UNKNOWN
    assert version.declared_version(tmp_path / "missing.toml") == version.UNKNOWN
