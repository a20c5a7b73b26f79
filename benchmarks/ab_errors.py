"""How often a live test errs: false alarms of daily looks, coverage, and power against the formula.

Tests are drawn by user: two arms, a share by one row a user (Newcombe) and by several (delta method), and a
skewed number of seconds (Welch). Printed are, in percent over the draws:

- A/A, nothing differs: tests in which the always-valid band leaves out 0 at any of the daily looks, and in
  which the interval of a single look does; that of the last look alone beside them;
- a true effect: how often the band holds it at all looks, and the single interval at the last;
- power: tests whose last interval leaves out 0 at the number of users that the formula asks for, which aims
  at 80.

Usage: python benchmarks/ab_errors.py [--draws 2000] [--looks 28]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.ab.differences import ArmTotals, Scale, difference, variance_for_band
from ragtriage.metrics.ab.sequence import always_valid_reach
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.power import units_per_arm

Draw = Callable[[np.random.Generator, int, float], ArmTotals]  # of so many users, with an effect


@dataclass(frozen=True)
class Metric:
    """A metric whose truth is known."""

    title: str
    scale: Scale
    effect: float  # worth having, and the true one where there is one
    draw: Draw


def _one_row(rate: float) -> Draw:
    return lambda rng, users, effect: ArmTotals(
        (rng.random(users) < rate + effect).astype(np.float64), np.ones(users)
    )


def _several_rows(rate: float) -> Draw:
    def draw(rng: np.random.Generator, users: int, effect: float) -> ArmTotals:
        rows = rng.geometric(0.3, users)
        mean = rate + effect
        own = rng.beta(2 * mean, 2 * (1 - mean), users)  # users differ
        sums = rng.binomial(rows, own).astype(np.float64)
        return ArmTotals(sums, rows.astype(np.float64))

    return draw


def _seconds() -> Draw:
    return lambda rng, users, effect: ArmTotals(rng.lognormal(0.6, 0.7, users) + effect, np.ones(users))


METRICS = (
    Metric("58 % complete, one row a user", "share", 0.05, _one_row(0.58)),
    Metric("2 % click, one row a user", "share", 0.01, _one_row(0.02)),
    Metric("58 % complete, 3.3 rows a user", "share", 0.05, _several_rows(0.58)),
    Metric("seconds, log-normal", "number", 0.2, _seconds()),
)


def _head(totals: ArmTotals, users: int) -> ArmTotals:
    return ArmTotals(totals.sums[:users], totals.counts[:users])


def looks(metric: Metric, base: ArmTotals, arm: ArmTotals, many: int) -> FloatArray:
    """Return (looks, 5): difference, low and high of a single look, and of the band."""
    rows = []
    for end in np.linspace(0, base.units, many + 1).astype(int)[1:].tolist():
        parts = _head(base, end), _head(arm, end)
        result = difference(*parts, metric.scale)
        if result is None or end < 10:
            continue
        variance = variance_for_band(result, *parts, metric.scale)
        reach = float(always_valid_reach(np.array([variance]), metric.effect)[0])
        change = result.difference
        rows.append((change, result.low, result.high, change - reach, change + reach))
    return np.array(rows)


def _leaves_out(table: FloatArray, truth: float, low: int) -> np.ndarray:
    return (table[:, low] > truth) | (table[:, low + 1] < truth)


def errors(metric: Metric, users: int, many: int, draws: int, truth: float) -> tuple[float, float, float]:
    """Return how often the band, a single look at any time and the last look leave out the truth."""
    rng = np.random.default_rng(11)
    found = np.zeros(3)
    for _ in range(draws):
        table = looks(metric, metric.draw(rng, users, 0.0), metric.draw(rng, users, truth), many)
        single = _leaves_out(table, truth, 1)
        found += _leaves_out(table, truth, 3).any(), single.any(), single[-1]
    band, any_look, last = (found / draws).tolist()
    return band, any_look, last


def power(metric: Metric, draws: int) -> tuple[int, float]:
    """Return the users an arm that the formula asks for, and how often the effect is shown with them."""
    rng = np.random.default_rng(12)
    large = difference(metric.draw(rng, 200_000, 0.0), metric.draw(rng, 200_000, metric.effect), metric.scale)
    assert large is not None
    users = units_per_arm((large.base_variance, large.arm_variance), metric.effect)
    shown = 0
    for _ in range(draws):
        result = difference(
            metric.draw(rng, users, 0.0), metric.draw(rng, users, metric.effect), metric.scale
        )
        shown += result is not None and not result.low <= 0 <= result.high
    return users, shown / draws


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--looks", type=int, default=28)
    chosen = parser.parse_args()
    print(f"{chosen.draws:,} draws, {chosen.looks} looks, 1,400 users an arm; percent")
    print(f"{'':32} {'A/A: band':>10} {'any look':>9} {'last':>6} {'effect: band':>13} {'last':>6}", end="")
    print(f" {'users':>7} {'power':>6}")
    for metric in METRICS:
        alarms = errors(metric, 1_400, chosen.looks, chosen.draws, 0.0)
        missed = errors(metric, 1_400, chosen.looks, chosen.draws, metric.effect)
        users, shown = power(metric, chosen.draws)
        line = f"{metric.title:32} {alarms[0]:10.1%} {alarms[1]:9.1%} {alarms[2]:6.1%}"
        print(f"{line} {missed[0]:13.1%} {missed[2]:6.1%} {users:7,} {shown:6.1%}")


if __name__ == "__main__":
    main()
