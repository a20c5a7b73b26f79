"""The refusal table: context holds the answer, part of it or none, by refused; a cohort for each cell."""

from collections.abc import Mapping

import numpy as np

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.batch_inputs import HOLDS, HOLDS_PART, LACKS
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray

# cell -> what the context holds of the answer, whether it was refused, and its title
REFUSAL_CELLS: Mapping[str, tuple[int, int, str]] = {
    "answered": (HOLDS, 0, "context holds the answer, answered"),
    "over_refusal": (HOLDS, 1, "context holds the answer, refused: over-refusal"),
    "part_answered": (HOLDS_PART, 0, "context holds part of the answer, answered"),
    "part_refused": (HOLDS_PART, 1, "context holds part of the answer, refused"),
    "unsupported_answer": (LACKS, 0, "context lacks the answer, answered anyway: missed refusal"),
    "rejected": (LACKS, 1, "context lacks the answer, refused"),
}
REFUSAL_RATES = ("refused_answerable", "over_refusal", "negative_rejection_rate", "corpus_rejection_rate")


def _cell(text: str) -> tuple[int, int, str]:
    if text not in REFUSAL_CELLS:
        raise ValueError(f"{text[:20]!r}; accepted: {', '.join(REFUSAL_CELLS)}")
    return REFUSAL_CELLS[text]


def _rows(scored: ScoredRun, text: str) -> BoolArray:
    (holds, refused, _), features = _cell(text), scored.stage_features
    return np.asarray((features["context_holds"] == holds) & (features["refused"] == refused), dtype=np.bool_)


def refusal_counts(scored: ScoredRun) -> dict[str, int]:
    """Return the number of samples in each cell; one of which context or refusal is unknown is in none."""
    return {cell: int(_rows(scored, cell).sum()) for cell in REFUSAL_CELLS}


REFUSAL_COHORTS: Mapping[str, Cohort] = {"refusal": Cohort(lambda text: _cell(text)[2], _rows)}
