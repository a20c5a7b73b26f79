from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.max_t import ClusterSums, max_t
from ragtriage.metrics.statistics.paired import paired


def _member(values: FloatArray) -> ClusterSums:
    known = np.isfinite(values)
    plain = paired(np.zeros(len(values)), values, np.arange(len(values)), bounds=(-1, 1))
    return ClusterSums(
        np.where(known, values, 0.0), known.astype(float), (-2.0, 2.0), (plain.low, plain.high)
    )


def test_two_metrics_on_three_questions_are_worked_by_hand() -> None:
    # a = (1, 1, 1): T = 3 / root 3. b = (1, 1, -1): T = 1 / root 3. Of the eight patterns of signs two give a
    # |sum| of 3 in a, two others (+ + -, - - +) in b: the greatest reaches 3 / root 3 in 4 of 8. b has the
    # least T that it can have.
    first, second = max_t([_member(np.array([1.0, 1.0, 1.0])), _member(np.array([1.0, 1.0, -1.0]))])
    assert (first.p, second.p) == (4 / 8, 1.0)


def _brute_force(matrix: FloatArray) -> list[float]:
    """Adjusted p of each column by the definition: every pattern, and the maximum over what is left."""
    scale = np.sqrt((matrix**2).sum(axis=0))
    scale[scale == 0] = np.inf
    observed = np.abs(matrix.sum(axis=0)) / scale
    patterns = list(itertools.product((1, -1), repeat=len(matrix)))
    drawn = np.array([np.abs(np.array(signs) @ matrix) / scale for signs in patterns])
    p, least, left = np.zeros(matrix.shape[1]), 0.0, list(range(matrix.shape[1]))
    while left:
        at = max(left, key=lambda column: float(observed[column]))
        least = max(least, float((drawn[:, left].max(axis=1) >= observed[at] - 1e-9).mean()))
        p[at] = least
        left.remove(at)
    return p.tolist()


tables = st.integers(1, 4).flatmap(
    lambda many: st.lists(
        st.lists(st.integers(-4, 4).map(lambda v: v / 4), min_size=many, max_size=many),
        min_size=1,
        max_size=8,
    )
)


@settings(max_examples=60)
@given(tables)
def test_small_families_are_the_definition(rows: list[list[float]]) -> None:
    matrix = np.array(rows)
    found = max_t([_member(matrix[:, at]) for at in range(matrix.shape[1])])
    assert [test.p for test in found] == pytest.approx(_brute_force(matrix))


@settings(max_examples=60)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 10_000))
def test_the_interval_leaves_zero_out_exactly_where_p_is_below_a_twentieth(
    n: int, many: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shared = rng.normal(0.2, 0.4, n)
    matrix = np.round(np.stack([shared + rng.normal(0, 0.2, n) for _ in range(many)], axis=1).clip(-1, 1), 1)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    for at, test in enumerate(max_t([_member(matrix[:, at]) for at in range(many)])):
        column = matrix[:, at][np.isfinite(matrix[:, at])]
        if not len(column):
            assert np.isnan(test.p)
            continue
        assert test.low - 1e-12 <= column.mean() <= test.high + 1e-12
        if test.p < 0.05:
            assert test.low >= 0 if column.mean() > 0 else test.high <= 0
        else:
            assert test.low <= 0 <= test.high


def test_a_family_of_one_is_the_sign_flip_test() -> None:
    values = np.array([0.5, 0.2, -0.1, 0.4, 0.3, 0.1, 0.0, 0.6])
    (alone,) = max_t([_member(values)])
    assert alone.p == paired(np.zeros(8), values, np.arange(8), bounds=(-1, 1)).p


def test_copies_of_a_metric_cost_nothing() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.15, 0.4, 50).clip(-1, 1)
    (alone,) = max_t([_member(values)])
    copies = max_t([_member(values)] * 10)
    assert all(copy == alone for copy in copies)


def test_drawn_flips_and_the_normal_limit_agree() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(0.012, 0.3, 1999)
    matrix = np.stack([shared + rng.normal(0, 0.3, 1999) for _ in range(4)], axis=1)
    drawn = max_t([_member(matrix[:, at]) for at in range(4)])
    one_more = np.concatenate((matrix, np.zeros((1, 4)) + 1e-6))
    limit = max_t([_member(one_more[:, at]) for at in range(4)])
    assert [test.p for test in drawn] == pytest.approx([test.p for test in limit], abs=0.02)
    assert [test.low for test in drawn] == pytest.approx([test.low for test in limit], abs=0.002)


def test_the_order_of_the_questions_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.normal(0.1, 0.4, (30, 3))
    shuffled = matrix[rng.permutation(30)]
    there, back = (max_t([_member(table[:, at]) for at in range(3)]) for table in (matrix, shuffled))
    for one, other in zip(there, back, strict=True):
        assert (one.p, one.low, one.high) == pytest.approx((other.p, other.low, other.high))


def test_members_must_share_their_clusters() -> None:
    with pytest.raises(MetricsError, match="the same clusters"):
        max_t([_member(np.ones(3)), _member(np.ones(4))])
