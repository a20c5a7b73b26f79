"""Which runs of the project pass which questions of a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View
from ragtriage.data.cases.cases import read_case
from ragtriage.data.datasets.item import Item
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.store.workspace import Run

MOST_VERSIONS = 6  # the newest


@dataclass(frozen=True)
class VersionPasses:
    """What a run says of the questions of a dataset."""

    run: Run
    name: str  # its label
    passed: Mapping[str, bool | None]  # question id -> whether it passes; None where that is not known


def passes_of(view: View | None, items: Sequence[Item]) -> list[VersionPasses]:
    """Return the runs of the project that answered the items, oldest first, with what passed."""
    if view is None or not items:
        return []
    wanted, found = {item.question_id for item in items}, []
    for run in view.sampled:
        if run.config.get("grid") or run.config.get("experiment"):
            continue  # searches and arms are no versions
        passed = _passed(view.usual_diagnosis(run))
        if wanted & passed.keys():
            found.append(VersionPasses(run, view.labels[run.run_id], passed))
    return found[-MOST_VERSIONS:]


@kept
def _passed(diagnosis: Diagnosis) -> dict[str, bool | None]:
    """Return question id -> whether every repeat that was measured is good."""
    passed: dict[str, bool | None] = {}
    for at, question_id in enumerate(diagnosis.scored.question_ids):
        rows = diagnosis.scored.question == at
        measured = rows & diagnosis.measured
        passed[str(question_id)] = bool((~diagnosis.bad.bad[measured]).all()) if measured.any() else None
    return passed


def answer_of(diagnosis: Diagnosis, question_id: str) -> str:
    """Return what a run answered to a question; "" where it did not."""
    at = np.searchsorted(diagnosis.scored.question_ids, question_id)
    rows = np.flatnonzero(diagnosis.scored.question == at)
    return str(read_case(diagnosis.scored, int(rows[0]))["answer"] or "") if len(rows) else ""
