"""Sizes of samples by hand and by their laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.power import labels_for_share, questions_for_difference


@pytest.mark.parametrize(
    ("deviation", "difference", "power", "n"),
    [
        (0.3, 0.05, 0.8, 283),  # (2.801585 * 6)^2 = 282.56
        (0.5, 0.05, 0.8, 785),  # (2.801585 * 10)^2 = 784.89
        (0.5**0.5, 0.05, 0.8, 1570),  # two groups of a share of 0.5: 2 * 0.25 * 3139.55
        (0.3, 0.05, 0.9, 379),  # (3.241515 * 6)^2 = 378.27
        (0.0, 0.05, 0.8, 2),
    ],
)
def test_questions_by_hand(deviation: float, difference: float, power: float, n: int) -> None:
    assert questions_for_difference(deviation, difference, power) == n


@pytest.mark.parametrize(("half_width", "n"), [(0.2, 25), (0.1, 97), (0.05, 385)])
def test_labels_by_hand(half_width: float, n: int) -> None:
    assert labels_for_share(half_width) == n  # 0.9604 / half_width^2


@given(st.floats(0.01, 2), st.floats(0.01, 1))
def test_half_the_difference_needs_four_times_the_questions(deviation: float, difference: float) -> None:
    n = questions_for_difference(deviation, difference)
    assert questions_for_difference(deviation, difference / 2) <= 4 * n
    assert questions_for_difference(2 * deviation, difference) >= n


@pytest.mark.parametrize(("deviation", "difference"), [(-1.0, 0.1), (0.3, 0.0), (float("nan"), 0.1)])
def test_what_makes_no_sense_is_refused(deviation: float, difference: float) -> None:
    with pytest.raises(MetricsError, match="accepted"):
        questions_for_difference(deviation, difference)
    with pytest.raises(MetricsError, match="accepted"):
        labels_for_share(0.6)
