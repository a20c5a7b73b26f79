"""Two joins of the same gold have their units in the same columns, however long the lists are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.data.scoring import gold_join as gold_module
from ragtriage.data.scoring.gold_join import rankings
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.metrics.analysis.retrieval import rank_moves

COLUMNS = ("retrieved", "candidates", "relevant", "context_mode")
IDS = st.lists(st.sampled_from("abcdefgh"), max_size=6)
GOLD = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=5
)


def _table(rows: list[tuple[list[str], list[str], list[tuple[str, float]]]]) -> Any:
    records = [
        {
            "retrieved": [{"id": one} for one in final],
            "candidates": [{"id": one} for one in first],
            "relevant": [{"id": one, "grade": grade} for one, grade in gold],
            "context_mode": None,
        }
        for final, first, gold in rows
    ]
    return pa.Table.from_pylist(records, schema=pa.schema([SCHEMA.field(name) for name in COLUMNS]))


@settings(max_examples=80)
@given(st.lists(st.tuples(IDS, IDS, GOLD), min_size=1, max_size=5))
def test_units_stand_in_the_same_columns(
    rows: list[tuple[list[str], list[str], list[tuple[str, float]]]],
) -> None:
    scored = _table(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gold_module, "SMALL_PLANE", 10**9)
        short = rankings(scored)
        patch.setattr(gold_module, "SMALL_PLANE", 0)
        long = rankings(scored)
    assert short is not None
    assert long is not None
    for left, right in zip(short.unit_rank, long.unit_rank, strict=True):
        np.testing.assert_array_equal(left[~np.isnan(left)], right[~np.isnan(right)])


def test_a_long_first_pass_is_held_against_the_right_documents() -> None:
    first = [f"x{at}" for at in range(600)]
    rows = [
        (["b", "y"], [*first[:5], "b", *first[5:], "a"], [("a", 1.0), ("b", 1.0)]),
        (["y", "a"], ["a", *first, "b"], [("b", 1.0), ("a", 1.0)]),
    ]
    scored = _table(rows)
    final, before = rankings(scored), rankings(scored, column="candidates")
    assert final is not None
    assert before is not None
    found = rank_moves(before, final, 3)
    assert found.lifted.tolist() == [1, 0]
    assert found.kept.tolist() == [0, 1]
    assert found.pushed_out.tolist() == [0, 0]
