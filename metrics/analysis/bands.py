"""What a mean says in plain words: its band, whether the band is certain, and one sentence for all screens.

The sentence states the number and its uncertainty. It never states a cause, because no cause was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metrics.schema.metric import Metric

__all__ = ["BANDS", "Band", "Interpretation", "band_of", "interpret"]

Band = Literal["needs work", "good", "excellent"]
BANDS: tuple[Band, ...] = ("needs work", "good", "excellent")


@dataclass(frozen=True)
class Interpretation:
    """A mean in words.

    Attributes:
        band: of the mean; None where the metric has no bands or nothing was measured.
        sure: True where the whole interval lies in that band.
        sentence: number, interval, n and band; "not measured" where it was not.
        meaning: what the metric says, from its declaration.
    """

    band: Band | None
    sure: bool
    sentence: str
    meaning: str

    @property
    def standing(self) -> str:
        """The band for a table: "cannot tell" where the interval spans several, "" without bands."""
        return (self.band if self.sure else "cannot tell") if self.band is not None else ""


def band_of(metric: Metric, value: float) -> Band | None:
    """Return the band of a value; None where the metric has none."""
    if metric.bands is None:
        return None
    good, excellent = metric.bands
    sign = -1.0 if metric.higher_is_better is False else 1.0
    if sign * value >= sign * excellent:
        return "excellent"
    return "good" if sign * value >= sign * good else "needs work"


def interpret(
    metric: Metric,
    title: str,
    mean: float | None,
    low: float | None,
    high: float | None,
    n: int,
) -> Interpretation:
    """Put a mean into words.

    Args:
        metric: its declaration.
        title: title of the metric, with its k.
        mean: over questions; None where not measured.
        low: lower end of the 95 % interval; None where there is none.
        high: upper end.
        n: questions behind it.
    """
    if mean is None:
        return Interpretation(None, False, f"{title} was not measured.", metric.meaning)
    numbers = [_number(metric, value) for value in (mean, low or 0.0, high or 0.0)]
    questions = f"{n:,} question{'' if n == 1 else 's'}"
    if low is None or high is None:
        return Interpretation(
            band_of(metric, mean),
            False,
            f"{title} is {numbers[0]} over {questions}; there is no interval, so it decides nothing.",
            metric.meaning,
        )
    band, ends = band_of(metric, mean), {band_of(metric, low), band_of(metric, high)}
    statement = f"{title} is {numbers[0]} (95 % interval {numbers[1]} to {numbers[2]}, {questions})"
    return Interpretation(
        band, ends == {band}, f"{statement}{_band_text(metric, band, ends)}.", metric.meaning
    )


def _number(metric: Metric, value: float) -> str:
    return (
        f"{value:.2f}" if metric.bounds[1] <= 1 else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
    )


def _band_text(metric: Metric, band: Band | None, ends: set[Band | None]) -> str:
    if band is None or metric.bands is None:
        return ""
    if ends == {band}:
        return f": {band}"
    edges = sorted(metric.bands)
    names = [name for name in BANDS if name in ends | {band}]
    limits = " and ".join(f"{edge:.2f}" for edge in edges if _crossed(metric, edge, names))
    return f": {names[0]} or {names[-1]}, too few questions to tell (limit {limits})"


def _crossed(metric: Metric, edge: float, names: list[Band]) -> bool:
    """Return whether the bands lie on both sides of a limit."""
    good, excellent = metric.bands or (0.0, 0.0)
    if edge == good:
        return "needs work" in names
    return edge == excellent and "excellent" in names
