"""Searching tokens: by what they say, where they left, and what became of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.ledger import Entry, ledger
from core.analysis.search import Query, search, tokens_with
from core.analysis.summaries import Outcome, outcomes
from core.trace.trace import Trace
from tests.core.handmade import emitted, started, trace_of
from tests.core.recordings import Recorder, audit_settings


def saying(*texts: str | bytes, special: tuple[int, ...] = ()) -> Trace:
    return trace_of(started(), *[emitted(i, text, special=i in special) for i, text in enumerate(texts)])


@pytest.mark.parametrize(
    ("texts", "wanted", "tokens"),
    [
        (("The", " sky", " is", " blue"), "sky", [1]),
        (("The", " sky", " is", " blue"), "THE SKY", [0, 1]),
        (("The", " sky", " is", " blue"), "y i", [1, 2]),
        (("The", " sky", " is", " blue"), "x", []),
        (("a", "a", "a"), "aa", [0, 1, 2]),
        (("a", "", "b"), "ab", [0, 2]),
        (("Stra", "ß", "e"), "STRASSE", [0, 1, 2]),
        (("Stra", "ß", "e"), "s", [0, 1]),
        (("İ", "x"), "x", [1]),
        (("天空".encode()[:2], "天空".encode()[2:5], "天空".encode()[5:]), "天", [0, 1]),
        (("天空".encode()[:2], "天空".encode()[2:5], "天空".encode()[5:]), "空", [1, 2]),
        ((b"\xff", "é", "z"), "É", [1]),
        (("🌈", "z"), "z", [1]),
        (("🌈", "z"), "🌈z", [0, 1]),
        (("a", " b", "·", "c\n", "\td"), "·", [1, 2]),
        (("a", " b", "·", "c\n", "\td"), "⏎⇥", [3, 4]),
        (("a", " b", "·", "c\n", "\td"), "·B", [1]),
    ],
)
def test_that_all_tokens_that_a_finding_touches_are_found(
    texts: tuple[str | bytes, ...], wanted: str, tokens: list[int]
) -> None:
    assert search(saying(*texts), Query(text=wanted)).tolist() == tokens


def test_that_case_matters_only_where_asked() -> None:
    trace = saying("Sky", " sky")
    assert search(trace, Query(text="sky", match_case=True)).tolist() == [1]
    assert search(trace, Query(text="sky")).tolist() == [0, 1]


def test_that_control_tokens_break_no_text_and_are_found_by_name() -> None:
    trace = saying("sk", "<|END|>", "y", special=(1,))
    assert search(trace, Query(text="sky")).tolist() == [0, 2]
    assert search(trace, Query(text="end")).tolist() == [1]


@given(st.lists(st.text("abß\n é", max_size=4), max_size=8), st.text("abß é", min_size=1, max_size=3))
def test_that_findings_are_those_of_a_regular_expression(texts: list[str], wanted: str) -> None:
    owner = [i for i, text in enumerate(texts) for _ in text]
    whole = "".join(texts)
    places = [m.start() for m in re.finditer(f"(?={re.escape(wanted)})", whole)]
    expected = {owner[at] for place in places for at in range(place, place + len(wanted))}
    found = tokens_with(saying(*texts), wanted, match_case=True)
    assert set(np.flatnonzero(found).tolist()) == expected


def test_that_layers_outcomes_and_classes_narrow_a_search(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    layers, seen, found = trace.exit_layers, outcomes(trace), ledger(trace)
    assert search(trace, Query()).tolist() == list(range(trace.emitted_count))
    assert search(trace, Query(least_layers=2, most_layers=5)).tolist() == [
        token for token, at in enumerate(layers) if 2 <= at <= 5
    ]
    asked = frozenset({Outcome.WRONG_EXIT, Outcome.REFUSED})
    assert search(trace, Query(outcomes=asked)).tolist() == np.flatnonzero(np.isin(seen, list(asked))).tolist()
    missed = Query(entries=frozenset({Entry.MISSED_BY_DRAFTER}))
    assert search(trace, missed, found).tolist() == found.tokens(Entry.MISSED_BY_DRAFTER).tolist()
    assert len(search(trace, missed, found))


def test_that_classes_without_a_ledger_of_the_whole_run_are_a_mistake(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    missed = Query(entries=frozenset({Entry.MISSED_BY_DRAFTER}))
    for given_ledger in (None, ledger(trace, 3)):
        with pytest.raises(ValueError, match="whole run"):
            search(trace, missed, given_ledger)


def test_that_an_empty_run_holds_nothing() -> None:
    assert search(Trace(), Query(text="a")).tolist() == []
