"""Every cohort by its key: look up the title and the samples of a cohort written as "key" or "key:value"."""

from collections.abc import Mapping

from ragtriage.data.cases.alignment_cohorts import ALIGNMENT_COHORTS
from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.cases.comparison_cohorts import COMPARISON_COHORTS
from ragtriage.data.cases.context_cohorts import CITATION_COHORTS, CONTEXT_COHORTS
from ragtriage.data.cases.diagnosis_cohorts import ANSWER_COHORTS, DIAGNOSIS_COHORTS, F1_COHORTS
from ragtriage.data.cases.judge_cohorts import AGREEMENT_COHORTS, JUDGE_COHORTS
from ragtriage.data.cases.refusal_cohorts import REFUSAL_COHORTS
from ragtriage.data.cases.retrieval_cohorts import RETRIEVAL_COHORTS
from ragtriage.data.cases.suite_cohorts import PART_COHORTS, SAFETY_COHORTS, SUITE_COHORTS
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray

COHORTS: Mapping[str, Cohort] = {
    **ALIGNMENT_COHORTS,
    **RETRIEVAL_COHORTS,
    **COMPARISON_COHORTS,
    **AGREEMENT_COHORTS,
    **JUDGE_COHORTS,
    **PART_COHORTS,
    **REFUSAL_COHORTS,
    **DIAGNOSIS_COHORTS,
    **CITATION_COHORTS,
    **SAFETY_COHORTS,
    **SUITE_COHORTS,
    **F1_COHORTS,
    **ANSWER_COHORTS,
    **CONTEXT_COHORTS,
}


def cohort_title(text: str) -> str:
    """Return the title of a cohort.

    Raises:
        DataError: there is no cohort of this key.
        ValueError: the cohort does not accept the value.
    """
    cohort, value = _cohort(text)
    return cohort.title(value)


def cohort_rows(scored: ScoredRun, text: str) -> BoolArray:
    """Return (n,) True for the samples of a run that belong to a cohort.

    Raises:
        DataError: there is no cohort of this key, or it does not accept the value.
    """
    cohort, value = _cohort(text)
    try:
        return cohort.rows(scored, value)
    except ValueError as error:
        raise DataError(f"cohort {text[:60]!r}: {error}") from error


def _cohort(text: str) -> tuple[Cohort, str]:
    key, _, value = text.partition(":")
    if key not in COHORTS:
        raise DataError(f"cohort {text[:60]!r}; accepted: {', '.join(COHORTS)}")
    return COHORTS[key], value
