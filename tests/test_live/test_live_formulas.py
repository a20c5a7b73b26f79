"""Formulas of live traffic: sampling by hash, control limits, rate and mix parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.metrics.live.ewma import ewma
from ragtriage.metrics.live.mix import mix_change, rate_change
from ragtriage.metrics.live.sampling import keep
from ragtriage.metrics.schema.scores import MetricsError

# mean context tokens of the 45 minutes with traffic in the Azure LLM inference trace "code" of 2023
# (Azure/AzurePublicDataset, CC BY 4.0), rounded to whole tokens
AZURE_MINUTES = np.array(
    [
        *(2343, 2112, 2260, 2254, 1717, 1216, 2004, 1976, 1716, 1477, 2124, 1862, 1615, 2196, 2011),
        *(2287, 2354, 2220, 2002, 2185, 2501, 2130, 1995, 1607, 2049, 1852, 2230, 2489, 2110, 1738),
        *(2043, 1966, 1903, 2506, 4052, 1887, 2175, 2156, 2213, 2253, 2233, 2828, 1659, 1985, 2140),
    ],
    dtype=np.float64,
)


def test_a_twentieth_of_the_azure_calls_is_kept_by_hash() -> None:
    kept = [index for index in range(8819) if keep(str(index), 0.05)]
    assert len(kept) == 444
    assert kept[:10] == [39, 51, 55, 146, 149, 152, 178, 211, 229, 235]
    assert all(keep(str(index), 0.2) for index in kept)
    assert not any(keep(str(index), 0.0) for index in range(100))
    assert all(keep(str(index), 1.0) for index in range(100))


def test_four_of_45_azure_minutes_are_beyond_the_limits() -> None:
    drift = ewma(AZURE_MINUTES, baseline=20)
    assert drift.centre == pytest.approx(1996.54, abs=0.5)
    assert drift.spread == pytest.approx(309.73, abs=0.5)
    assert np.flatnonzero(drift.beyond).tolist() == [34, 35, 36, 41]


def test_limits_of_an_average_by_hand() -> None:
    drift = ewma(np.array([1.0, 3.0, np.nan, 10.0]), baseline=2, lam=0.5, width=2.0)
    assert [drift.centre, drift.spread] == pytest.approx([2.0, np.sqrt(2)])
    assert drift.average.tolist() == [1.5, 2.25, 2.25, 6.125]
    reach = 2 * np.sqrt(2) * np.sqrt(0.5 * (1 - 0.25 ** np.array([1, 2, 2, 3])) / 1.5)
    assert drift.high == pytest.approx(2 + reach)
    assert drift.beyond.tolist() == [False, False, False, True]


def test_a_baseline_that_does_not_vary_sets_no_limits() -> None:
    assert not ewma(np.array([0.1, 0.1, 0.1, 5.0]), baseline=3).beyond.any()
    with pytest.raises(MetricsError, match="baseline from 2 up"):
        ewma(np.array([1.0, np.nan]), baseline=2)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 50), st.floats(0, 1), st.integers(0, 50), st.floats(0, 1)]),
        min_size=1,
        max_size=13,
    ).filter(lambda rows: sum(row[0] for row in rows) > 0 and sum(row[2] for row in rows) > 0)
)
def test_rate_and_mix_parts_add_up_to_the_change(rows: list[tuple[int, float, int, float]]) -> None:
    n0, r0, n1, r1 = np.array(rows, dtype=np.float64).T
    change = rate_change((n0 * r0, n0), (n1 * r1, n1))
    assert change.rate_parts.sum() + change.mix_parts.sum() == pytest.approx(change.change, abs=1e-12)
    assert change.before == pytest.approx((n0 * r0).sum() / n0.sum(), abs=1e-12)
    assert change.after == pytest.approx((n1 * r1).sum() / n1.sum(), abs=1e-12)


def test_a_pure_change_of_rates_has_no_mix_part_and_the_reverse() -> None:
    counts = np.array([30.0, 70.0])
    rates = rate_change((counts * [0.1, 0.2], counts), (counts * [0.4, 0.2], counts))
    assert rates.mix_parts.tolist() == [0.0, 0.0]
    assert rates.rate_parts == pytest.approx([0.09, 0.0])
    mix = rate_change((counts * [0.1, 0.2], counts), (counts[::-1] * [0.1, 0.2], counts[::-1]))
    assert mix.rate_parts.tolist() == [0.0, 0.0]
    new = rate_change(
        (np.array([0.0, 10.0]), np.array([0.0, 100.0])), (np.array([40.0, 10.0]), np.full(2, 100.0))
    )
    assert new.rate_parts == pytest.approx([0.0, 0.0])
    assert new.mix_parts.sum() == pytest.approx(0.15)


def test_a_changed_mix_against_a_published_table() -> None:
    """Agresti, Categorical Data Analysis, 2.4.2: chi-square of a 2 x 3 table of party by gender is 30.1."""
    change = mix_change([762, 327, 468], [484, 239, 477])
    assert change.p == pytest.approx(2.95e-7, rel=0.01)
    assert change.effect == pytest.approx(np.sqrt(30.07 / 2757), rel=1e-3)
    assert change.is_change
    assert mix_change([762, 327, 468], [484, 239, 477], design_effect=10).p == pytest.approx(0.222, rel=0.01)


def test_rare_topics_are_tested_together_and_too_few_calls_say_nothing() -> None:
    split = mix_change([50, 40, 2, 3, 1, 4], [48, 41, 4, 1, 3, 3])
    together = mix_change([50, 40, 10], [48, 41, 11])
    assert split.p == pytest.approx(together.p)
    for first, other in (([2, 1], [1, 2]), ([0, 0], [4, 5]), ([3, 300], [0, 200])):
        few = mix_change(first, other)
        assert np.isnan(few.p)
        assert not few.is_change
    assert mix_change([10, 0], [0, 10]).moved == 1.0


def test_the_mix_of_one_source_is_rarely_said_to_have_changed() -> None:
    draw = np.random.default_rng(3)
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.03, 0.02])
    said = [mix_change(*draw.multinomial(120, shares, size=2).tolist()).is_change for _ in range(1000)]
    assert np.mean(said) <= 0.02
