"""A metric over the versions of a project: its level in each, and later changes from a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log10

import numpy as np

from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.compared_metrics import SHOWN_K, higher_is_better, in_family
from ragtriage.data.comparison.published_results import PublishedRow, PublishedTable
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import ordered, title_of
from ragtriage.metrics.statistics.intervals import Interval

MOST_RUNS = 60  # versions that one chart can hold


@dataclass(frozen=True)
class Level:
    """A metric in one run."""

    mean: float | None  # over questions; None where not measured
    low: float | None = None  # lower bound of its 95 % interval; None where there is none
    high: float | None = None  # upper bound
    n: int = 0  # number of questions
    method: str = "none"  # how the interval was obtained
    too_few: bool = False  # whether the interval rests on too few questions to be trusted
    source: str = "none"  # how the values were obtained
    reported: bool = False  # whether the mean was only reported, without samples


@dataclass(frozen=True)
class Change:
    """A metric in a run compared with the baseline, as every comparison of the two runs has it."""

    row: MetricDifference  # the difference over shared questions, its interval and its verdict
    warnings: tuple[str, ...]  # what makes the two unequal, each a sentence; empty for comparable runs


@dataclass(frozen=True)
class Versions:
    """The runs of a project that a trend shows."""

    runs: tuple[Run, ...]  # oldest first
    older: int  # number of earlier runs left out because one chart cannot show them; the baseline is shown
    derived: int  # number of runs generated from another run, which are not versions
    # number of trials of a grid search, which are none either where the project has other runs
    trials: int = 0


def versions_of(runs: Sequence[Run], keep: Sequence[str] = ()) -> Versions:
    """Return the versions among the runs of a project: the newest, and those to keep.

    Runs come oldest first; those to keep are the baseline and the run on display.
    """
    own = [run for run in runs if not run.config.get("generated_from") or run.run_id in keep]
    no_trials = [run for run in own if not run.config.get("grid") or run.run_id in keep]
    versions = no_trials if any(not run.config.get("grid") for run in own) else own
    newest = {run.run_id for run in versions[-MOST_RUNS:]}
    shown = tuple(run for run in versions if run.run_id in newest or run.run_id in keep)
    return Versions(shown, len(versions) - len(shown), len(runs) - len(own), len(own) - len(versions))


def with_baseline(versions: Versions, base: Run) -> Versions:
    """Return the versions with the baseline among them, however many newer ones there are."""
    if base in versions.runs:
        return versions
    return replace(versions, runs=(base, *versions.runs), older=versions.older - 1)


def later_than(runs: Sequence[Run], base: Run) -> list[Run]:
    """Return the runs with samples that come after a baseline, in their order."""
    at = next(position for position, run in enumerate(runs) if run.run_id == base.run_id)
    return [run for run in runs[at + 1 :] if not run.means]


def trend_metrics(summaries: Sequence[Mapping[str, MetricSummary]], chosen: str = "") -> list[str]:
    """List the headline metrics that at least one of the runs measured, and the chosen one.

    A metric at several k is listed at one k only.
    """
    measured = {
        name for metrics in summaries for name, summary in metrics.items() if summary.n_scored or summary.mean
    }
    wanted = {
        name
        for name in measured
        if in_family(name, "headline") and ("@" not in name or name.endswith(f"@{SHOWN_K}"))
    }
    return ordered(tuple(wanted | ({chosen} & measured)))


def level_of_mean(summary: MetricSummary | None, reported: bool = False) -> Level:
    """Return a metric's level from its summary in a run; not measured without one."""
    if summary is None or summary.mean is None:
        return Level(None)
    return Level(
        summary.mean,
        summary.low,
        summary.high,
        summary.n_scored,
        summary.method,
        summary.too_few,
        summary.source,
        reported,
    )


def level_of_rate(rate: Interval) -> Level:
    """Return the level of a pass rate."""
    if not rate.n_scored:
        return Level(None)
    low, high = (float(bound) if np.isfinite(bound) else None for bound in (rate.low, rate.high))
    return Level(float(rate.mean), low, high, rate.n_scored, rate.method, rate.too_few, "diagnosis")


def change_since(base: Diagnosis, other: Diagnosis, comparison: Comparison, metric: str) -> Change:
    """Return what a comparison of a run with the baseline says of one of its metrics."""
    row = next(each for each in comparison.differences if each.metric == metric)
    warnings = list(comparison.warnings)
    if metric == GOOD_SHARE:
        names = base.coverage.names, other.coverage.names
        before, after = (", ".join(map(title_of, metrics)) or "nothing" for metrics in names)
        if set(names[0]) != set(names[1]):
            warnings.append(f"The pass rate rests on {before} in the baseline, {after} here.")
    else:
        columns = base.scored.column(metric), other.scored.column(metric)
        before, after = ("" if column is None else "+".join(column.sources) for column in columns)
        if before and after and before != after:
            warnings.append(f"The values are {before} in the baseline, {after} here.")
    return Change(row, tuple(warnings))


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
    higher = higher_is_better(metric)
    rows = [row for table in tables for row in table.rows if metric in row.values]
    if not rows or higher is None:
        return None
    sign = 1.0 if higher else -1.0
    return max(rows, key=lambda row: sign * row.values[metric])


def version_steps(
    means: Sequence[VersionMean], metric: str, published: PublishedRow | None
) -> list[VersionStep]:
    """Return how far each version is from the first, from the one before, and from a published result.

    Versions come oldest first.
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
