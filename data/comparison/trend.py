"""A metric over the versions of a project: its level in each, and what later ones differ from a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.comparison.compare import GOOD_SHARE, compare, metric_sides, run_facts
from data.comparison.metric_families import SHOWN_K, in_family
from data.diagnosis.diagnosis import Diagnosis
from data.scoring.scored_run import ScoredRun
from data.scoring.summaries import MetricSummary
from data.store.workspace import Run
from metrics.metric_registry import declared, is_share, ordered, title_of
from metrics.statistics.intervals import Interval
from metrics.statistics.paired import (
    MOST_DROP,
    PairedDifference,
    RegressionVerdict,
    comparability,
    holm,
    regression_verdict,
)

__all__ = [
    "MOST_RUNS",
    "Change",
    "Level",
    "Pair",
    "Versions",
    "changes_since",
    "later_than",
    "level_of_mean",
    "level_of_rate",
    "most_drop",
    "pair_of_metric",
    "pair_of_rates",
    "trend_metrics",
    "versions_of",
]

MOST_RUNS = 60  # versions that one chart can hold


@dataclass(frozen=True)
class Level:
    """A metric in one run.

    Attributes:
        mean: over questions; None where not measured.
        low: lower end of its 95 % interval; None where there is none.
        high: upper end.
        n: questions behind it.
        method: how the interval was obtained.
        too_few: whether the interval rests on too little to be trusted.
        source: how the values were obtained.
        stated: whether the mean was stated and no sample stands behind it.
    """

    mean: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str = "none"
    too_few: bool = False
    source: str = "none"
    reported: bool = False


@dataclass(frozen=True)
class Pair:
    """A metric in a run against the baseline, before any correction.

    Attributes:
        difference: run minus baseline, over the questions that both have a value for.
        warnings: what makes the two unequal, each a sentence; empty where they rest on the same ground.
    """

    difference: PairedDifference
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A metric in a run against the baseline, as one of several runs looked at.

    Attributes:
        pair: the difference and what makes the sides unequal.
        adjusted_p: p after Holm's correction over the runs looked at; NaN without shared questions.
        verdict: regression, worse, better, cannot tell or unchanged.
    """

    pair: Pair
    adjusted_p: float
    verdict: RegressionVerdict


@dataclass(frozen=True)
class Versions:
    """The runs of a project that a trend shows.

    Attributes:
        runs: oldest first.
        older: earlier ones that are left out, because one chart cannot hold them.
        derived: runs that were generated from another run, which are no versions.
    """

    runs: tuple[Run, ...]
    older: int
    derived: int


def versions_of(runs: Sequence[Run], keep: Sequence[str] = ()) -> Versions:
    """Pick the versions among the runs of a project: the newest, and those that must stay.

    Args:
        runs: of the project, oldest first.
        keep: ids of runs that stay whatever they are: the baseline, the run on display.
    """
    mine = [run for run in runs if not run.config.get("generated_from") or run.run_id in keep]
    wanted = {run.run_id for run in mine[-MOST_RUNS:]} | {run.run_id for run in mine if run.run_id in keep}
    shown = tuple(run for run in mine if run.run_id in wanted)
    return Versions(shown, len(mine) - len(shown), len(runs) - len(mine))


def later_than(runs: Sequence[Run], base: Run) -> list[Run]:
    """Give the runs with samples that come after a baseline, in their order."""
    at = next(place for place, run in enumerate(runs) if run.run_id == base.run_id)
    return [run for run in runs[at + 1 :] if not run.means]


def trend_metrics(summaries: Sequence[Mapping[str, MetricSummary]], chosen: str = "") -> list[str]:
    """Name the headline metrics that at least one of the runs measured, and the chosen one.

    Of a metric with rank cut-offs one stands for all.
    """
    measured = {name for summary in summaries for name, one in summary.items() if one.n_scored or one.mean}
    wanted = {
        name
        for name in measured
        if in_family(name, "headline") and ("@" not in name or name.endswith(f"@{SHOWN_K}"))
    }
    return ordered(tuple(wanted | ({chosen} & measured)))


def level_of_mean(one: MetricSummary | None, stated: bool = False) -> Level:
    """Take a metric's level from a run's summary; one that the run has not is not measured."""
    if one is None or one.mean is None:
        return Level(None)
    return Level(one.mean, one.low, one.high, one.n_scored, one.method, one.too_few, one.source, stated)


def level_of_rate(rate: Interval) -> Level:
    """Take the level of a pass rate."""
    if not rate.n_scored:
        return Level(None)
    low, high = (float(end) if np.isfinite(end) else None for end in (rate.low, rate.high))
    return Level(float(rate.mean), low, high, rate.n_scored, rate.method, rate.too_few, "diagnosis")


def pair_of_metric(base: ScoredRun, other: ScoredRun, metric: str) -> Pair:
    """Compare a metric of two runs, paired on question; nothing here depends on a cut-off or a label."""
    side = metric_sides(base, other, [metric])[0]
    return Pair(side.difference, (*_ground(base, other), *_sources(base, other, metric)))


def pair_of_rates(base: Diagnosis, other: Diagnosis) -> Pair:
    """Compare the pass rates of two runs, paired on question."""
    side = compare(base, other, [], []).differences[0]
    warnings = _ground(base.scored, other.scored)
    before, after = base.coverage.names, other.coverage.names
    if set(before) != set(after):
        warnings.append(f"The pass rate rests on {_listed(before)} in the baseline, {_listed(after)} here.")
    return Pair(side.difference, tuple(warnings))


def _ground(base: ScoredRun, other: ScoredRun) -> list[str]:
    return comparability(run_facts(base), run_facts(other))


def _sources(base: ScoredRun, other: ScoredRun, metric: str) -> list[str]:
    """Say where the values of the sides were obtained in different ways."""
    columns = base.column(metric), other.column(metric)
    before, after = ("" if one is None else "+".join(one.sources) for one in columns)
    if not before or not after or before == after:
        return []
    return [f"The values are {before} in the baseline, {after} here."]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(title_of(name) for name in names) or "nothing"


def changes_since(pairs: Mapping[str, Pair], metric: str) -> dict[str, Change]:
    """Correct the tests over all runs that are looked at, and judge each.

    Args:
        pairs: run id -> its difference to the one baseline.
        metric: what is looked at.
    """
    adjusted = holm([pair.difference.p for pair in pairs.values()])
    higher = True if metric == GOOD_SHARE else getattr(declared(metric), "higher_is_better", None)
    return {
        run_id: Change(
            pair, float(p), regression_verdict(pair.difference, float(p), higher, most_drop(metric))
        )
        for (run_id, pair), p in zip(pairs.items(), adjusted, strict=True)
    }


def most_drop(metric: str) -> float | None:
    """Give the drop that is let pass: 0.05 on a scale from 0 to 1, none defined on another scale."""
    return MOST_DROP if metric == GOOD_SHARE or is_share(metric) else None
