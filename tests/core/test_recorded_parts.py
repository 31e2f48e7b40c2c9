"""Parts kept with a run: they come back as they were, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.recorded_parts import RANKING, from_record, to_record
from core.errors import UserError
from core.trace.weights import pack_weights, unpack_weights
from tests.core.recordings import random_bank

RANKED = np.array([3, 1, 4, 0, 2])


def test_that_parts_survive_a_session_file() -> None:
    bank, ranking = random_bank(5), RANKED
    found, order = from_record(unpack_weights(pack_weights(to_record(bank, ranking))))
    assert order.tolist() == ranking.tolist()
    for name, array in bank.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], array)


def test_that_what_was_not_kept_is_none() -> None:
    assert from_record(None) == (None, None)
    assert from_record({}) == (None, None)
    bank, ranking = from_record(random_bank(5).arrays())
    assert bank is not None
    assert ranking is None


@pytest.mark.parametrize("order", [[0, 0, 1, 2, 3], [0, 1, 2], [0.5, 1, 2, 3, 4], [np.nan, 1, 2, 3, 4], [[9]]])
def test_that_a_damaged_ranking_is_refused(order: list[float]) -> None:
    kept = to_record(random_bank(5), RANKED) | {RANKING: np.array(order, np.float32)}
    with pytest.raises(UserError, match="damaged"):
        from_record(kept)


def test_that_damaged_predictors_are_refused() -> None:
    kept = to_record(random_bank(5), RANKED)
    del kept["w2"]
    with pytest.raises(UserError, match="w2 is missing or damaged"):
        from_record(kept)
