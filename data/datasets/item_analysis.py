"""What the runs on a dataset say of its questions, and the smallest change that it can show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.comparison.question_match import HISTORY, question_texts
from ragtriage.data.datasets.item import Item
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.analysis.items import AGAINST, GROUPS, Group, difficulty, groups_of, item_rest
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import question_means

LEAST_SHARED = 0.5  # share of the questions that a run must have answered to be one on the dataset


@dataclass(frozen=True)
class ItemAnalysis:
    """Versions by questions."""

    runs: tuple[Run, ...]  # v of them, the best first
    passes: FloatArray  # (v, q) share of the repeats that pass; NaN where it is not known
    groups: tuple[Group, ...]  # of each question
    difficulty: FloatArray  # (q,) 1 minus the mean over versions; NaN where none is known
    item_rest: FloatArray  # (q,) correlation with the rest; NaN where it cannot be said

    @property
    def counts(self) -> dict[Group, int]:
        """Questions by group, in the order of GROUPS."""
        return {group: self.groups.count(group) for group in GROUPS}

    @property
    def against(self) -> list[int]:
        """Positions of the questions that better versions fail and worse ones pass."""
        return [int(at) for at in np.flatnonzero(self.item_rest < AGAINST)]


def analyse_items(
    items: Sequence[Item], runs: Sequence[Run], diagnosed: Callable[[Run], Diagnosis]
) -> ItemAnalysis:
    """Set the runs that answered at least half of some questions against these questions.

    A question counts where a run has its id and its text: an id alone, as `q1`, may be that of another set.
    """
    rows, answered = [], []
    for run in runs:
        row = _passes(items, diagnosed(run))
        if len(items) and np.isfinite(row).mean() >= LEAST_SHARED:
            rows.append(row)
            answered.append(run)
    passes = np.array(rows).reshape(len(rows), len(items))
    means = [float(np.nanmean(row)) for row in rows]
    order = sorted(range(len(rows)), key=lambda at: (-means[at], answered[at].created_at))
    passes = passes[order]
    return ItemAnalysis(
        tuple(answered[at] for at in order),
        passes,
        tuple(groups_of(passes)),
        difficulty(passes),
        item_rest(passes),
    )


def _passes(items: Sequence[Item], diagnosis: Diagnosis) -> FloatArray:
    """Return the share of repeats of each question that pass in a run; (q,), NaN where it is not known."""
    scored = diagnosis.scored
    means, _ = question_means(passing_of(diagnosis), scored.question)
    texts = question_texts(scored.samples_path)
    place = {str(question_id): at for at, question_id in enumerate(scored.question_ids)}
    row = np.full(len(items), np.nan)
    for column, item in enumerate(items):
        at = place.get(item.question_id)
        if at is not None and texts[item.question_id].partition(HISTORY)[0] == item.question.strip():
            row[column] = means[at]
    return row
