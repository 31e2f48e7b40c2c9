from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.token_flow import TokenFlow

WIDTHS = st.lists(st.integers(1, 400), max_size=60)


def flow_of(widths: list[int], available: int, gap: int = 5) -> TokenFlow:
    flow = TokenFlow(gap)
    flow.set_available(available)
    flow.replace(0, widths)
    return flow


def places(flow: TokenFlow) -> list[tuple[int, int, int]]:
    return [(flow.row_of(i), flow.x_of(i), flow.width_of(i)) for i in range(len(flow))]


@given(WIDTHS, st.integers(1, 600))
def test_that_boxes_neither_overlap_nor_leave_the_width(widths: list[int], available: int) -> None:
    flow = flow_of(widths, available)
    for (row, x, width), (next_row, next_x, _) in zip(places(flow), places(flow)[1:], strict=False):
        assert (next_row, next_x) == (row, x + width + flow.gap) or (next_row, next_x) == (row + 1, 0)
    assert all(x >= 0 and x + width <= available for _, x, width in places(flow))


@given(WIDTHS, st.integers(1, 600))
def test_that_a_row_ends_only_where_the_next_box_does_not_fit(widths: list[int], available: int) -> None:
    flow = flow_of(widths, available)
    for row in range(flow.rows - 1):
        last, first = flow.boxes_in(row)[-1], flow.boxes_in(row + 1)[0]
        assert flow.x_of(last) + flow.width_of(last) + flow.gap + flow.width_of(first) > available


@given(WIDTHS, WIDTHS, st.integers(1, 600), st.data())
def test_that_replacing_a_tail_equals_placing_everything_anew(
    before: list[int], tail: list[int], available: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(before)))
    flow = flow_of(before, available)
    flow.replace(first, tail)
    assert places(flow) == places(flow_of(before[:first] + tail, available))


@given(WIDTHS, st.integers(1, 600), st.integers(1, 600))
def test_that_another_width_equals_placing_everything_anew(widths: list[int], before: int, after: int) -> None:
    flow = flow_of(widths, before)
    flow.set_available(after)
    assert places(flow) == places(flow_of(widths, after))


@given(WIDTHS, st.integers(1, 600))
def test_that_every_box_is_found_where_it_is_and_nothing_in_the_gaps(widths: list[int], available: int) -> None:
    flow = flow_of(widths, available)
    for box in range(len(flow)):
        row, x, width = flow.row_of(box), flow.x_of(box), flow.width_of(box)
        assert flow.box_at(x, row) == flow.box_at(x + width - 1, row) == box
        assert flow.box_at(x + width, row) is None
        assert flow.nearest(x + width // 2, row) == box


def test_that_an_empty_flow_has_no_rows_and_no_boxes() -> None:
    flow = flow_of([], 100)
    assert flow.rows == 0
    assert flow.box_at(0, 0) is None
    assert flow.nearest(0, 0) is None
