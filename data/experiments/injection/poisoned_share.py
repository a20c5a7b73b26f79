"""How many poisoned documents a run that retrieves by itself brought into its top k."""

from __future__ import annotations

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.folding import folded
from ragtriage.metrics.experiments.injection import PoisonedRetrieval, poisoned_retrieval


def poisoned_share(scored: ScoredRun, questions: Questions, k: int) -> PoisonedRetrieval:
    """Return precision, recall and F1 of the poisoned documents in the top k of a run.

    Args:
        scored: a run whose retrieved documents have texts.
        questions: with the poisoned documents of each, joined by question id; one counts as retrieved where
            a document has its text, whatever white space.
        k: number of top ranks.

    Raises:
        DataError: no question of the run has poisoned documents.
    """
    poisoned = {entry.question_id: {folded(text) for text in entry.poisoned} for entry in questions.questions}
    counts: list[tuple[int, int, int]] = []
    for sample in scored.samples.each(["question_id", "retrieved"]):
        planted = poisoned.get(sample["question_id"])
        if planted:
            top = [folded(entry["text"] or "") for entry in (sample["retrieved"] or ())[:k]]
            counts.append((len(planted & set(top)), len(top), len(planted)))
    if not counts:
        raise DataError(
            f"run {scored.run.name}: no question has `poisoned_documents` in {questions.name}; accepted: "
            "questions with the ids of the run"
        )
    in_top, listed, there = np.array(counts, dtype=np.float64).T
    return poisoned_retrieval(in_top, listed, there)
