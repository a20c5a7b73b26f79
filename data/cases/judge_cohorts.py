"""Cohorts of the Judge page: the status of each sample's evaluation, and attempts at prompt injection."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow.compute as pc

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray

STATUS_TITLES = {
    "scored": "the judge gave a verdict",
    "refused": "the judge model declined to answer",
    "truncated": "the judge's reply was cut off",
    "context_exceeded": "the sample does not fit the judge's context window",
    "invalid": "the judge's reply did not match the reply schema",
    "overloaded": "the judge's service was overloaded",
    "timeout": "the judge did not reply in time",
    "error": "the judge's service failed",
    "not_applicable": "there is nothing to judge",
    "not run": "not judged",
}


def _status_title(status: str) -> str:
    if status not in STATUS_TITLES:
        raise ValueError(
            f"{status!r} is not a status of a judge result; accepted: {', '.join(STATUS_TITLES)}"
        )
    return STATUS_TITLES[status]


def _status_rows(scored: ScoredRun, status: str) -> BoolArray:
    judged = scored.auxiliary_table("judged")
    if judged is None:
        return np.full(scored.n, status == "not run")
    return np.asarray(pc.equal(judged["status"], status).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _rows_with(column: str) -> Callable[[ScoredRun, str], BoolArray]:
    """Return a function that finds the samples in which the judge counted any of something."""

    def rows(scored: ScoredRun, _value: str) -> BoolArray:
        judged = scored.auxiliary_table("judged")
        if judged is None or column not in judged.column_names:  # scores of an earlier version
            return np.zeros(scored.n, dtype=np.bool_)
        return np.asarray(judged[column].to_numpy() > 0, dtype=np.bool_)

    return rows


JUDGE_COHORTS: Mapping[str, Cohort] = {
    "judging": Cohort(_status_title, _status_rows),
    "injection": Cohort(lambda _: "text in the sample tries to instruct the judge", _rows_with("injections")),
    "void_quote": Cohort(
        lambda _: "the judge quotes what the document does not say", _rows_with("void_quotes")
    ),
    "partly_supported": Cohort(
        lambda _: "the documents support a claim only in part", _rows_with("partly_supported")
    ),
}
