"""How the words of answers compare with those of their references, for a batch of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragtriage.data.text.estimated_refusals import unmeasured_language
from ragtriage.data.text.right_by_text import MEASURED_IN, OUTCOMES, right_by_text
from ragtriage.metrics.schema.batch import OTHER_LANGUAGE, Wordings
from ragtriage.metrics.schema.scores import BoolArray


def wordings_of(table: Any, refused: BoolArray) -> Wordings | None:
    """Compare the answers of an Arrow table of samples with their references; None where it has none.

    Args:
        table: the samples.
        refused: (n,) True where an answer is known to refuse.
    """
    references = table["reference_answer"]
    if references.null_count == len(references):
        return None
    outcome, score = np.full(len(references), -1, dtype=np.int8), np.full(len(references), np.nan)
    answers, questions = table["answer"], table["question"]
    for row in np.flatnonzero(references.is_valid().to_numpy(zero_copy_only=False)).tolist():
        answer = answers[row].as_py()
        if answer is None:
            continue
        reference, question = references[row].as_py(), questions[row].as_py() or ""
        if unmeasured_language(answer, question, MEASURED_IN) is not None:
            outcome[row] = OTHER_LANGUAGE
            continue
        match = right_by_text(answer, [reference], question, bool(refused[row]))
        if match is not None:
            outcome[row], score[row] = OUTCOMES.index(match.outcome), match.score
    return Wordings(outcome, score, answers.is_valid().to_numpy(zero_copy_only=False))
