"""Cohorts that compare a run with another one: lost to retrieval or generation, newly failing, changed.

Their samples cannot be told from one run alone. A page that has both runs reads the key with
`oracle_gap_cohort`, `newly_failing_baseline` or `changed_cohort` and finds the samples in
ragtriage.data.comparison.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.schema.scores import BoolArray

Component = Literal["retrieval", "generation"]
_COMPONENTS: Mapping[str, Component] = {"lost_retrieval": "retrieval", "lost_generation": "generation"}
_NEWLY_FAILING = "newly_failing"


@dataclass(frozen=True)
class OracleGapCohort:
    """The cases of a run that are lost to one component of the pipeline."""

    component: Component  # the component that lost them
    oracle: str  # id of the run with the gold documents
    outcome_metric: str  # the metric, or the pass rate, that tells right answers from wrong ones


def oracle_gap_cohort(text: str) -> OracleGapCohort | None:
    """Return the parts of an oracle-gap cohort's key; None for the key of another cohort."""
    key, _, value = text.partition(":")
    oracle, _, outcome_metric = value.partition(":")
    return OracleGapCohort(_COMPONENTS[key], oracle, outcome_metric) if key in _COMPONENTS else None


def oracle_gap_cohort_key(component: Component, oracle: str, outcome_metric: str) -> str:
    """Return the key of the cases that a component lost."""
    return f"lost_{component}:{oracle}:{outcome_metric}"


@dataclass(frozen=True)
class ChangedCohort:
    """The cases of a run whose question changed in one metric."""

    sign: int  # 1 where the value rose, -1 where it fell, 0 where it stayed
    baseline: str  # id of the run that they changed from
    metric: str  # full name, or the pass rate


_SIGNS: Mapping[str, int] = {"rose": 1, "fell": -1, "unchanged": 0}


def changed_cohort(text: str) -> ChangedCohort | None:
    """Return the parts of the key of a cohort of changed questions; None for the key of another cohort."""
    key, _, value = text.partition(":")
    baseline, _, metric = value.partition(":")
    return ChangedCohort(_SIGNS[key], baseline, metric) if key in _SIGNS else None


def changed_cohort_key(sign: int, baseline: str, metric: str) -> str:
    """Return the key of the cases whose question rose (1), fell (-1) or kept (0) its value of a metric."""
    key = next(key for key, value in _SIGNS.items() if value == sign)
    return f"{key}:{baseline}:{metric}"


def _changed_title(verb: str) -> Callable[[str], str]:
    def title(value: str) -> str:
        metric = value.partition(":")[2]
        return f"{title_of(metric)} {verb} against the baseline"

    return title


def newly_failing_baseline(text: str) -> str | None:
    """Return the id of the baseline in a newly-failing cohort's key; None for the key of another cohort."""
    key, _, baseline = text.partition(":")
    return baseline if key == _NEWLY_FAILING else None


def newly_failing_cohort_key(baseline: str) -> str:
    """Return the key of the cases that passed in a baseline and fail now."""
    return f"{_NEWLY_FAILING}:{baseline}"


def _needs_two_runs(_scored: ScoredRun, _value: str) -> BoolArray:
    raise ValueError("it compares two runs; accepted: a page that shows both")


COMPARISON_COHORTS: Mapping[str, Cohort] = {
    "lost_retrieval": Cohort(
        lambda _: "retrieval lost the answer: wrong as retrieved, right with the gold documents",
        _needs_two_runs,
    ),
    "lost_generation": Cohort(lambda _: "the answer is wrong with the gold documents too", _needs_two_runs),
    "rose": Cohort(_changed_title("rose"), _needs_two_runs),
    "fell": Cohort(_changed_title("fell"), _needs_two_runs),
    "unchanged": Cohort(_changed_title("is unchanged"), _needs_two_runs),
    _NEWLY_FAILING: Cohort(lambda _: "newly failing: passed in the baseline, fails now", _needs_two_runs),
}
