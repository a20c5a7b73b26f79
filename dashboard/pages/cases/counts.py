"""The cases on the list in numbers, for the headline of the page and for the filter chips."""

from __future__ import annotations

from ragtriage.dashboard.headlines.cases import CaseCounts, count_cases
from ragtriage.dashboard.shell.session import View
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import pass_rate_doubts
from ragtriage.metrics.diagnosis.stages import FailureStage
from ragtriage.metrics.schema.scores import IntArray


def case_counts(view: View, diagnosis: Diagnosis, rows: IntArray) -> CaseCounts:
    """Count the cases on the list."""
    return count_cases(view.store.names()[view.run.run_id], diagnosis, rows)


def short_name(stage: FailureStage) -> str:
    """Return the name of a stage in chips; that a case is inferred is said on the case."""
    return stage.short.removesuffix(" (inferred)")


def count_doubts(view: View, diagnosis: Diagnosis) -> str:
    """Return what the checks doubt about which cases count as bad; "" for nothing."""
    doubts = pass_rate_doubts(diagnosis, view.findings(view.run))
    return "; ".join(dict.fromkeys(finding.clause for finding in doubts))
