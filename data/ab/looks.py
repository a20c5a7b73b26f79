"""The difference as it was known at each look: over time, with the band that stays valid."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from ragtriage.data.ab.measures import Measure
from ragtriage.data.ab.reading import DAY, TestRows
from ragtriage.metrics.ab.differences import arm_totals, difference, variance_for_band
from ragtriage.metrics.ab.sequence import always_valid_reach
from ragtriage.metrics.schema.scores import FloatArray

STEPS = (7 * 86_400, 86_400, 6 * 3_600, 3_600)  # a week, a day, 6 hours, an hour
ENOUGH_LOOKS, MOST_LOOKS = 10, 400
FEWEST_UNITS = 10  # of each arm at the first look: a variance of fewer says too little


@dataclass(frozen=True)
class Look:
    """What was known at one moment."""

    at: str  # end of the look, ISO text in UTC; "" where no time is recorded
    base_units: int
    arm_units: int
    difference: float
    low: float  # 95 % interval as if this were the only look
    high: float
    band_low: float  # always-valid band: holds at all looks together
    band_high: float


def look_ends(times: FloatArray | None) -> FloatArray:
    """Return the ends of the looks, in seconds since 1970: by week, day, 6 hours or hour, ten or more.

    One that is infinite where no time is recorded.
    """
    known = np.zeros(0) if times is None else times[np.isfinite(times)]
    if not len(known):
        return np.array([np.inf])
    first, last = float(known.min()), float(known.max())
    step = next((step for step in STEPS if (last - first) / step >= ENOUGH_LOOKS - 1), STEPS[-1])
    start = np.floor(first / step) * step
    many = int(np.floor((last - start) / step)) + 1
    ends: FloatArray = start + step * np.arange(1, many + 1, dtype=np.float64)
    return ends if many <= MOST_LOOKS else ends[np.linspace(0, many - 1, MOST_LOOKS).astype(int)]


def looks_of(
    rows: TestRows, measure: Measure, arm: int, worth: float, alpha: float, ends: FloatArray
) -> tuple[Look, ...]:
    """Return the difference between an arm and the base at each look.

    Args:
        rows: the rows of the test.
        measure: the metric.
        arm: index of the arm.
        worth: the effect worth having, in the unit of the metric.
        alpha: share of tests in which the band may leave out the truth.
        ends: (looks,) ends of the looks, as `look_ends` has them.
    """
    units = rows.units
    sides = [np.flatnonzero((rows.arm == code) & np.isfinite(measure.values)) for code in (0, arm)]
    known = rows.times if rows.times is None or not measure.late else _known(rows.times, measure.late)
    looks = []
    for end in ends:
        seen = sides if known is None else [side[~(known[side] >= end)] for side in sides]
        base, other = (arm_totals(measure.values[side], units[side]) for side in seen)
        if min(base.units, other.units) < FEWEST_UNITS:
            continue
        result = difference(base, other, measure.scale)
        if result is None:
            continue
        variance = variance_for_band(result, base, other, measure.scale)
        if variance <= 0:
            continue
        reach = float(always_valid_reach(np.array([variance]), worth, alpha)[0])
        change = result.difference
        at = datetime.fromtimestamp(float(end), UTC).isoformat(timespec="seconds") if np.isfinite(end) else ""
        around = (result.low, result.high, change - reach, change + reach)
        looks.append(Look(at, base.units, other.units, change, *around))
    return tuple(looks)


def _known(times: FloatArray, days: int) -> FloatArray:
    """Return when a value is known that takes so many whole days after its row."""
    known: FloatArray = (np.floor(times / DAY) + days) * DAY
    return known


def shown_since(looks: tuple[Look, ...]) -> str | None:
    """Return the end of the first look from which on the band leaves out 0; None where the last holds it."""
    since = None
    for look in reversed(looks):
        if look.band_low <= 0 <= look.band_high:
            break
        since = look.at
    return since
