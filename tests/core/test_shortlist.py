"""What a shortlist misses is counted against the whole vocabulary, and only where that is known."""

from __future__ import annotations

import pytest
import torch

from core.analysis.digest import Sample, digest
from core.analysis.evaluation import figures_of
from core.analysis.shortlist import shortlist_checks, shortlist_miss_rate
from core.choices import Head, Record
from core.engine import Engine
from core.exits import verification
from tests.engines import run
from tests.pieces import random_slim, whole_slim, with_pieces

AUDIT = {"record": Record.AUDIT, "max_new_tokens": 30}


@pytest.fixture
def slim(eager: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(verification, "SHORTLIST", 12)
    return with_pieces(eager, slim=random_slim(eager.model, rank=3))


def test_that_a_miss_is_a_check_whose_token_is_not_the_audited_argmax(slim: Engine) -> None:
    trace = run(slim, **AUDIT, check=Head.SLIM)
    checks = [
        (check.argmax_id, int(record.audit.token_ids[layer]))
        for record in trace.emitted[1:]
        for layer, check in record.verified.items()
    ]
    missed = [found != real for found, real in checks]
    assert {True, False} == set(missed)
    assert shortlist_miss_rate(trace) == pytest.approx(sum(missed) / len(missed))
    assert figures_of([digest(Sample("a", trace))])["shortlist_miss_rate"] == shortlist_miss_rate(trace)


def test_that_the_full_head_misses_nothing_and_is_not_asked(slim: Engine) -> None:
    trace = run(slim, **AUDIT)
    assert not any(missed for record in trace.emitted for missed in shortlist_checks(record))
    assert shortlist_miss_rate(trace) is None
    assert figures_of([digest(Sample("a", trace))])["shortlist_miss_rate"] is None


def test_that_a_shortlist_by_the_whole_head_misses_nothing(eager: Engine) -> None:
    exact = with_pieces(eager, slim=whole_slim(eager.model))
    assert shortlist_miss_rate(run(exact, **AUDIT, check=Head.SLIM)) == 0.0


def test_that_without_an_audit_no_miss_is_known(slim: Engine) -> None:
    assert shortlist_miss_rate(run(slim, check=Head.SLIM)) is None


def test_that_the_shortlist_holds_the_best_of_the_low_rank_head(slim: Engine) -> None:
    head, normed = slim.parts.slim, torch.randn(3, slim.model.config.hidden)
    expected = head.logits(normed).argsort(-1, descending=True)[:, :12]
    assert torch.equal(head.shortlist(normed, 12), expected)
