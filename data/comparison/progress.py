"""A metric over versions that are known by their means: the steps from version to version, without a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from ragtriage.data.comparison.published_results import PublishedRow, PublishedTable
from ragtriage.metrics.metric_registry import declared


@dataclass(frozen=True)
class VersionMean:
    """The mean of a metric in one version."""

    mean: float | None  # on the metric's own scale; None where the version does not have it
    step: float = 0.0  # last digit that is known, on the same scale; 0.0 where it is not rounded


@dataclass(frozen=True)
class Difference:
    """The difference of two means. Nothing is paired, so nothing is tested."""

    value: float  # this version minus the other
    step: float  # last digit that is known of both

    def digits(self, factor: float, most: int) -> int:
        """Return how many decimals are known when it is written times a factor."""
        return most if self.step <= 0 else max(0, min(most, round(-log10(self.step * factor))))


@dataclass(frozen=True)
class VersionStep:
    """A version beside earlier ones and beside a published result; None where one of the two is not there."""

    first: Difference | None  # to the first version that has the metric
    previous: Difference | None  # to the last version before it that has the metric
    published: Difference | None  # to the best published result


def best_published(tables: Sequence[PublishedTable], metric: str) -> PublishedRow | None:
    """Return the best published row of a metric; None without one, or without a direction."""
    declaration = declared(metric)
    rows = [row for table in tables for row in table.rows if metric in row.values]
    if not rows or declaration is None or declaration.higher_is_better is None:
        return None
    sign = 1.0 if declaration.higher_is_better else -1.0
    return max(rows, key=lambda row: sign * row.values[metric])


def version_steps(
    means: Sequence[VersionMean], metric: str, published: PublishedRow | None
) -> list[VersionStep]:
    """Return how far each version is from the first, from the one before, and from a published result.

    Args:
        means: of the versions, oldest first.
        metric: the metric.
        published: the result to compare with; None for none.
    """
    best = None if published is None else VersionMean(published.values[metric], published.step)
    first: VersionMean | None = None
    previous: VersionMean | None = None
    steps = []
    for mean in means:
        steps.append(VersionStep(_minus(mean, first), _minus(mean, previous), _minus(mean, best)))
        if mean.mean is not None:
            first, previous = first or mean, mean
    return steps


def _minus(mean: VersionMean, other: VersionMean | None) -> Difference | None:
    if other is None or mean.mean is None or other.mean is None:
        return None
    return Difference(mean.mean - other.mean, max(mean.step, other.step))
