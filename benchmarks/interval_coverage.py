"""How often the intervals of bounded means miss the truth, on either side, and how wide they are.

Each draw is one run: n questions with scores from a distribution of known mean. Printed are, in percent, how
often the whole 95 % interval lies above the truth (a gate "at least" passes falsely) and below it, with the
mean width, for the interval of the product, for Student's t and for a percentile bootstrap; then the same for
paired differences of two runs.

Usage: python benchmarks/interval_coverage.py [--draws 1500]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.distributions import t_quantile
from ragtriage.metrics.statistics.intervals import intervals
from ragtriage.metrics.statistics.paired import paired

SIZES = (10, 20, 50, 100)
RESAMPLES = 500


def _spiked(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Return scores that are 1 for 85 % of the samples and anywhere below for the rest."""
    return np.where(rng.random(shape) < 0.85, 1.0, rng.random(shape))


DISTRIBUTIONS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], FloatArray], float]] = {
    "1 in 85 %, else uniform": (_spiked, 0.925),
    "0 or 1, 95 % ones": (lambda rng, shape: (rng.random(shape) < 0.95).astype(float), 0.95),
    "Beta(2, 5)": (lambda rng, shape: rng.beta(2, 5, shape), 2 / 7),
    "Beta(1/2, 1/2)": (lambda rng, shape: rng.beta(0.5, 0.5, shape), 0.5),
}


def main() -> None:
    """Print one row for each distribution and size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1500)
    draws = parser.parse_args().draws
    print("| scores | n | Dirichlet: above / below, width | Student t | percentile bootstrap |")
    print("|---|---|---|---|---|")
    for name, (draw, truth) in DISTRIBUTIONS.items():
        for n in SIZES:
            values = draw(np.random.default_rng(n), (n, draws))
            ends = [_dirichlet(values), _student(values), _bootstrap(values)]
            print(f"| {name} | {n} | {' | '.join(_misses(each, truth) for each in ends)} |", flush=True)
    for n in SIZES:
        before, after = _pairs(np.random.default_rng(n), (n, draws))
        changes = after - before
        ends = [_differences(before, after), _student(changes), _bootstrap(changes)]
        print(
            f"| differences of 0 or 1 | {n} | {' | '.join(_misses(each, -0.1) for each in ends)} |",
            flush=True,
        )


def _misses(ends: FloatArray, truth: float) -> str:
    low, high = ends
    above, below = 100 * (low > truth).mean(), 100 * (high < truth).mean()
    return f"{above:.1f} / {below:.1f}, {(high - low).mean():.3f}"


def _dirichlet(values: FloatArray) -> FloatArray:
    n, draws = values.shape
    found = intervals(values, np.arange(n), [n] * draws)
    return np.array([(each.low, each.high) for each in found]).T


def _differences(before: FloatArray, after: FloatArray) -> FloatArray:
    codes = np.arange(len(before))
    found = [paired(left, right, codes) for left, right in zip(before.T, after.T, strict=True)]
    return np.array([(each.low, each.high) for each in found]).T


def _pairs(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Return passes of two runs whose true difference is -0.1."""
    before = rng.random(shape) < 0.8
    flips = rng.random(shape)
    return before.astype(float), np.where(before, flips >= 0.15, flips < 0.1).astype(float)


def _student(values: FloatArray) -> FloatArray:
    n = len(values)
    reach = t_quantile(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return np.stack((values.mean(axis=0) - reach, values.mean(axis=0) + reach))


def _bootstrap(values: FloatArray) -> FloatArray:
    n = len(values)
    shares = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
    return np.quantile(shares @ values, [0.025, 0.975], axis=0)


if __name__ == "__main__":
    main()
