"""Weighted means by hand, against equal weights, and over draws of a known population."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import (
    clustered,
    hajek_mean,
    interval,
    intervals,
    missing_bounds,
    wilson,
)

# 12 of 20 calls kept at 5 %, 6 of 30 kept at 20 % and 5 of 50 kept at 100 % pass
PASSES = np.repeat([1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [12, 8, 6, 24, 5, 45])
WEIGHTS = np.repeat([20.0, 5.0, 1.0], [20, 30, 50])


def test_a_pass_rate_by_hand() -> None:
    rate = interval(PASSES, np.arange(100), 100, binary=True, weights=WEIGHTS)
    assert rate.mean == pytest.approx((20 * 12 + 5 * 6 + 5) / 600)  # 0.458, where the plain one is 0.23
    assert rate.n_effective == pytest.approx(600**2 / (400 * 20 + 25 * 30 + 50))  # 40.9
    p = 275 / 600
    parts = [(400, 12, 8), (25, 6, 24), (1, 5, 45)]  # squared weight, passed, failed
    total = sum(w * (passed * (1 - p) ** 2 + failed * p**2) for w, passed, failed in parts)
    error = sqrt(100 / 99 * total) / 600
    assert (rate.method, rate.n_scored, rate.n_clusters) == ("wilson", 100, 100)
    # the calls that weigh most vary most: the rate rests on 39.1 of them, fewer than are effective
    trials = p * (1 - p) / error**2
    assert trials == pytest.approx(39.13, abs=0.01)
    assert (rate.low, rate.high) == pytest.approx(wilson(p, trials))


def test_a_rate_that_varies_where_it_weighs_least_rests_on_the_effective_number() -> None:
    passes = np.repeat([1.0, 1.0, 0.0], [40, 20, 20])
    weights = np.repeat([20.0, 1.0, 1.0], [40, 20, 20])
    rate = interval(passes, np.arange(80), 80, binary=True, weights=weights)
    effective = 840**2 / (400 * 40 + 40)
    assert rate.n_effective == pytest.approx(effective)
    assert (rate.low, rate.high) == pytest.approx(wilson(820 / 840, effective))


def test_equal_weights_change_nothing_that_can_be_seen() -> None:
    rng = np.random.default_rng(3)
    matrix = np.column_stack([rng.random(60), (rng.random(60) < 0.7) * 1.0, rng.gamma(2, 300, 60)])
    flags, bounds = [False, True, False], [(0.0, 1.0), (0.0, 1.0), (0.0, np.inf)]
    clusters = np.arange(60)
    plain = intervals(matrix, clusters, [60] * 3, flags, bounds)
    weighted = intervals(matrix, clusters, [60] * 3, flags, bounds, np.full(60, 20.0))
    for without, alike in zip(plain, weighted, strict=True):
        assert alike.n_effective == pytest.approx(60)
        assert without.n_effective is None
        assert alike.method == without.method
        assert (alike.mean, alike.low, alike.high) == pytest.approx(
            (without.mean, without.low, without.high), rel=0.01
        )


def test_weights_of_whole_numbers_count_a_value_so_often() -> None:
    values, weights = np.array([0.2, 0.9, 0.4]), np.array([1.0, 3.0, 2.0])
    assert hajek_mean(values, weights) == pytest.approx(np.repeat(values, [1, 3, 2]).mean())
    assert hajek_mean(np.array([0.2, np.nan, 0.4]), weights) == pytest.approx((0.2 + 2 * 0.4) / 3)
    assert np.isnan(hajek_mean(np.full(3, np.nan), weights))
    # the second call, which weighs 3, has no score: it may be worth 0 or 1
    low, high = missing_bounds(np.array([0.2, np.nan, 0.4]), 3.0, weights=weights)
    assert (low, high) == pytest.approx((1.0 / 6, 4.0 / 6))


def test_turns_of_a_conversation_are_one_cluster_with_their_weights_together() -> None:
    column = clustered(np.array([1.0, 0.0, 1.0]), np.array([0, 0, 1]), (0.0, 1.0), np.array([20.0, 5.0, 5.0]))
    assert column.effective == pytest.approx(30**2 / (25**2 + 5**2))
    assert column.mean == pytest.approx(25 / 30)


def test_few_effective_calls_are_too_few_however_many_are_kept() -> None:
    values = np.tile([1.0, 0.0], 100)
    weights = np.where(np.arange(200) < 4, 1000.0, 1.0)
    rate = interval(values, np.arange(200), 200, binary=True, weights=weights)
    assert rate.too_few
    assert rate.method == "exact"
    assert rate.high - rate.low > 0.6


def test_calls_that_all_pass_leave_room_for_as_many_as_are_effective() -> None:
    rate = interval(np.ones(100), np.arange(100), 100, binary=True, weights=WEIGHTS)
    assert (rate.mean, rate.high) == (1.0, 1.0)
    assert rate.low == pytest.approx(0.025 ** (1 / rate.n_effective), abs=1e-6)  # type: ignore[operator]


@pytest.mark.parametrize("graded", [False, True])
def test_the_interval_holds_the_mean_of_all_calls_which_the_plain_mean_misses(graded: bool) -> None:
    rng = np.random.default_rng(11)
    sizes = [700, 1000, 2000]
    rates, chances = np.repeat([0.05, 0.2, 1.0], sizes), np.repeat([0.5, 0.1, 0.02], sizes)
    held, plain, errors = 0, 0, []
    for _ in range(300):
        passes: FloatArray = np.where(rng.random(3700) < chances, 1.0, 0.0)
        values = passes * rng.random(3700) ** 0.2 if graded else passes
        kept = rng.random(3700) < rates
        scores, weights = values[kept], 1 / rates[kept]
        mean = interval(scores, np.arange(len(scores)), len(scores), not graded, weights=weights)
        held += mean.low <= values.mean() <= mean.high
        plain += mean.low <= scores.mean() <= mean.high
        errors.append(mean.mean - values.mean())
    assert held >= 0.93 * 300
    assert plain <= 0.2 * 300
    assert abs(np.mean(errors)) < 3 * np.std(errors) / sqrt(300)
