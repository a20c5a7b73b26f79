"""The cases of a list where the filter may name a loss or a new failure, which take two runs to see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dashboard.session import View
from data.broken_cases import broken_cases
from data.broken_marks import broken_baseline
from data.cases import CaseFilter, case_rows
from data.diagnoses import Diagnosis
from data.errors import DataError
from data.loss_marks import loss_mark
from data.stage_losses import lost_rows
from metrics.values import IntArray

__all__ = ["filtered_rows"]


def filtered_rows(view: View, diagnosis: Diagnosis) -> IntArray:
    """Give the rows of a run that the selection's filter keeps, in its order.

    Raises:
        DataError: the filter names a loss against a run that is not in the project.
    """
    chosen = view.selection.filter()
    baseline = broken_baseline(chosen.mark)
    if baseline is not None:
        return _broken_rows(view, diagnosis, chosen, baseline)
    mark = loss_mark(chosen.mark)
    if mark is None:
        return case_rows(diagnosis, chosen)
    oracle = next((run for run in view.sampled if run.run_id == mark.oracle), None)
    if oracle is None:
        raise DataError(
            f"mark {chosen.mark[:60]!r}: run {mark.oracle[:20]!r} is not in {view.project}; accepted: the id "
            "of a run with answers from the gold documents"
        )
    lost = lost_rows(diagnosis, view.diagnosis(oracle), mark.quality, mark.where)
    rows = case_rows(diagnosis, replace(chosen, mark=""))
    return np.asarray(rows[lost[rows]], dtype=np.int64)


def _broken_rows(view: View, diagnosis: Diagnosis, chosen: CaseFilter, baseline: str) -> IntArray:
    """Give the cases that passed in the baseline of the gates and fail now, at the cut-offs of the gates."""
    base = next((run for run in view.catalogue.runs() if run.run_id == baseline and not run.means), None)
    if base is None:
        raise DataError(
            f"mark {chosen.mark[:60]!r}: run {baseline[:20]!r} is not there; accepted: the id of a run "
            "with samples"
        )
    broken = broken_cases(view.usual_diagnosis(base), view.usual_diagnosis(view.run))
    rows = case_rows(diagnosis, replace(chosen, mark=""))
    return np.asarray(rows[broken.samples[rows]], dtype=np.int64)
