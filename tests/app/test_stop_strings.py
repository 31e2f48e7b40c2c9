"""Stop strings as they are typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from app.stop_strings import read_stop_strings, write_stop_strings


@given(some.lists(some.text(min_size=1)))
def test_that_every_stop_string_can_be_written_and_read_again(stop: list[str]) -> None:
    assert read_stop_strings(write_stop_strings(tuple(stop))) == tuple(stop)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("", ()),
        ("\n  \n", ()),
        ("END\n</s>", ("END", "</s>")),
        (r"\n\nUser:", ("\n\nUser:",)),
        (" two words ", (" two words ",)),
        ("a, b", ("a, b",)),
        (r"C:\dir", (r"C:\dir",)),
        (r"\\n", (r"\n",)),
        (r"\u0020", (" ",)),
        (r"\ud800\Uffffffff", (r"\ud800\Uffffffff",)),
        ("\\", ("\\",)),
    ],
)
def test_that_a_line_is_a_stop_string_to_the_letter_but_for_its_escapes(typed: str, read: tuple[str, ...]) -> None:
    assert read_stop_strings(typed) == read
