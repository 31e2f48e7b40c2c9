"""The two-level scheduler keeps to SpecEE §5.3 and to `docs/rules.md`."""

from __future__ import annotations

import numpy as np
import pytest

from core.config import SchedulerSettings
from core.exits.scheduling import EveryLayer, TwoLevelScheduler, count_around

DEPTH = 32
RANKING = np.array([15, 16, 17, 19, 21, 24, 26, 28, 0, 1])


def scheduler(window: int = 5, radius: int = 2, offline: int = 0, distinct: bool = False) -> TwoLevelScheduler:
    return TwoLevelScheduler(SchedulerSettings(window, radius, offline, distinct), DEPTH, RANKING)


def layers(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(mask).tolist()


def test_that_the_worked_example_gives_its_counters() -> None:
    counters = count_around(np.array([16, 19, 20, 19, 20]), DEPTH, radius=1, distinct=True)
    expected = {15: 1, 16: 1, 17: 1, 18: 1, 19: 2, 20: 2, 21: 1}
    assert {layer: int(count) for layer, count in enumerate(counters) if count} == expected


def test_that_without_distinct_every_ring_entry_counts() -> None:
    counters = count_around(np.array([16, 19, 20, 19, 20]), DEPTH, radius=1, distinct=False)
    assert {layer: int(c) for layer, c in enumerate(counters) if c} == {15: 1, 16: 1, 17: 1, 18: 2, 19: 4, 20: 4, 21: 2}


def test_that_an_exit_activates_every_layer_within_the_radius_and_not_only_even_offsets() -> None:
    t2 = scheduler(radius=2)
    t2.record(1, 20)
    assert layers(t2.schedule().active) == [18, 19, 20, 21, 22]


def test_that_a_new_run_watches_the_offline_layers_alone() -> None:
    schedule = scheduler(offline=8).schedule()
    assert layers(schedule.active) == [15, 16, 17, 19, 21, 24, 26, 28]
    assert not schedule.counters.any()
    assert len(schedule.ring_layers) == 0


def test_that_the_active_set_is_the_union_of_both_levels() -> None:
    t2 = scheduler(radius=1, offline=2)
    t2.record(4, 9)
    schedule = t2.schedule()
    assert layers(schedule.active) == [8, 9, 10, 15, 16]
    assert layers(schedule.offline) == [15, 16]


def test_that_the_ring_forgets_all_but_the_last_n_exits() -> None:
    t2 = scheduler(window=2, radius=0)
    for token, layer in [(1, 5), (2, 10), (3, 12)]:
        t2.record(token, layer)
    schedule = t2.schedule()
    assert layers(schedule.active) == [10, 12]
    assert schedule.ring_tokens.tolist() == [2, 3]
    assert schedule.ring_layers.tolist() == [10, 12]


@pytest.mark.parametrize("exit_at", [31, 30])
def test_that_the_last_layer_is_never_watched(exit_at: int) -> None:
    t2 = scheduler(radius=2)
    t2.record(1, exit_at)
    assert layers(t2.schedule().active) == list(range(exit_at - 2, 31))


def test_that_exits_near_the_bottom_do_not_wrap_around() -> None:
    assert layers(count_around(np.array([1]), DEPTH, radius=3, distinct=False)) == [0, 1, 2, 3, 4]


def test_that_t1_alone_watches_all_but_the_last_layer_whatever_happened() -> None:
    t1 = EveryLayer(DEPTH)
    t1.record(1, 5)
    assert layers(t1.schedule().active) == list(range(31))
