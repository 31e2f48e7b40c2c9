from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from widgets.throttle import STRIDE, Throttle


@pytest.fixture
def throttle(qtbot: QtBot) -> Throttle:
    """Its own timer never fires within a test: the tests are its clock."""
    return Throttle(interval_ms=1_000_000)


def test_that_no_tick_runs_more_than_one_update(throttle: Throttle) -> None:
    ran: list[str] = []
    for key in "abc":
        throttle.request(key, lambda key=key: ran.append(key))
    throttle.tick()
    assert ran == ["a"]
    throttle.tick()
    throttle.tick()
    assert ran == ["a", "b", "c"]


def test_that_only_the_newest_update_of_a_key_runs(throttle: Throttle) -> None:
    ran: list[int] = []
    for i in range(5):
        throttle.request("plot", lambda i=i: ran.append(i))
    throttle.tick()
    throttle.tick()
    assert ran == [4]


def test_that_a_view_that_asks_all_the_time_starves_nobody(throttle: Throttle) -> None:
    ran: list[str] = []

    def greedy() -> None:
        ran.append("greedy")
        throttle.request("greedy", greedy)

    throttle.request("greedy", greedy)
    throttle.request("modest", lambda: ran.append("modest"))
    for _ in range(3):
        throttle.request("greedy", greedy)
        throttle.tick()
    assert ran == ["greedy", "modest", "greedy"]


def test_that_the_timer_runs_only_while_something_waits(throttle: Throttle) -> None:
    assert not throttle.timer.isActive()
    throttle.request("plot", lambda: None)
    assert throttle.timer.isActive()
    throttle.tick()
    assert throttle.idle
    assert not throttle.timer.isActive()


def test_that_flush_runs_all_that_waits_at_once(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.request("a", lambda: ran.append("a"))
    throttle.request("b", lambda: ran.append("b"))
    throttle.flush()
    assert ran == ["a", "b"]
    assert not throttle.timer.isActive()


def test_that_an_update_asked_for_during_a_flush_waits_for_its_tick(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.request("a", lambda: throttle.request("a", lambda: ran.append("later")))
    throttle.flush()
    assert ran == []
    assert throttle.timer.isActive()
    throttle.tick()
    assert ran == ["later"]


def test_that_a_failing_update_is_not_tried_again_and_holds_up_no_other(throttle: Throttle) -> None:
    ran: list[str] = []

    def fail() -> None:
        raise ValueError("broken view")

    throttle.request("bad", fail)
    throttle.request("good", lambda: ran.append("good"))
    with pytest.raises(ValueError, match="broken view"):
        throttle.tick()
    throttle.tick()
    assert ran == ["good"]
    assert throttle.idle


def test_that_a_cancelled_update_never_runs(throttle: Throttle) -> None:
    throttle.request("plot", lambda: pytest.fail("it ran"))
    throttle.cancel("plot")
    throttle.tick()
    assert throttle.idle


def test_that_the_real_timer_runs_what_was_asked_for_and_then_stops(qtbot: QtBot) -> None:
    throttle = Throttle()
    ran: list[str] = []
    throttle.request("plot", lambda: ran.append("plot"))
    qtbot.waitUntil(lambda: throttle.idle)
    assert ran == ["plot"]
    assert not throttle.timer.isActive()


def asked(throttle: Throttle, ran: list[str], keys: str, *, patient: bool) -> None:
    for key in keys:
        throttle.request(key, lambda key=key: ran.append(key), patient=patient)


def test_that_patient_updates_of_a_calm_window_take_turns_and_leave_frames_to_the_others(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    for _ in range(4 * STRIDE):
        asked(throttle, ran, "abc", patient=True)
        asked(throttle, ran, "x", patient=False)
        throttle.tick()
    assert "".join(ran).replace("x", "") == "abca"
    assert len(ran) == 4 * STRIDE
    assert all("x" * (STRIDE - 1) in stretch for stretch in "".join(ran).split("abc"))


def test_that_nothing_is_spread_where_the_window_is_not_calm(throttle: Throttle) -> None:
    ran: list[str] = []
    asked(throttle, ran, "abc", patient=True)
    for _ in "abc":
        throttle.tick()
    assert ran == ["a", "b", "c"]


def test_that_what_waits_patiently_comes_one_a_frame_once_the_calm_is_over(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    asked(throttle, ran, "abcd", patient=True)
    throttle.tick()
    assert ran == ["a"]
    throttle.set_calm(False)
    for _ in "bcd":
        throttle.tick()
    assert ran == ["a", "b", "c", "d"]
    assert throttle.idle


def test_that_an_update_that_becomes_urgent_is_run_once_and_does_not_become_patient_again(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    asked(throttle, ran, "ab", patient=True)
    throttle.tick()
    asked(throttle, ran, "b", patient=False)
    asked(throttle, ran, "b", patient=True)
    throttle.tick()
    assert ran == ["a", "b"]
    assert throttle.idle


def test_that_patient_updates_are_flushed_and_cancelled_as_others(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    asked(throttle, ran, "abc", patient=True)
    throttle.cancel("b")
    throttle.flush()
    assert ran == ["a", "c"]
    assert throttle.idle
    assert not throttle.timer.isActive()


@pytest.mark.parametrize("calm", [True, False])
def test_that_only_in_calm_the_next_frame_counts_from_the_end_of_an_update(
    throttle: Throttle, monkeypatch: pytest.MonkeyPatch, calm: bool
) -> None:
    order: list[str] = []
    throttle.set_calm(calm)
    throttle.request("a", lambda: order.append("update"))
    throttle.request("b", lambda: None)
    monkeypatch.setattr(throttle.timer, "start", lambda: order.append("counts anew"))
    throttle.tick()
    assert order == (["update", "counts anew"] if calm else ["update"])


def turns(ran: list[str], words: str, fails_after: str = "") -> Iterator[None]:
    """A stretch of work for each letter."""
    for word in words:
        ran.append(word)
        if word == fails_after:
            raise ValueError("broken view")
        yield


def test_that_in_calm_an_update_goes_one_stretch_a_tick_and_leaves_ticks_to_the_others(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    throttle.take_turns("plot", turns(ran, "123"))
    assert ran == ["1"]
    asked(throttle, ran, "x", patient=False)
    for _ in range(4):
        throttle.tick()
    assert ran == ["1", "2", "x", "3"]
    assert throttle.idle


def test_that_an_update_has_no_turns_where_the_window_is_not_calm(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.take_turns("plot", turns(ran, "123"))
    assert ran == ["1", "2", "3"]
    assert throttle.idle


def test_that_what_is_left_comes_in_one_tick_once_the_calm_is_over(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    throttle.take_turns("plot", turns(ran, "1234"))
    throttle.set_calm(False)
    assert ran == ["1"]
    throttle.tick()
    assert ran == ["1", "2", "3", "4"]
    assert throttle.idle


@pytest.mark.parametrize("patient", [True, False])
def test_that_an_update_of_a_key_waits_until_its_turns_are_over(throttle: Throttle, patient: bool) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    throttle.take_turns("a", turns(ran, "123"))
    for _ in range(3):
        asked(throttle, ran, "a", patient=patient)
        throttle.tick()
    assert ran == ["1", "2", "3"]
    for _ in range(STRIDE):
        throttle.tick()
    assert ran == ["1", "2", "3", "a"]


def test_that_turns_come_to_their_end_however_often_their_key_asks(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    for _ in range(20):
        throttle.request("strip", lambda: throttle.take_turns("strip", turns(ran, "123")))
        asked(throttle, ran, "xy", patient=False)
        throttle.tick()
    assert ran.count("3") >= 20 // (3 * len("sxy")) - 1 > 0


def test_that_an_update_that_begins_anew_forgets_what_was_left_of_it(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    throttle.take_turns("plot", turns(ran, "123"))
    throttle.take_turns("plot", turns(ran, "abc"))
    for _ in range(3):
        throttle.tick()
    assert ran == ["1", "a", "b", "c"]
    assert throttle.idle


def test_that_turns_that_are_cancelled_end_there(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    throttle.take_turns("plot", turns(ran, "123"))
    throttle.take_turns("other", turns(ran, "abc"))
    throttle.cancel("plot")
    for _ in range(3):
        throttle.tick()
    assert ran == ["1", "a", "b", "c"]
    assert throttle.idle


@pytest.mark.parametrize("calm", [True, False])
def test_that_flushing_ends_turns_before_it_runs_what_waits_for_them(throttle: Throttle, calm: bool) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    asked(throttle, ran, "a", patient=True)
    throttle.take_turns("a", turns(ran, "123"))
    throttle.set_calm(calm)
    while not throttle.idle:
        throttle.flush()
    assert ran == ["1", "2", "3", "a"]
    assert not throttle.timer.isActive()


def test_that_turns_that_fail_are_over_and_the_next_update_of_their_key_runs(throttle: Throttle) -> None:
    ran: list[str] = []
    throttle.set_calm(True)
    throttle.take_turns("a", turns(ran, "123", fails_after="2"))
    asked(throttle, ran, "a", patient=False)
    with pytest.raises(ValueError, match="broken view"):
        throttle.tick()
    throttle.tick()
    assert ran == ["1", "2", "a"]
    assert throttle.idle


def test_that_ticks_come_twice_as_often_in_calm_and_as_before_after_it(throttle: Throttle) -> None:
    before = throttle.timer.interval()
    for on, interval in ((True, before // 2), (True, before // 2), (False, before), (False, before)):
        throttle.set_calm(on)
        assert throttle.timer.interval() == interval
