"""How many questions of its test set a run answered: a mean over few of them is no equal of one over all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.stored_file import reading


@dataclass(frozen=True)
class Answered:
    """How much of a test set a run answered."""

    answered: int  # questions with an answer; where the run records no answer at all, questions that it has
    asked: int  # questions of the test set, as far as the runs show it

    @property
    def complete(self) -> bool:
        """Whether no question is left out."""
        return self.answered >= self.asked


def own_answered(scored: ScoredRun) -> Answered:
    """Return how many of its own questions a run answered; an empty answer is an answer."""
    asked = len(scored.question_ids)
    if _has_all_answers(scored.samples_path):
        return Answered(asked, asked)
    with reading(scored.samples_path):
        given = pc.is_valid(pq.read_table(scored.samples_path, columns=["answer"])["answer"]).to_numpy()
    answered = len(np.unique(scored.question[given]))
    return Answered(answered or asked, asked)


@lru_cache(maxsize=4096)  # the samples of a run never change, and the file of a large one has many parts
def _has_all_answers(samples: Path) -> bool:
    """Return whether no sample of a run lacks its answer; also where none is recorded at all."""
    with reading(samples), pq.ParquetFile(samples) as file:
        return file.schema_arrow.get_field_index("answer") < 0 or not _has_nulls(file)


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
