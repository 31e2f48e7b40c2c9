"""What was made ahead is what would have been made, and only of a run that changes no more."""

from __future__ import annotations

import numpy as np
import pytest

from app.foreseen import Foreseen, curves_of
from core.analysis.why import why
from core.trace.trace import Trace
from tests.fakes import fake_run_events
from widgets.selection import Selection


@pytest.mark.parametrize("layer", [None, 2])
def test_that_what_was_foreseen_is_given_and_equals_what_would_be_made(layer: int | None) -> None:
    trace, foreseen = Trace.of(fake_run_events(7)), Foreseen()
    made = foreseen.make(trace, Selection(4, layer))
    wanted = curves_of(trace, trace.records[4], None)
    assert made is not None
    assert wanted is not None
    assert foreseen.curves(trace, trace.records[4], None) is made
    assert foreseen.why(trace, Selection(4, layer)) == why(trace, 4, layer)
    assert np.array_equal(made.probabilities, wanted.probabilities)


def test_that_other_tokens_layers_and_runs_are_told_of_themselves() -> None:
    trace, other, foreseen = Trace.of(fake_run_events(7)), Trace.of(fake_run_events(5)), Foreseen()
    made = foreseen.make(trace, Selection(4))
    assert foreseen.why(trace, Selection(3)) == why(trace, 3, None)
    assert foreseen.why(trace, Selection(4, 2)) == why(trace, 4, 2)
    assert foreseen.curves(other, other.records[4], None) is not made


def test_that_nothing_is_foreseen_of_a_run_that_goes_on() -> None:
    trace, foreseen = Trace.of(fake_run_events(7)[:-1]), Foreseen()
    assert trace.ended is None
    assert foreseen.make(trace, Selection(4)) is None
