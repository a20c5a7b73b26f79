"""Routing formulas on tables worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.suites.router import (
    added_by,
    confusion_matrix,
    expected_cost,
    gap_recovered,
    macro_f1_interval,
    oracle_routes,
    route_scores,
)

EXPECTED = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
ACTUAL = np.array([0, 0, 0, 1, 1, 1, 0, 2, 0, 1])
CONFUSION = [[3, 1, 0], [1, 2, 0], [1, 1, 1]]


def test_the_confusion_matrix_has_the_expected_route_in_rows() -> None:
    assert confusion_matrix(EXPECTED, ACTUAL, 3).tolist() == CONFUSION
    with pytest.raises(MetricsError, match="as many"):
        confusion_matrix(EXPECTED, ACTUAL[:-1], 3)


def test_precision_recall_and_f1_of_each_route() -> None:
    scores = route_scores(np.array(CONFUSION))
    assert scores.support.tolist() == [4, 3, 3]
    assert scores.sent.tolist() == [5, 4, 1]
    assert scores.precision.tolist() == [3 / 5, 2 / 4, 1.0]
    assert scores.recall.tolist() == [3 / 4, 2 / 3, 1 / 3]
    assert scores.f1.tolist() == [6 / 9, 4 / 7, 2 / 4]
    assert scores.constant.tolist() == [0.4, 0.3, 0.3]
    assert scores.macro_f1 == pytest.approx((6 / 9 + 4 / 7 + 2 / 4) / 3)


def test_a_route_that_nobody_takes_has_no_precision_and_an_f1_of_0() -> None:
    scores = route_scores(np.array([[2, 0, 0], [1, 0, 0], [0, 0, 0]]))
    assert np.isnan(scores.precision[1])
    assert scores.f1[1] == 0.0
    assert np.isnan(scores.f1[2])  # neither expected nor taken: no part of the macro F1
    assert scores.macro_f1 == pytest.approx((4 / 5 + 0) / 2)


def test_the_cost_weighs_each_direction() -> None:
    weights = np.array([[0.0, 1, 1], [5, 0, 1], [5, 2, 0]])
    assert expected_cost(np.array(CONFUSION), weights) == pytest.approx((1 * 1 + 1 * 5 + 1 * 5 + 1 * 2) / 10)
    assert np.isnan(expected_cost(np.zeros((2, 2), dtype=np.int64), np.ones((2, 2))))


def test_the_oracle_takes_the_cheaper_of_equal_routes() -> None:
    quality = np.array([[8.0, 9.0], [9.0, 9.0], [9.0, 8.0], [np.nan, 9.0]])
    assert oracle_routes(quality, np.array([0, 1])).tolist() == [1, 0, 0, -1]
    assert oracle_routes(quality, np.array([1, 0])).tolist() == [1, 1, 0, -1]


def test_the_gap_recovered() -> None:
    assert gap_recovered(8.5, 8.0, 9.0) == 0.5
    assert gap_recovered(7.5, 8.0, 9.0) == -0.5
    assert np.isnan(gap_recovered(8.5, 9.0, 9.0))


def test_what_the_dearer_route_added() -> None:
    latency = np.array([100.0, 200, 300, 900, 1100, np.nan])
    online = np.array([False, False, False, True, True, True])
    added = added_by(latency, online, ~online)
    assert added is not None
    assert (added.mean, added.median, added.n_costly, added.n_cheap) == (800.0, 800.0, 2, 3)
    assert added.low < 800 < added.high
    assert added_by(latency, np.zeros(6, dtype=np.bool_), ~online) is None
    alone = added_by(latency, np.array([0, 0, 0, 1, 0, 0], dtype=np.bool_), ~online)
    assert alone is not None
    assert np.isnan(alone.low)


def test_welch_s_interval_against_a_published_example() -> None:
    # Welch's test of extra sleep by drug (Student 1908): difference 1.58, 95 % interval -0.2055 to 3.3655
    first = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    second = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    values = np.array([*first, *second])
    costly = np.arange(20) < 10
    added = added_by(values, costly, ~costly)
    assert added is not None
    assert added.mean == pytest.approx(1.58)
    assert [added.low, added.high] == pytest.approx([-0.2055, 3.3655], abs=5e-5)


def test_the_interval_of_the_macro_f1_widens_where_decisions_come_in_clusters() -> None:
    generator = np.random.default_rng(1)
    expected = generator.integers(0, 2, 400)
    actual = np.where(generator.random(400) < 0.8, expected, 1 - expected)
    many = macro_f1_interval(expected, actual, np.arange(400), 2)
    few = macro_f1_interval(
        np.repeat(expected[:40], 10), np.repeat(actual[:40], 10), np.repeat(np.arange(40), 10), 2
    )
    assert many[0] < route_scores(confusion_matrix(expected, actual, 2)).macro_f1 < many[1]
    assert few[1] - few[0] > 2 * (many[1] - many[0])
