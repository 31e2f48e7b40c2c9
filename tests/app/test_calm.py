"""What keeps the window moving: a collector that rests, and libraries that are loaded before their package."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from app import calm
from app.calm import calm_collector, load_library

ROOT = Path(calm.__file__).resolve().parent.parent


@pytest.mark.parametrize("was_on", [True, False])
def test_that_the_collector_rests_inside_and_is_as_before_afterwards(was_on: bool) -> None:
    try:
        (gc.enable if was_on else gc.disable)()
        with calm_collector():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the import loads it")
def test_that_torchs_largest_library_is_there_before_torch_and_torch_finds_it() -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from app.calm import load_library\n"
        "assert load_library('torch', 'libtorch_cpu.so')\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'libtorch_cpu.so' in Path('/proc/self/maps').read_text()\n"
        "import torch\n"
        "assert int(torch.ones(3).sum()) == 3\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("package", "library"), [("no_such_package", "a.so"), ("numpy", "a.so"), ("pytest", "a.so")])
def test_that_a_library_that_is_not_there_is_left_to_the_import(package: str, library: str) -> None:
    assert not load_library(package, library)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives each thread a heap, and tells of them")
@pytest.mark.parametrize(("chosen", "most"), [(None, 2), ("4", 4)])
def test_that_threads_share_a_heap_unless_the_user_has_chosen(chosen: str | None, most: int) -> None:
    program = (
        "import ctypes, os, threading\n"
        "from app.calm import share_heaps\n"
        "share_heaps()\n"
        "c = ctypes.CDLL(None)\n"
        "c.malloc.restype = ctypes.c_void_p\n"
        "there = threading.Barrier(6)\n"
        "def take(): c.malloc(3000), there.wait()\n"
        "threads = [threading.Thread(target=take) for _ in range(6)]\n"
        "[thread.start() for thread in threads], [thread.join() for thread in threads]\n"
        "c.fopen.restype, c.fopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_char_p)\n"
        "c.malloc_info(0, ctypes.c_void_p(c.fopen(b'/dev/stdout', b'w'))), c.fflush(None)\n"
    )
    kept = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    env = kept | ({"MALLOC_ARENA_MAX": chosen} if chosen else {})
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.count("<heap nr=") == most, done.stderr
