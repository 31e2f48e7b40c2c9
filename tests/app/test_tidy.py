"""Garbage is collected in quiet moments, and nowhere else for long."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.tidy import Tidy


class Knot:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.self = self


class Stage:
    def __init__(self) -> None:
        self.quiet = False
        self.tidy = Tidy(lambda: self.quiet)
        self.tidy._timer.stop()  # the tests are its clock


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    before = gc.get_threshold()
    made = Stage()
    yield made
    made.tidy.close()
    assert gc.get_threshold() == before


def old_knot(generation: int) -> weakref.ref[Knot]:
    """Garbage that has outlived this many collections."""
    knot = Knot()
    for age in range(generation):
        gc.collect(age)
    return weakref.ref(knot)


def test_that_what_outlived_the_youngest_is_collected_while_a_run_goes_on(stage: Stage) -> None:
    knot = old_knot(1)
    assert knot() is not None
    stage.tidy.look()
    assert knot() is None


def test_that_everything_is_gone_through_once_and_only_when_all_is_quiet(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    knot = old_knot(2)
    collected: list[int] = []
    collect = gc.collect

    def noted(generation: int = 2) -> int:
        collected.append(generation)
        return collect(generation)

    monkeypatch.setattr(gc, "get_count", lambda: (0, 1, 0))
    monkeypatch.setattr(gc, "collect", noted)
    stage.tidy.look()
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 0))
    stage.tidy.look()
    assert knot() is not None
    stage.quiet = True
    for _ in range(3):
        stage.tidy.look()
    assert knot() is None
    assert collected == [1, 2]


def test_that_python_leaves_older_garbage_alone_meanwhile(stage: Stage) -> None:
    knot = old_knot(1)
    kept = [[number] for number in range(gc.get_threshold()[0] * 20)]
    assert knot() is not None
    assert len(kept)


def test_that_nothing_is_collected_while_the_collector_is_off(stage: Stage) -> None:
    knot, stage.quiet = old_knot(1), True
    gc.disable()
    try:
        for _ in range(3):
            stage.tidy.look()
        assert knot() is not None
    finally:
        gc.enable()
