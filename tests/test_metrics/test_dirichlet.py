from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.distributions import BoundedClusters, dirichlet_ends
from ragtriage.metrics.statistics.intervals import interval, intervals
from ragtriage.metrics.statistics.paired import paired

EXPECTED = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "intervals" / "expected.json").read_text("utf-8")
)


def _repeated(sample: dict[str, Any]) -> tuple[FloatArray, IntArray]:
    """Return the values of a sample by question, and the codes of their clusters."""
    sizes = np.array(sample.get("sizes", [1] * len(sample["values"])), dtype=np.int64)
    return np.repeat(np.array(sample["values"]), sizes), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("sample", EXPECTED, ids=lambda sample: str(sample["name"]))
def test_the_ends_are_those_of_the_outside_table(sample: dict[str, Any]) -> None:
    values, clusters = _repeated(sample)
    if sample["kind"] == "difference":
        measured = paired(np.zeros(len(values)), values, clusters)
        ends = measured.low, measured.high
    else:
        # 1 as in a run that has a half value elsewhere: no plain pass rate, whose interval is Wilson's
        mean = interval(values, clusters, len(values), bounds=tuple(sample["bounds"]))
        ends = mean.low, mean.high
    assert ends == pytest.approx((sample["low"], sample["high"]), abs=2e-6)


def test_clusters_of_one_size_and_of_many_meet_where_sizes_hardly_differ() -> None:
    values = np.random.default_rng(2).random(30)
    sizes = np.ones(30)
    sizes[4] += 1e-9
    alike, mixed = (
        dirichlet_ends([BoundedClusters(values * size, size, (0.0, 1.0))], 0.7, [1.96])[0]
        for size in (np.ones(30), sizes)
    )
    assert mixed == pytest.approx(alike, abs=1e-6)


def test_a_skewed_score_lies_above_its_interval_as_seldom_as_promised() -> None:
    rng = np.random.default_rng(8)
    for n in (20, 50):
        draws = np.where(rng.random((n, 1500)) < 0.85, 1.0, rng.random((n, 1500)))
        found = intervals(draws, np.arange(n), [n] * 1500)
        assert np.mean([each.low > 0.925 for each in found]) <= 0.04
        assert np.mean([each.high < 0.925 for each in found]) <= 0.04


def test_the_one_sided_bound_of_a_difference_moves_with_a_single_win() -> None:
    unchanged = paired(np.ones(48), np.ones(48), np.arange(48))
    base = np.ones(48)
    base[0] = 0.0
    won = paired(base, np.ones(48), np.arange(48))
    assert (unchanged.low_bound, won.low_bound) == pytest.approx((-0.035, -0.023), abs=5e-4)


def test_one_sided_p_of_equal_changes_is_that_of_the_binomial() -> None:
    base, other = np.zeros(40), np.zeros(40)
    base[:15], other[15:20] = 1.0, 1.0  # 15 lost, 5 won
    lost = paired(base, other, np.arange(40))
    assert lost.p_fall == pytest.approx(0.0206947, abs=1e-6)
    assert lost.p == pytest.approx(0.0413895, abs=1e-6)
    assert lost.p_rise == pytest.approx(0.9940910, abs=1e-6)
