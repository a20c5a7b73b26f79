"""The cases on the list in numbers, for the headline of the page and for the filter chips."""

from __future__ import annotations

import numpy as np

from dashboard.headlines.cases import CaseCounts
from dashboard.shell.session import View
from data.diagnosis.diagnosis import Diagnosis
from data.diagnosis.doubts import pass_rate_doubts
from metrics.diagnosis.stages import STAGES, FailureStage
from metrics.metric_registry import title_of
from metrics.schema.scores import IntArray

__all__ = ["case_counts", "count_doubts", "short_name", "stage_counts"]


def case_counts(view: View, diagnosis: Diagnosis, rows: IntArray) -> CaseCounts:
    """Count the cases on the list."""
    return CaseCounts(
        run=view.store.names()[view.run.run_id],
        total=diagnosis.scored.n,
        shown=len(rows),
        bad=int(diagnosis.bad.bad[rows].sum()),
        measured=int(diagnosis.measured[rows].sum()),
        fully=int(diagnosis.coverage.fully[rows].sum()),
        stages=stage_counts(diagnosis, rows),
        judged_by=tuple(title_of(name) for name in diagnosis.coverage.names),
        questions=len(np.unique(diagnosis.scored.question[rows][diagnosis.measured[rows]])),
        refusals_alone=diagnosis.coverage.of_refusals_alone,
    )


def short_name(stage: FailureStage) -> str:
    """Return the name of a stage in chips; that a case is inferred is said on the case."""
    return stage.short.removesuffix(" (inferred)")


def stage_counts(diagnosis: Diagnosis, rows: IntArray) -> dict[str, int]:
    """Return the number of bad cases among rows at each failure stage that has any, most first."""
    codes = diagnosis.stages.stage[rows]
    counts = np.bincount(codes[codes >= 0], minlength=len(STAGES))
    return {STAGES[at].key: int(counts[at]) for at in np.argsort(-counts, kind="stable") if counts[at]}


def count_doubts(view: View, diagnosis: Diagnosis) -> str:
    """Return what the checks doubt about which cases count as bad; "" for nothing."""
    doubts = pass_rate_doubts(diagnosis, view.findings(view.run))
    return "; ".join(dict.fromkeys(finding.clause for finding in doubts))
