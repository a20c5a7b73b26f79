from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.distributions import (
    beta_quantile,
    normal_quantile,
    normal_tail,
    regularised_beta,
    t_quantile,
)
from ragtriage.metrics.statistics.intervals import (
    interval,
    intervals,
    mean_over_questions,
    missing_bounds,
    question_means,
)

unit = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 6))


@pytest.mark.parametrize(
    ("p", "freedom", "expected"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.975, 4, 2.7764),
        (0.975, 8, 2.3060),
        (0.95, 10, 1.8125),
        (0.995, 30, 2.7500),
        (0.025, 8, -2.3060),
        (0.5, 3, 0.0),
    ],
)
def test_t_quantiles_are_those_of_the_printed_tables(p: float, freedom: int, expected: float) -> None:
    assert t_quantile(p, freedom) == pytest.approx(expected, abs=5e-5)


def test_t_with_many_degrees_of_freedom_is_normal() -> None:
    assert t_quantile(0.975, 1e7) == pytest.approx(normal_quantile(0.975), abs=1e-5)
    assert normal_tail(1.959964) == pytest.approx(0.025, abs=1e-6)


def test_the_beta_distribution_has_its_known_values() -> None:
    assert regularised_beta(2, 3, 0.5) == pytest.approx(11 / 16)  # 6x^2 - 8x^3 + 3x^4 at 1/2
    assert regularised_beta(1, 1, 0.3) == pytest.approx(0.3)
    assert regularised_beta(5, 2, 0.0) == 0.0
    assert regularised_beta(5, 2, 1.0) == 1.0
    assert beta_quantile(0.3, 1, 1) == pytest.approx(0.3)
    assert beta_quantile(0.5, 4, 4) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("passes", "n", "low", "high"),
    [(0, 5, 0.0, 0.5218), (1, 5, 0.0051, 0.7164), (4, 8, 0.1570, 0.8430), (9, 9, 0.6637, 1.0)],
)
def test_few_pass_or_fail_values_get_clopper_pearson(passes: int, n: int, low: float, high: float) -> None:
    values = np.array([1.0] * passes + [0.0] * (n - passes))
    found = interval(values, np.arange(n), n, binary=True)
    assert found.method == "exact"
    assert found.too_few
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_a_pass_rate_gets_the_wilson_interval() -> None:
    values = np.array([1.0] * 15 + [0.0] * 5)
    found = interval(values, np.arange(20), 20, binary=True)
    assert found.method == "wilson"
    assert not found.too_few
    assert (found.low, found.high) == pytest.approx((0.5313, 0.8881), abs=1e-4)


def test_a_pass_rate_over_conversations_is_no_binomial_because_its_questions_are_not_independent() -> None:
    values = np.array([1.0, 1.0, 0.0] * 12)
    clusters = np.repeat(np.arange(12), 3)
    assert (
        interval(values, clusters, 36, binary=True).method == "exact"
    )  # every conversation has the same rate
    values[0] = 0.0
    assert interval(values, clusters, 36, binary=True).method == "dirichlet"


def test_all_passes_never_give_an_interval_of_one_point() -> None:
    for n in (1, 5, 40, 3000):
        found = interval(np.ones(n), np.arange(n), n)
        assert found.low < 1.0
        assert found.high == 1.0
        assert found.too_few
        assert found.low == pytest.approx(0.025 ** (1 / n))


def test_a_metric_without_an_upper_bound_gets_a_t_interval() -> None:
    values = np.array([0.2, 0.4, 0.6, 0.8])
    found = interval(values, np.arange(4), 4, bounds=(0.0, np.inf))
    reach = 3.1824 * math.sqrt(0.2 / 3) / 2  # t(0.975, 3) x s / sqrt(n)
    assert found.method == "t"
    assert found.low == pytest.approx(0.5 - reach, abs=1e-4)
    assert found.high == pytest.approx(0.5 + reach, abs=1e-4)


def test_values_that_do_not_vary_widen_by_what_may_have_gone_unseen() -> None:
    found = interval(np.full(20, 0.7), np.arange(20), 20)
    share = 1 - 0.025 ** (1 / 20)
    assert found.method == "no variance"
    assert found.too_few
    assert found.low == pytest.approx(0.7 - share * 0.7)
    assert found.high == pytest.approx(0.7 + share * 0.3)


def test_an_unbounded_metric_without_variance_has_no_interval() -> None:
    found = interval(np.full(20, 7.0), np.arange(20), 20, bounds=(0.0, np.inf))
    assert found.mean == 7.0
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_nothing_scored_is_not_zero() -> None:
    found = interval(np.array([np.nan, np.nan]), np.arange(2), 2)
    assert math.isnan(found.mean)
    assert math.isnan(found.low)
    assert (found.n_scored, found.n_applicable, found.n_clusters, found.method) == (0, 2, 0, "none")


def test_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    conversation = np.repeat(np.arange(30), 10)
    values = np.clip(np.repeat(rng.random(30), 10) + rng.normal(0, 0.02, 300), 0, 1)
    alone, grouped = interval(values, np.arange(300), 300), interval(values, conversation, 300)
    assert grouped.n_clusters == 30
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


def test_the_normal_interval_of_many_clusters_is_the_dirichlet_one() -> None:
    values = np.random.default_rng(5).beta(2, 1, 1999)
    few = interval(values, np.arange(1999), 1999)
    normal = interval(np.append(values, values.mean()), np.arange(2000), 2000)
    assert (few.method, normal.method) == ("dirichlet", "normal")
    assert normal.low == pytest.approx(few.low, abs=2e-3)
    assert normal.high == pytest.approx(few.high, abs=2e-3)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    draws = rng.beta(2, 3, size=(40, 300))
    found = intervals(draws, np.arange(40), [40] * 300)
    covered = sum(one.low <= 0.4 <= one.high for one in found)
    assert 0.90 <= covered / 300 <= 0.98


def test_one_metric_alone_has_the_interval_it_has_among_others() -> None:
    rng = np.random.default_rng(7)
    matrix = rng.random((60, 4))
    matrix[rng.random(matrix.shape) < 0.3] = np.nan
    matrix[:, 3] = rng.random(60) < 0.8
    together = intervals(matrix, np.arange(60), [60] * 4, [False, False, False, True])
    for m, binary in enumerate([False, False, False, True]):
        alone = interval(matrix[:, m], np.arange(60), 60, binary)
        assert alone.method == together[m].method
        assert alone.low == pytest.approx(together[m].low, abs=1e-9)
        assert alone.high == pytest.approx(together[m].high, abs=1e-9)


@settings(max_examples=60)
@given(st.lists(unit, min_size=1, max_size=40), st.integers(1, 12), st.booleans())
def test_every_interval_holds_its_mean_and_keeps_to_the_bounds(
    values: list[float], groups: int, binary: bool
) -> None:
    found = interval(np.array(values), np.arange(len(values)) % groups, len(values), binary)
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0
    assert found.high > found.low
    assert found.too_few or found.n_clusters >= 10


@settings(max_examples=40)
@given(st.lists(unit, min_size=1, max_size=30), st.integers(1, 15))
def test_the_order_of_the_samples_does_not_matter(values: list[float], groups: int) -> None:
    order = np.random.default_rng(len(values)).permutation(len(values))
    array, clusters = np.array(values), np.arange(len(values)) % groups
    given_order = interval(array, clusters, len(values))
    shuffled = interval(array[order], clusters[order], len(values))
    assert shuffled.mean == pytest.approx(given_order.mean, abs=1e-12)
    assert shuffled.low == pytest.approx(given_order.low, abs=1e-9)
    assert shuffled.high == pytest.approx(given_order.high, abs=1e-9)


def test_values_outside_the_declared_bounds_widen_them() -> None:
    found = interval(np.array([-0.005, -0.005, 0.0]), np.arange(3), 3)
    assert -0.005 <= found.low < 0


def test_repeats_are_averaged_before_questions() -> None:
    values: FloatArray = np.array([1.0, 0.0, 0.5, np.nan, np.nan])
    means, counts = question_means(values, np.array([0, 0, 1, 1, 2]))
    np.testing.assert_array_equal(means, [0.5, 0.5, np.nan])
    np.testing.assert_array_equal(counts, [2, 1, 0])


def test_question_means_take_several_metrics_at_once() -> None:
    values = np.array([[1.0, np.nan], [0.0, 0.25]])
    means, counts = question_means(values, np.array([0, 0]))
    np.testing.assert_array_equal(means, [[0.5, 0.25]])
    np.testing.assert_array_equal(counts, [[2, 1]])


@given(st.lists(st.one_of(unit, st.sampled_from([-0.0, math.nan, math.inf])), min_size=1), st.randoms())
def test_single_samples_have_the_means_that_repeats_of_one_have(values: list[float], rng: Random) -> None:
    question = list(range(len(values)))
    rng.shuffle(question)
    alone, counts = question_means(np.array(values), np.array(question))
    column = np.array(values)[:, None]  # the way of several metrics at once, which sums repeats
    summed, summed_counts = question_means(column, np.array(question))
    assert alone.tobytes() == summed.tobytes()
    assert counts.tolist() == summed_counts[:, 0].tolist()


def test_codes_of_another_length_are_refused() -> None:
    with pytest.raises(MetricsError, match="differ in length: 2 and 3"):
        question_means(np.zeros(2), np.zeros(3, dtype=np.int64))


def test_a_mean_over_questions_is_a_pass_rate_where_all_values_are_0_or_1() -> None:
    passes = np.array([1.0, 0.0] * 10 + [np.nan])
    rate = mean_over_questions(passes)
    assert (rate.method, rate.n_scored, rate.mean) == ("wilson", 20, 0.5)
    assert (rate.low, rate.high) == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert mean_over_questions(np.where(passes == 0, 0.25, passes)).method == "dirichlet"
    assert mean_over_questions(passes, np.arange(21) // 2).method == "exact"


def test_missing_values_bound_the_mean_from_both_sides() -> None:
    assert missing_bounds(np.array([1.0, 0.5, np.nan]), 1) == pytest.approx((0.5, 2.5 / 3))
    assert all(math.isnan(end) for end in missing_bounds(np.array([np.nan]), 0))
