"""Formulas of live tests by hand, by their laws and by simulation."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.metrics.ab.differences import (
    arm_totals,
    cuped,
    delta_residuals,
    difference,
    newcombe,
    variance_for_band,
)
from ragtriage.metrics.ab.feedback import (
    cohort_matrix,
    guardrail_state,
    net_promoter,
    nonresponse_bounds,
    retained,
)
from ragtriage.metrics.ab.sequence import always_valid_reach
from ragtriage.metrics.ab.split import sample_ratio
from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.power import smallest_difference, units_per_arm


def rows(*values: float) -> tuple[FloatArray, np.ndarray]:
    """Values of units with one value each."""
    return np.array(values), np.arange(len(values))


@pytest.mark.parametrize(
    ("counts", "shares", "p"),
    [
        ((10_000, 10_000), (50, 50), 1.0),
        ((1_288, 1_312), (1, 1), 0.63778),  # 24^2 / 2600 = 0.22154
        ((5_200, 4_800), (0.5, 0.5), 6.33e-5),  # 2 * 200^2 / 5000 = 16
        ((60, 40, 100), (30, 20, 50), 1.0),
        ((30, 30, 40), (1, 1, 1), 0.36788),  # 2 * (10/3)^2 + (20/3)^2 over 100/3 = 2, exp(-1)
    ],
)
def test_the_split_by_hand(counts: tuple[int, ...], shares: tuple[float, ...], p: float) -> None:
    ratio = sample_ratio(counts, shares)
    assert ratio.p == pytest.approx(p, rel=2e-3)
    assert ratio.broken == (p < 0.001)
    assert sum(ratio.shares) == pytest.approx(1)


@pytest.mark.parametrize(
    ("counts", "shares"),
    [((1,), (1,)), ((1, 2), (1,)), ((0, 0), (1, 1)), ((1, -1), (1, 1)), ((1, 1), (1, 0))],
)
def test_a_split_that_makes_no_sense_is_refused(counts: tuple[int, ...], shares: tuple[float, ...]) -> None:
    with pytest.raises(MetricsError, match="accepted"):
        sample_ratio(counts, shares)


def test_newcombes_interval_is_that_of_his_paper() -> None:
    """Newcombe 1998, table II, method 10: 56/70 - 48/80 and 10/10 - 0/20."""
    assert newcombe(48, 80, 56, 70) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe(0, 20, 10, 10) == pytest.approx((0.6791, 1.0), abs=5e-5)


@given(st.integers(1, 80), st.integers(1, 80), st.data())
def test_newcombes_interval_holds_the_difference_and_turns_with_the_arms(
    n: int, m: int, data: st.DataObject
) -> None:
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    low, high = newcombe(a, n, b, m)
    assert -1 - 1e-12 <= low <= b / m - a / n + 1e-12 <= high + 2e-12 <= 1 + 3e-12
    assert newcombe(b, m, a, n) == pytest.approx((-high, -low))


def test_two_means_are_compared_by_welch() -> None:
    """1 2 3 4 against 2 4 6 8 10: variances 5/3 and 10, error sqrt(5/12 + 2), 5.5206 degrees of freedom."""
    result = difference(arm_totals(*rows(1, 2, 3, 4)), arm_totals(*rows(2, 4, 6, 8, 10)), "number")
    assert result is not None
    assert (result.base, result.arm, result.difference) == (2.5, 6, 3.5)
    assert result.error == pytest.approx(sqrt(5 / 12 + 2))
    assert result.p == pytest.approx(0.0689, abs=5e-4)
    assert (result.low, result.high) == pytest.approx(
        (3.5 - 2.4983 * 1.55456, 3.5 + 2.4983 * 1.55456), abs=3e-3
    )
    assert result.method == "Welch"


def test_a_ratio_by_user_by_hand() -> None:
    """Users with 1 of 1, 1 of 3 and 0 of 2: r = 1/3, e = 2/3, 0, -2/3, SE = sqrt(3/2 * 8/9) / 6."""
    users = np.array([0, 1, 1, 1, 2, 2])
    totals = arm_totals(np.array([1.0, 1, 0, 0, 0, 0]), users)
    assert totals.mean == pytest.approx(1 / 3)
    assert delta_residuals(totals) == pytest.approx([1 / 3, 0, -1 / 3])
    result = difference(totals, totals, "share")
    assert result is not None
    assert result.error == pytest.approx(sqrt(2) * sqrt(3 / 2 * 8 / 9) / 6)
    assert result.method == "delta method by user"
    assert result.p == 1


def test_values_that_are_not_measured_are_no_values() -> None:
    totals = arm_totals(np.array([1.0, np.nan, 0.0]), np.array([0, 1, 0]))
    assert (totals.units, totals.values, totals.mean) == (1, 2, 0.5)
    assert difference(totals, totals, "share") is None


def test_the_band_by_hand() -> None:
    """V = t = 1: sqrt(1 * 2 * (ln 2 + 2 ln 20))."""
    reach = always_valid_reach(np.array([1.0, np.nan, 0.0]), 1.0)
    assert reach == pytest.approx([sqrt(2 * (log(2) + 2 * log(20))), inf, 0])
    assert not np.isnan(always_valid_reach(np.array([1e-30, 1.0, 1e30]), 1e-300)).any()
    assert not np.isnan(always_valid_reach(np.array([1e-30, 1.0, 1e30]), 1e300)).any()


@given(st.floats(1e-6, 1e3), st.floats(1e-6, 1e3))
def test_the_band_is_wider_than_a_single_look_whatever_effect_is_worth_having(v: float, worth: float) -> None:
    assert always_valid_reach(np.array([v]), worth)[0] > 1.96 * sqrt(v)


def test_the_band_alarms_in_at_most_five_in_a_hundred_tests_and_single_looks_far_more_often() -> None:
    """Two equal arms, 28 looks: each look adds 100 users to each arm, one in three of whom pass."""
    rng, tests, looks = np.random.default_rng(7), 2_000, 28
    passes = rng.binomial(100, 1 / 3, size=(2, tests, looks)).cumsum(axis=2)
    n = 100 * np.arange(1, looks + 1)
    rates = passes / n
    variances = (rates * (1 - rates) / n).sum(axis=0)
    change = np.abs(rates[1] - rates[0])
    band = (change > always_valid_reach(variances, 0.05)).any(axis=1).mean()
    single = (change > 1.96 * np.sqrt(variances)).any(axis=1).mean()
    assert band <= 0.05
    assert 0.2 < single < 0.35


def test_the_band_holds_for_users_with_several_values_from_its_first_look_on() -> None:
    """Users have 1 to 4 values that resemble each other; a look adds 20 users to each arm."""
    rng, alarms, tests = np.random.default_rng(3), 0, 200
    for _ in range(tests):
        sizes = rng.integers(1, 5, size=(2, 200))
        sums = rng.binomial(sizes, rng.beta(1, 2, size=sizes.shape))
        left_out = False
        for users in range(20, 201, 20):
            arms = [
                arm_totals(
                    np.repeat(sums[side][:users] / sizes[side][:users], sizes[side][:users]),
                    np.repeat(np.arange(users), sizes[side][:users]),
                )
                for side in (0, 1)
            ]
            result = difference(arms[0], arms[1], "share")
            assert result is not None
            variance = variance_for_band(result, arms[0], arms[1], "share")
            left_out |= abs(result.difference) > always_valid_reach(np.array([variance]), 0.05)[0]
        alarms += left_out
    assert alarms / tests <= 0.05


def test_intervals_by_user_cover_what_intervals_by_row_do_not() -> None:
    rng, by_user, by_row, tests = np.random.default_rng(5), 0, 0, 300
    for _ in range(tests):
        sizes = rng.integers(1, 10, size=(2, 80))
        rate = rng.beta(0.5, 0.5, size=sizes.shape)
        hits = []
        for side in (0, 1):
            users = np.repeat(np.arange(80), sizes[side])
            hits.append((rng.binomial(1, rate[side][users]).astype(float), users))
        user = difference(arm_totals(*hits[0]), arm_totals(*hits[1]), "share")
        single = [arm_totals(values, np.arange(len(values))) for values, _ in hits]
        row = difference(single[0], single[1], "share")
        assert user is not None
        assert row is not None
        by_user += user.low <= 0 <= user.high
        by_row += row.low <= 0 <= row.high
    assert by_user / tests > 0.92
    assert by_row / tests < 0.85


def test_a_rate_without_events_has_a_band() -> None:
    nobody = arm_totals(np.zeros(10), np.arange(10))
    result = difference(nobody, nobody, "share")
    assert result is not None
    assert result.error == 0
    twice = arm_totals(np.zeros(20), np.arange(20) // 2)
    by_user = difference(twice, twice, "share")
    assert by_user is not None
    assert variance_for_band(by_user, twice, twice, "share") > 0
    assert variance_for_band(result, nobody, nobody, "share") == pytest.approx(2 * (1 / 12) * (11 / 12) / 10)


def test_cuped_takes_away_what_the_week_before_explains() -> None:
    """y = x + noise of the same size, correlation sqrt(1/2): half of the variance goes, the truth stays."""
    rng = np.random.default_rng(11)
    before = rng.normal(size=(2, 4_000))
    after = before + rng.normal(size=before.shape) + np.array([[0.0], [0.1]])
    arms = [arm_totals(side, np.arange(4_000)) for side in after]
    raw = difference(arms[0], arms[1], "number")
    assert raw is not None
    adjusted = cuped(raw, (arms[0], before[0]), (arms[1], before[1]))
    assert adjusted is not None
    assert adjusted.saving == pytest.approx(0.5, abs=0.03)
    assert adjusted.theta == pytest.approx(1, abs=0.05)
    assert adjusted.result.low < 0.1 < adjusted.result.high
    assert adjusted.result.high - adjusted.result.low == pytest.approx(
        (raw.high - raw.low) * sqrt(1 - adjusted.saving), rel=1e-6
    )
    still = np.ones(4_000)
    assert cuped(raw, (arms[0], still), (arms[1], still)) is None
    with pytest.raises(MetricsError, match="one for each unit"):
        cuped(raw, (arms[0], still[:3]), (arms[1], still))


def test_the_net_promoter_score_by_hand() -> None:
    """Two promoters, a passive and a detractor of 4: 25, SE = 100 sqrt((3/4 - 1/16) / 4)."""
    score = net_promoter(np.array([10, 9, 7, 0, np.nan]))
    assert (score.score, score.promoters, score.detractors, score.n) == (25, 2, 1, 4)
    assert score.error == pytest.approx(100 * sqrt((0.75 - 0.0625) / 4))
    assert net_promoter(np.array([np.nan])).n == 0
    with pytest.raises(MetricsError, match="from 0 to 10"):
        net_promoter(np.array([11.0]))


def test_who_had_no_time_to_come_back_is_not_counted_as_gone() -> None:
    users, days = np.array([0, 0, 1, 2, 2, 3]), np.array([0, 5, 0, 0, 8, 6])
    eligible, returned = retained(users, days, 7, last_day=10)
    assert eligible.tolist() == [True, True, True, False]  # the last came on day 6, with 4 days to go
    assert returned.tolist() == [True, False, False, False]
    assert retained(np.array([0, 0]), np.array([3, 3]), 1, 9)[1].tolist() == [
        False
    ]  # the same day is no return
    with pytest.raises(MetricsError, match="1 day or more"):
        retained(users, days, 0)


def test_months_beyond_the_log_are_not_zero() -> None:
    matrix = cohort_matrix(np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1]))
    assert matrix[0].tolist() == [1, 0, 1]
    assert matrix[1, :2].tolist() == [1, 0]
    assert np.isnan(matrix[1, 2])


def test_those_who_gave_no_answer_leave_bounds() -> None:
    """1 of 2 answered yes against 1 of 4: [1/2, 1] and [1/4, 1]."""
    some, few = np.array([1, np.nan]), np.array([1, np.nan, np.nan, np.nan])
    assert nonresponse_bounds(some, few, 0, 1) == (0.25 - 1, 1 - 0.5)
    whole = np.array([1.0, 0.0])
    assert nonresponse_bounds(whole, whole, 0, 1) == (0, 0)


@pytest.mark.parametrize(
    ("low", "high", "margin", "higher", "state"),
    [
        (-0.095, 0.007, 0.03, True, "open"),
        (-0.02, 0.007, 0.03, True, "holds"),
        (-0.09, -0.04, 0.03, True, "fails"),
        (0.07, 0.14, 0.2, False, "holds"),
        (0.25, 0.4, 0.2, False, "fails"),
        (-inf, inf, 0.2, False, "open"),
        (0.0, 0.0, 0.0, True, "holds"),
    ],
)
def test_a_guardrail_goes_by_its_bound(
    low: float, high: float, margin: float, higher: bool, state: str
) -> None:
    assert guardrail_state(low, high, margin, higher) == state


def test_a_margin_below_zero_is_refused() -> None:
    with pytest.raises(MetricsError, match="from 0 up"):
        guardrail_state(0, 1, -0.1, True)


def test_units_to_see_a_difference_of_rates() -> None:
    """(1.95996 + 0.84162)^2 (0.0038 * 0.9962 + 0.0042 * 0.9958) / 0.0004^2 = 390,870.2."""
    variances = (0.0038 * 0.9962, 0.0042 * 0.9958)
    assert units_per_arm(variances, 0.0004) == 390_871
    assert units_per_arm(variances, -0.0004) == 390_871
    assert units_per_arm((1.0, 1.0), 1e-300) == 10**18
    assert smallest_difference(variances, (390_871, 390_871)) == pytest.approx(0.0004, rel=1e-5)
    with pytest.raises(MetricsError, match="other than 0"):
        units_per_arm(variances, 0.0)
    with pytest.raises(MetricsError, match="1 or more"):
        smallest_difference(variances, (0, 1))
