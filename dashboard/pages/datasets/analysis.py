"""What the runs of the project on display say of the questions of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View
from ragtriage.data.cases.cases import read_case
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.item_analysis import ItemAnalysis, analyse_items
from ragtriage.data.datasets.review import DraftItem
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.store.workspace import Run
from ragtriage.data.strategy.plan import is_version

MOST_VERSIONS = 20  # the newest
VERSION_MARKS = {  # what the runs mark in a set -> which questions those are
    "against": "that better versions fail and worse ones pass",
    "nobody": "that no version passes",
}


@dataclass(frozen=True)
class Versions:
    """The runs that answered the questions, and what passes."""

    analysis: ItemAnalysis
    question_ids: tuple[str, ...]  # in the order of the columns
    names: tuple[str, ...]  # labels of the runs, in the order of the rows

    @cached_property
    def column(self) -> dict[str, int]:
        """Question id -> its column."""
        return {question_id: at for at, question_id in enumerate(self.question_ids)}

    @cached_property
    def by_age(self) -> list[int]:
        """The rows, the oldest run first."""
        runs = self.analysis.runs
        return sorted(range(len(runs)), key=lambda at: (runs[at].created_at, self.names[at]))

    def marked(self, mark: str) -> set[str]:
        """Return the questions of one of VERSION_MARKS."""
        if mark == "against":
            return {self.question_ids[at] for at in self.analysis.against}
        groups = zip(self.question_ids, self.analysis.groups, strict=True)
        return {question_id for question_id, group in groups if group == "nobody passes"}

    def passed(self, question_id: str) -> tuple[bool | None, ...]:
        """Return whether each run passes a question, the oldest first; None where that is not known."""
        at = self.column.get(question_id)
        values = [float("nan") if at is None else float(self.analysis.passes[row, at]) for row in self.by_age]
        return tuple(value > 0.5 if isfinite(value) else None for value in values)


def versions_of(entries: Sequence[DraftItem], view: View | None) -> Versions | None:
    """Return the runs of the project that answered at least half of some questions; None without any."""
    if view is None or not entries:
        return None
    runs = [run for run in view.sampled if is_version(run)]
    diagnoses = tuple(view.usual_diagnosis(run) for run in runs[-MOST_VERSIONS:])
    questions = tuple((each.item.question_id, each.item.question) for each in entries)
    analysis = _analysis(questions, diagnoses)
    if not analysis.runs:
        return None
    names = tuple(view.labels[run.run_id] for run in analysis.runs)
    return Versions(analysis, tuple(question_id for question_id, _ in questions), names)


@kept
def _analysis(questions: tuple[tuple[str, str], ...], diagnoses: tuple[Diagnosis, ...]) -> ItemAnalysis:
    by_run: dict[str, Diagnosis] = {each.scored.run.run_id: each for each in diagnoses}
    runs: list[Run] = [each.scored.run for each in diagnoses]
    return analyse_items([Item(*each) for each in questions], runs, lambda run: by_run[run.run_id])


def answer_of(diagnosis: Diagnosis, question_id: str) -> str:
    """Return what a run answered to a question; "" where it did not."""
    ids = diagnosis.scored.question_ids
    at = int(np.searchsorted(ids, question_id))
    if at == len(ids) or str(ids[at]) != question_id:
        return ""
    rows = np.flatnonzero(diagnosis.scored.question == at)
    return str(read_case(diagnosis.scored, int(rows[0]))["answer"] or "") if len(rows) else ""
