"""Cohorts of the context's quality and of citations: passages that repeat, disagree or lack some."""

from collections.abc import Callable, Mapping

import numpy as np

from ragtriage.data.analysis.citations import CitationCounts, citation_counts
from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Source

Chosen = Callable[[FloatArray], BoolArray]


def _of(title: str, names: tuple[str, ...], chosen: Chosen) -> Cohort:
    """Return the cohort of the samples that any of some metrics chooses; what has no value is not chosen."""

    def rows(scored: ScoredRun, _value: str) -> BoolArray:
        with np.errstate(invalid="ignore"):
            columns = [chosen(scored.values(name)) for name in names if name in scored.metrics]
        if not columns:
            raise ValueError(f"the run has no {' or '.join(names)}")
        return np.asarray(np.any(columns, axis=0), dtype=np.bool_)

    return Cohort(lambda _value: title, rows)


def _uncovered(scored: ScoredRun, _value: str) -> BoolArray:
    """Return the samples whose labels say so: by words alone, hardly an answer is covered to the last one."""
    column = scored.column("context_coverage", Source.COMPUTED)
    if column is None:
        raise ValueError("the run has no labels that say which parts of the answer the context holds")
    with np.errstate(invalid="ignore"):
        return np.asarray(column.values < 1, dtype=np.bool_)


CONTEXT_COHORTS: Mapping[str, Cohort] = {
    "uncovered": Cohort(lambda _value: "context lacks part of the answer", _uncovered),
    "redundant": _of(
        "passages repeat each other",
        ("context_redundancy", "embedding_context_redundancy"),
        lambda values: values > 0,
    ),
    "inconsistent": _of(
        "documents contradict each other",
        ("context_consistency", "nli_context_consistency"),
        lambda values: values < 1,
    ),
}


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
