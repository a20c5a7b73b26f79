"""Percentiles by hand: binomial ranks, the n at which the interval exists, gates on percentiles."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.metrics.gates.gates import Gate, judge_percentile
from ragtriage.metrics.gates.wording import gate_sentence, gate_title
from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.distributions import (
    QuantileInterval,
    fewest_values,
    quantile_interval,
    quantile_ranks,
)

SLOW = Gate("retrieval_ms", 50.0, True, "block", "slow", "percentile", percentile=95, over="samples")


def _tail(n: int, share: Fraction, least: int) -> Fraction:
    """P(B >= least) in whole numbers."""
    return sum((comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(least, n + 1)), Fraction(0))


@pytest.mark.parametrize(
    ("n", "share", "ranks"),
    [
        (20, 0.5, (6, 15)),  # Conover's table of the median
        (100, 0.5, (40, 61)),
        (5, 0.5, (None, None)),  # 0.5 ** 5 = 0.031
        (6, 0.5, (1, 6)),  # 0.5 ** 6 = 0.016
        (71, 0.95, (63, None)),  # 0.95 ** 71 = 0.0262
        (72, 0.95, (64, 72)),  # 0.95 ** 72 = 0.0249
        (0, 0.95, (None, None)),
    ],
)
def test_ranks_by_hand(n: int, share: float, ranks: tuple[int | None, int | None]) -> None:
    assert quantile_ranks(n, share) == ranks


@given(st.integers(1, 150), st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)]))
def test_ranks_are_the_tightest_that_err_in_at_most_2_5_percent(n: int, share: Fraction) -> None:
    low, high = quantile_ranks(n, float(share))
    alpha = Fraction(1, 40)
    assert low is None or 1 - _tail(n, share, low) <= alpha
    assert high is None or _tail(n, share, high) <= alpha
    assert 1 - _tail(n, share, (low or 0) + 1) > alpha
    assert _tail(n, share, (high or n + 1) - 1) > alpha


@pytest.mark.parametrize(("share", "least"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.05, 72)])
def test_below_the_fewest_values_an_end_is_open(share: float, least: int) -> None:
    assert fewest_values(share) == least
    assert None not in quantile_ranks(least, share)
    assert None in quantile_ranks(least - 1, share)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, 95.0, float("nan")])
def test_a_share_lies_between_0_and_1(share: float) -> None:
    with pytest.raises(MetricsError, match="between 0 and 1"):
        quantile_ranks(10, share)


def test_the_percentile_of_100_values_lies_between_the_90th_and_the_last() -> None:
    values = np.arange(100, 0, -1, dtype=np.float64)
    measured = quantile_interval(values, 0.95)
    assert measured.value == pytest.approx(95.05)
    assert (measured.low, measured.high, measured.n) == (90.0, 100.0, 100)


def test_unscored_values_are_left_out() -> None:
    values = np.array([np.nan, 3.0, 1.0, 2.0, np.nan])
    assert quantile_interval(values, 0.5) == QuantileInterval(2.0, None, None, 3, 3)
    assert quantile_interval(np.full(3, np.nan), 0.5) == QuantileInterval(None, None, None, 0, 0)


def test_repeats_that_agree_tell_no_more_than_their_questions() -> None:
    questions = np.arange(1.0, 101.0)
    once, thrice = quantile_interval(questions, 0.95), quantile_interval(np.repeat(questions, 3), 0.95, 100)
    assert (once.low, once.high) == (thrice.low, thrice.high) == (90.0, 100.0)
    assert (thrice.n, thrice.independent) == (300, 100)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.floats(0.01, 0.99))
def test_the_interval_holds_the_percentile(values: list[float], share: float) -> None:
    measured = quantile_interval(np.array(values), share)
    assert measured.value is not None
    if measured.low is not None and measured.high is not None:
        assert measured.low - 1e-6 <= measured.value <= measured.high + 1e-6


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (20.0, 49.0, "PASS"),
        (20.0, 50.0, "PASS"),
        (20.0, 51.0, "INCONCLUSIVE"),
        (51.0, 90.0, "FAIL"),
        (20.0, None, "UNMEASURED"),
    ],
)
def test_a_percentile_is_judged_by_its_interval(low: float, high: float | None, verdict: str) -> None:
    assert judge_percentile(SLOW, QuantileInterval(45.0, low, high, 80, 80)).verdict == verdict


def test_a_value_that_failed_to_score_counts_as_the_worst() -> None:
    result = judge_percentile(SLOW, QuantileInterval(40.0, 30.0, 45.0, 80, 80), 100, inf)
    assert (result.verdict, result.why) == ("INCONCLUSIVE", "failed to score")
    assert "would move the percentile past 50.00" in gate_sentence(result)


def test_the_words_say_which_percentile_and_over_what() -> None:
    assert gate_title(SLOW) == "Retrieval time (ms), p95 of samples: at most 50"
    failed = judge_percentile(SLOW, QuantileInterval(60.0, 55.0, 70.0, 80, 80), 90)
    assert gate_sentence(failed) == (
        "Retrieval time (ms), p95 of samples: 60.00 [55.00, 70.00] over 80 of 90 samples; 10.00 above the "
        "threshold: the whole interval is above 50.00."
    )
    few = judge_percentile(SLOW, QuantileInterval(60.0, 55.0, None, 71, 71), 71)
    assert gate_sentence(few) == (
        "Retrieval time (ms), p95 of samples: measured on 71 samples, too few to decide; "
        "at least 72 are needed."
    )
