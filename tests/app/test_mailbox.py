from __future__ import annotations

from app.mailbox import Mailbox, RunOver
from core.progress import Progress
from tests.fakes import fake_run_events


def test_that_the_mailbox_asks_to_tell_once_until_it_was_found_empty() -> None:
    mailbox = Mailbox()
    events = fake_run_events()
    assert [mailbox.put(event) for event in events[:3]] == [True, False, False]
    mailbox.take(10)
    assert not mailbox.put(events[3])  # whoever took three looks again before resting
    mailbox.take(10)
    assert mailbox.take(10) == []
    assert mailbox.put(events[4])


def test_that_nothing_is_lost_or_reordered_when_taken_in_small_portions() -> None:
    mailbox = Mailbox()
    events = fake_run_events()
    for event in events:
        mailbox.put(event)
    taken = []
    while portion := mailbox.take(4):
        assert len(portion) <= 4
        taken += portion
    assert taken == events


def test_that_a_portion_ends_at_a_notice() -> None:
    mailbox = Mailbox()
    first, second = fake_run_events()[:2]
    for item in (first, RunOver(0, None), second):
        mailbox.put(item)
    assert mailbox.take(10) == [first, RunOver(0, None)]
    assert mailbox.take(10) == [second]


def test_that_only_the_newest_progress_is_kept() -> None:
    mailbox = Mailbox()
    for done in range(1000):
        mailbox.put(Progress("Downloading", done, 1000, "bytes"))
    assert mailbox.take(10) == [Progress("Downloading", 999, 1000, "bytes")]
