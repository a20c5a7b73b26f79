"""How often the interval of a weighted mean misses the truth, where calls are kept at 5, 20 and 100 %.

Each draw is one window of live traffic: its calls pass (or have a graded score) by chance, and each is kept
at the rate of its stratum. Printed are, over the draws, the true mean of all calls, the weighted and the
plain mean of those kept, the effective number of them, and in percent how often the interval holds the mean
of all calls, lies below it and above it, for the interval of the product and for Wilson's on the effective
number alone.

Usage: python benchmarks/weighted_coverage.py [--draws 2000]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import interval, wilson

# name -> calls, rate and pass rate of each stratum
DESIGNS: dict[str, tuple[tuple[int, float, float], ...]] = {
    "most right, refusals and errors kept": ((2900, 0.05, 0.62), (700, 0.2, 0.25), (119, 1.0, 0.1)),
    "hardly any wrong in the rest": ((3400, 0.05, 0.98), (200, 0.2, 0.5), (119, 1.0, 0.1)),
    "a rate that follows the strata": ((2900, 0.05, 0.0), (700, 0.2, 1.0), (119, 1.0, 0.5)),
    "varies most where it weighs most": ((700, 0.05, 0.5), (1000, 0.2, 0.02), (2000, 1.0, 0.02)),
    "70 kept": ((500, 0.05, 0.6), (100, 0.2, 0.3), (20, 1.0, 0.1)),
}


@dataclass
class _Seen:
    """One draw: the truth, the two means, the effective number, and the ends of both intervals."""

    truth: float
    weighted: float
    plain: float
    effective: float
    ends: tuple[float, float]
    wilson: tuple[float, float]


def main() -> None:
    """Print one row for each design, of pass rates and of graded scores."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    print("| calls | scores | true | weighted | plain | effective n | holds, below, above | Wilson alone |")
    print("|---|---|---|---|---|---|---|---|")
    for name, strata in DESIGNS.items():
        for graded in (False, True):
            rng = np.random.default_rng(7)
            seen = [_drawn(rng, strata, graded) for _ in range(draws)]
            means = np.mean(
                [(each.truth, each.weighted, each.plain, each.effective) for each in seen], axis=0
            )
            numbers = " | ".join([*(f"{mean:.3f}" for mean in means[:3]), f"{means[3]:.0f}"])
            alone = "–" if graded else _coverage(seen, "wilson")
            kind = "graded" if graded else "0 or 1"
            print(f"| {name} | {kind} | {numbers} | {_coverage(seen, 'ends')} | {alone} |", flush=True)


def _drawn(rng: np.random.Generator, strata: tuple[tuple[int, float, float], ...], graded: bool) -> _Seen:
    """Draw the calls of a window and those that are kept; right answers have the higher graded scores."""
    sizes = [size for size, _, _ in strata]
    rates, chances = (np.repeat([stratum[at] for stratum in strata], sizes) for at in (1, 2))
    values: FloatArray = (rng.random(len(rates)) < chances).astype(np.float64)
    if graded:
        values = np.where(values == 1, rng.beta(6, 1, len(values)), rng.beta(1, 2, len(values)))
    kept = rng.random(len(rates)) < rates
    scores, weights = values[kept], 1 / rates[kept]
    found = interval(scores, np.arange(len(scores)), len(scores), not graded, weights=weights)
    effective = found.n_effective or float("nan")
    alone = wilson(found.mean, effective) if not graded else (0.0, 1.0)
    ends = found.low, found.high
    return _Seen(float(values.mean()), found.mean, float(scores.mean()), effective, ends, alone)


def _coverage(seen: list[_Seen], which: str) -> str:
    low, high = np.array([getattr(each, which) for each in seen]).T
    truth = np.array([each.truth for each in seen])
    below, above = 100 * (high < truth).mean(), 100 * (low > truth).mean()
    return f"{100 - below - above:.1f}, {below:.1f}, {above:.1f}"


if __name__ == "__main__":
    main()
