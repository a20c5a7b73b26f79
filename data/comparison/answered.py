"""How many questions of its test set a run answered: a mean over few of them is no equal of one over all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.scoring.scored_run import ScoredRun
from data.store.stored_file import reading

__all__ = ["Answered", "answered_of", "own_answered"]


@dataclass(frozen=True)
class Answered:
    """How much of a test set a run answered.

    Attributes:
        answered: questions with an answer; where the run records no answer at all, questions that it has.
        asked: questions of the test set, as far as the runs show it.
    """

    answered: int
    asked: int

    @property
    def complete(self) -> bool:
        """Whether no question is left out."""
        return self.answered >= self.asked


def own_answered(scored: ScoredRun) -> Answered:
    """Return how many of its own questions a run answered; an empty answer is an answer."""
    asked = len(scored.question_ids)
    with reading(scored.samples_path), pq.ParquetFile(scored.samples_path) as file:
        column = file.schema_arrow.get_field_index("answer")
        if column < 0 or not _has_nulls(file):
            return Answered(asked, asked)
        given = pc.is_valid(file.read(columns=["answer"])["answer"]).to_numpy()
    answered = len(np.unique(scored.question[given]))
    return Answered(answered or asked, asked)


def _has_nulls(file: pq.ParquetFile) -> bool:
    """Return whether a samples file has a sample without an answer, from its statistics where it has them."""
    metadata = file.metadata
    paths = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
    place = paths.index("answer")
    for at in range(metadata.num_row_groups):
        statistics = metadata.row_group(at).column(place).statistics
        if statistics is None or not statistics.has_null_count or statistics.null_count:
            return True
    return False


def answered_of(scored_runs: Sequence[ScoredRun]) -> dict[str, Answered]:
    """Return for each run by id how much it answered of the largest run that has all of its questions."""
    if not scored_runs:
        return {}
    largest = max(scored_runs, key=lambda scored: len(scored.question_ids)).question_ids
    found = {}
    for scored in scored_runs:
        own = own_answered(scored)
        part = own.asked < len(largest) and bool(np.isin(scored.question_ids, largest).all())
        found[scored.run.run_id] = Answered(own.answered, len(largest) if part else own.asked)
    return found
