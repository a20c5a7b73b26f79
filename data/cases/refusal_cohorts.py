"""The refusal table, context holds the answer by refused, with a cohort for each cell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray

# cell -> the metric whose samples make up its row, the value of its column, and its title
REFUSAL_CELLS: Mapping[str, tuple[str, float, str]] = {
    "answered": ("over_refusal", 0.0, "context holds the answer, answered"),
    "over_refusal": ("over_refusal", 1.0, "context holds the answer, refused: over-refusal"),
    "unsupported_answer": (
        "negative_rejection_rate",
        0.0,
        "context lacks the answer, answered anyway: missed refusal",
    ),
    "rejected": ("negative_rejection_rate", 1.0, "context lacks the answer, refused"),
}


def _cell(text: str) -> tuple[str, float, str]:
    if text not in REFUSAL_CELLS:
        raise ValueError(f"{text[:20]!r}; accepted: {', '.join(REFUSAL_CELLS)}")
    return REFUSAL_CELLS[text]


def _rows(scored: ScoredRun, text: str) -> BoolArray:
    metric, value, _ = _cell(text)
    return np.asarray(scored.values(metric) == value, dtype=np.bool_)


def refusal_counts(scored: ScoredRun) -> dict[str, int]:
    """Return the number of samples in each cell; what is unknown or between the two is in none."""
    return {cell: int(_rows(scored, cell).sum()) for cell in REFUSAL_CELLS}


REFUSAL_COHORTS: Mapping[str, Cohort] = {"refusal": Cohort(lambda text: _cell(text)[2], _rows)}
