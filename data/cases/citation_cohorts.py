"""Cohorts of citations, and of contexts that hold their gold among noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ragtriage.data.analysis.citations import CitationCounts, citation_counts
from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray


def _cohort(title: str, chosen: Callable[[CitationCounts], BoolArray]) -> Cohort:
    def rows(scored: ScoredRun, value: str) -> BoolArray:
        _without_value(value)
        counts = citation_counts(scored)
        if counts is None:
            raise ValueError("the answers of this run do not cite")
        return np.asarray(chosen(counts), dtype=np.bool_)

    return Cohort(lambda _: title, rows)


def _without_value(value: str) -> None:
    if value:
        raise ValueError(f"{value[:20]!r}; accepted: nothing")


def _noisy(scored: ScoredRun, value: str) -> BoolArray:
    _without_value(value)
    noise = scored.auxiliary_table("noise")
    if noise is None:
        raise ValueError("it is not known which contexts of this run hold their gold")
    return np.asarray(noise["noisy"].fill_null(False).to_numpy(), dtype=np.bool_)


CITATION_COHORTS: Mapping[str, Cohort] = {
    "uncited": _cohort("a sentence without a citation", lambda counts: counts.uncited > 0),
    "unsupported_sentence": _cohort(
        "a sentence that its citations do not wholly support",
        lambda counts: counts.recalled < counts.recall_known,
    ),
    "cites_wrongly": _cohort(
        "a citation that does not support its sentence", lambda counts: counts.supporting < counts.decided
    ),
    "cites_outside": _cohort(
        "a citation that names no document of the context",
        lambda counts: (counts.outside > 0) | (counts.broken > 0),
    ),
    "cites": _cohort("the answer cites", lambda counts: counts.citations > 0),
    "noisy_context": Cohort(lambda _: "the context holds its gold, but most of it is noise", _noisy),
}
