"""Sizes of samples by hand and by their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.power import (
    labels_for_share,
    questions_for_change,
    questions_for_difference,
    smallest_change,
)


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


def test_the_paired_formula_is_that_of_connor() -> None:
    """psi = 0.3, d = 0.1: (1.95996 sqrt(0.3) + 0.84162 sqrt(0.29))^2 / 0.01 = 233.1."""
    assert questions_for_change(0.1, 0.3) == 234
    assert questions_for_change(0.3, 0.3) < questions_for_change(0.2, 0.3)


@pytest.mark.parametrize("questions", [40, 48, 200, 1_000])
def test_the_smallest_change_is_the_least_that_so_many_questions_show(questions: int) -> None:
    change = smallest_change(questions, 0.27)
    assert questions_for_change(change, 0.27) <= questions
    assert questions_for_change(change - 0.001, 0.27) > questions


def test_too_few_questions_show_no_change() -> None:
    assert np.isnan(smallest_change(5, 0.27))
    assert np.isnan(smallest_change(500, 0.0))
    with pytest.raises(MetricsError, match="accepted"):
        questions_for_change(0.4, 0.3)
