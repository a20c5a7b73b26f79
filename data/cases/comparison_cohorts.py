"""Cohorts that compare a run with another one: cases lost to retrieval or generation, newly failing cases.

Their samples cannot be told from one run alone. A page that has both runs reads the key with
`oracle_gap_cohort` or `newly_failing_baseline` and finds the samples in data.comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from data.cases.cohort import Cohort
from data.scoring.scored_run import ScoredRun
from metrics.schema.scores import BoolArray

__all__ = [
    "COMPARISON_COHORTS",
    "OracleGapCohort",
    "newly_failing_baseline",
    "newly_failing_cohort_key",
    "oracle_gap_cohort",
    "oracle_gap_cohort_key",
]

Component = Literal["retrieval", "generation"]
_COMPONENTS: Mapping[str, Component] = {"lost_retrieval": "retrieval", "lost_generation": "generation"}
_NEWLY_FAILING = "newly_failing"


@dataclass(frozen=True)
class OracleGapCohort:
    """The cases of a run that are lost to one component of the pipeline.

    Attributes:
        component: the component that lost them.
        oracle: id of the run with the gold documents.
        outcome_metric: the metric, or the pass rate, that tells right answers from wrong ones.
    """

    component: Component
    oracle: str
    outcome_metric: str


def oracle_gap_cohort(text: str) -> OracleGapCohort | None:
    """Return the parts of an oracle-gap cohort's key; None for the key of another cohort."""
    key, _, value = text.partition(":")
    oracle, _, outcome_metric = value.partition(":")
    return OracleGapCohort(_COMPONENTS[key], oracle, outcome_metric) if key in _COMPONENTS else None


def oracle_gap_cohort_key(component: Component, oracle: str, outcome_metric: str) -> str:
    """Return the key of the cases that a component lost."""
    return f"lost_{component}:{oracle}:{outcome_metric}"


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
    _NEWLY_FAILING: Cohort(lambda _: "newly failing: passed in the baseline of the gates", _needs_two_runs),
}
