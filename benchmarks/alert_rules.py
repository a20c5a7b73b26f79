"""How often a rule alarms where nothing changed, and how soon it does where something did.

Each draw is a day of windows of 5 minutes with so many calls each, for the rule "refused at most 15 %".
Shown are the share of days with an alarm where the rate is 10 %, and where it is the limit itself; then,
after it rose from 10 to 20 and to 25 %, the median number of windows to the alarm, and the share of days
on which it comes within an hour. By the bound, as the product does, and by the point.

Usage: python benchmarks/alert_rules.py [--days 2000]
"""

from __future__ import annotations

import argparse

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import wilson

LIMIT = 0.15
WINDOWS, HOUR = 288, 12
SIZES = (30, 100, 300)


def main() -> None:
    """Print one row for each size and number of windows in a row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=2000)
    days = parser.parse_args().days
    print("| calls a window | in a row | alarms at 10 % | at 15 % | to 20 %: windows, in an hour | to 25 % |")
    print("|---|---|---|---|---|---|")
    for n in SIZES:
        for in_a_row in (1, 2, 3):
            draw = np.random.default_rng(n)
            cells = [_alarms(draw, rate, n, in_a_row, days) for rate in (0.10, LIMIT)]
            cells += [_delay(draw, rate, n, in_a_row, days) for rate in (0.20, 0.25)]
            print(f"| {n} | {in_a_row} | {' | '.join(cells)} |", flush=True)


def _first(draw: np.random.Generator, rate: float, n: int, in_a_row: int, days: int) -> list[IntArray]:
    """Return the window of the first alarm of each day, WINDOWS without one: by the bound, by the point."""
    refused = draw.binomial(n, rate, size=(days, WINDOWS))
    bounds: FloatArray = np.array([wilson(k / n, n)[0] for k in range(n + 1)])
    found = []
    for beyond in (bounds[refused] > LIMIT, refused / n > LIMIT):
        row, first = np.zeros(days, dtype=np.int64), np.full(days, WINDOWS)
        for at in range(WINDOWS):
            row = np.where(beyond[:, at], row + 1, 0)
            first = np.where((row >= in_a_row) & (first == WINDOWS), at + 1, first)
        found.append(first)
    return found


def _alarms(draw: np.random.Generator, rate: float, n: int, in_a_row: int, days: int) -> str:
    bound, point = ((first < WINDOWS).mean() for first in _first(draw, rate, n, in_a_row, days))
    return f"{100 * bound:.1f} % (point {100 * point:.0f} %)"


def _delay(draw: np.random.Generator, rate: float, n: int, in_a_row: int, days: int) -> str:
    bound, point = _first(draw, rate, n, in_a_row, days)
    return f"{np.median(bound):.0f}, {100 * (bound <= HOUR).mean():.0f} % (point {np.median(point):.0f})"


if __name__ == "__main__":
    main()
