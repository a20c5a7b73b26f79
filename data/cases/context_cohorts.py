"""Cohorts of the context's quality: passages that repeat each other, disagree, or lack what is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray, FloatArray
from ragtriage.metrics.schema.source import Source

Chosen = Callable[[FloatArray], BoolArray]


def _of(title: str, names: tuple[str, ...], chosen: Chosen) -> Cohort:
    """Return the cohort of the samples that any of some metrics chooses; what has no value is not chosen."""

    def rows(scored: ScoredRun, _value: str) -> BoolArray:
        with np.errstate(invalid="ignore"):
            found = [chosen(scored.values(name)) for name in names if name in scored.metrics]
        if not found:
            raise ValueError(f"the run has no {' or '.join(names)}")
        return np.asarray(np.any(found, axis=0), dtype=np.bool_)

    return Cohort(lambda _value: title, rows)


def _uncovered(scored: ScoredRun, _value: str) -> BoolArray:
    """Return the samples whose labels say so: by words alone, hardly an answer is covered to the last one."""
    column = scored.column("context_coverage", Source.COMPUTED)
    if column is None:
        raise ValueError("the run has no labels that tell what of the answer the context has")
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
