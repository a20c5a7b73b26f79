"""What no failure in n trials still allows."""

from __future__ import annotations

import pytest

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.power import still_possible


@pytest.mark.parametrize(("n", "bound"), [(1, 0.95), (2, 1 - 0.05**0.5), (100, 0.02951), (236, 0.01261)])
def test_the_bound_of_small_samples(n: int, bound: float) -> None:
    assert still_possible(n) == pytest.approx(bound, abs=5e-5)


def test_it_is_about_three_over_n() -> None:
    assert still_possible(1000) == pytest.approx(3 / 1000, rel=0.01)


def test_no_trial_allows_everything_and_nonsense_is_refused() -> None:
    assert still_possible(0) == 1.0
    with pytest.raises(MetricsError, match="accepted"):
        still_possible(-1)
