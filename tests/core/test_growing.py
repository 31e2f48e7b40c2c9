from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.trace.growing import Growing


@given(st.lists(st.tuples(st.integers(0, 200), st.lists(st.integers(-9, 9), max_size=90)), max_size=12))
def test_that_a_growing_array_holds_what_a_list_would(changes: list[tuple[int, list[int]]]) -> None:
    array, expected = Growing(np.int64), []
    for first, added in changes:
        first = min(first, len(expected))
        array.replace(first, added)
        expected[first:] = added
        assert array.values.tolist() == expected
        assert len(array) == len(expected)


def test_that_rows_keep_their_width() -> None:
    array = Growing(np.uint8, (3,))
    array.replace(0, np.ones((2, 3)))
    array.replace(2, [])
    assert array.values.shape == (2, 3)


def test_that_what_was_handed_out_stays_as_it_was_while_more_is_added() -> None:
    array = Growing(np.int64)
    array.replace(0, [1, 2])
    before = array.values
    array.replace(2, list(range(500)))
    assert before.tolist() == [1, 2]


@pytest.mark.parametrize("first", [-1, 3])
def test_that_a_gap_is_refused(first: int) -> None:
    array = Growing(np.int64)
    array.replace(0, [1, 2])
    with pytest.raises(ValueError, match="but 2 are there"):
        array.replace(first, [5])
