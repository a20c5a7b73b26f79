"""Family-wise error and power of step-down max-T against Holm, over correlated metrics of paired runs.

Each draw is one comparison: 11 metrics on n questions, whose differences have a common part (their
correlation) and many exact zeros, as those of claim metrics do. Either no metric moved, or every second one.
Printed are

- error: share of comparisons in which at least one metric that did not move is called better or worse;
- power: share of the metrics that moved that are called so;
- coverage: share of comparisons in which every interval of max-T holds the true difference.

Usage: python benchmarks/metric_families.py [--draws 400]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.max_t import ClusterSums, max_t
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, holm

METRICS, EFFECT, SPREAD, UNCHANGED = 11, 0.13, 0.35, 0.4


@dataclass
class Tally:
    """Counts over the draws of one setting."""

    errors_max_t: int = 0
    errors_holm: int = 0
    found_max_t: int = 0
    found_holm: int = 0
    covered: int = 0


def main() -> None:
    """Print one row a setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    print("| n | correlation | moved | error max-T | error Holm | power max-T | power Holm | coverage |")
    print("|---|---|---|---|---|---|---|---|")
    for n in (10, 48, 200):
        for correlation in (0.0, 0.6, 0.9):
            for moved in (0, METRICS // 2):
                print(_row(n, correlation, moved, draws), flush=True)


def _row(n: int, correlation: float, moved: int, draws: int) -> str:
    rng = np.random.default_rng([n, int(100 * correlation), moved])
    truth = np.where(np.arange(METRICS) % 2 == 1, EFFECT if moved else 0.0, 0.0)
    tally = Tally()
    for _ in range(draws):
        _count(tally, _differences(rng, n, correlation) + truth, truth)
    powers = ("–", "–")
    if moved:
        powers = tuple(f"{found / draws / moved:.2f}" for found in (tally.found_max_t, tally.found_holm))
    return (
        f"| {n} | {correlation} | {moved} of {METRICS} | {tally.errors_max_t / draws:.3f} | "
        f"{tally.errors_holm / draws:.3f} | {powers[0]} | {powers[1]} | {tally.covered / draws:.3f} |"
    )


def _differences(rng: np.random.Generator, n: int, correlation: float) -> FloatArray:
    """(n, M) differences around 0, symmetric, a share of them exactly 0."""
    shared, own = rng.standard_normal((n, 1)), rng.standard_normal((n, METRICS))
    mixed = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return SPREAD * mixed * (rng.random((n, METRICS)) >= UNCHANGED)


def _count(tally: Tally, table: FloatArray, truth: FloatArray) -> None:
    ones = np.ones(len(table))
    members = [ClusterSums(table[:, at], ones, (-2.0, 2.0), (-2.0, 2.0)) for at in range(METRICS)]
    tests = max_t(members)
    together = np.array([test.p for test in tests]) < SIGNIFICANCE
    by_holm = holm([max_t([member])[0].p for member in members]) < SIGNIFICANCE
    null = truth == 0
    tally.errors_max_t += bool(together[null].any())
    tally.errors_holm += bool(by_holm[null].any())
    tally.found_max_t += int(together[~null].sum())
    tally.found_holm += int(by_holm[~null].sum())
    tally.covered += all(test.low <= value <= test.high for test, value in zip(tests, truth, strict=True))


if __name__ == "__main__":
    main()
