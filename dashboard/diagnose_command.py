"""The diagnose command: where the cases of a run fail, as JSON values and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from dashboard.rounding import interval_text, percent
from dashboard.terminal import table
from data.catalogue import Catalogue
from data.diagnoses import Diagnosis, DiagnosisSettings, diagnose, signals_of
from data.errors import DataError
from data.workspace import Run
from metrics.diagnosis import PATTERNS, Cutoffs
from metrics.stages import STAGES
from metrics.statistics import Interval

__all__ = ["diagnosis_of", "run_diagnosis"]


def run_diagnosis(
    catalogue: Catalogue,
    wanted: str,
    signal: str | None,
    context: float,
    faithfulness: float,
    answer_relevancy: float,
) -> tuple[Any, Callable[[], str]]:
    """Say where the cases of a run fail."""
    settings = DiagnosisSettings(Cutoffs(context, faithfulness, answer_relevancy), signal)
    found = diagnosis_of(catalogue, catalogue.find(wanted), settings)
    if signal is not None and found.signal != signal:
        there = ", ".join(signals_of(found.table)) or "none, for this run has no such metric"
        raise DataError(f"signal {signal!r} is not in this run; accepted: {there}")
    answer = {
        "run": found.table.run.run_id,
        "n": found.table.n,
        "signal": found.signal,
        "cutoffs": asdict(settings.cutoffs),
        "bad": int(found.bad.bad.sum()),
        "pass_rate": _interval(found.pass_rate),
        "patterns": found.pattern_counts(),
        "stages": found.stage_counts(),
        "fix_first": [asdict(one) for one in found.fix_first],
        "worst_slices": [asdict(one) for one in found.worst_slices],
        "symptoms": [one.key for one in found.symptoms],
    }
    return answer, lambda: _diagnosis_text(found)


def diagnosis_of(catalogue: Catalogue, run: Run, settings: DiagnosisSettings) -> Diagnosis:
    """Diagnose a run with the labels people gave.

    Raises:
        DataError: the run is known by its means alone.
    """
    if run.means:
        raise DataError(
            f"{run.name} ({run.run_id}) is known by its means alone; accepted: a run with samples"
        )
    return diagnose(catalogue.table(run), settings, catalogue.ledger.labels(run.run_id))


def _interval(found: Interval) -> dict[str, Any]:
    return {
        "mean": _known(found.mean),
        "low": _known(found.low),
        "high": _known(found.high),
        "n_questions": found.n_scored,
        "method": found.method,
        "too_few": found.too_few,
    }


def _diagnosis_text(found: Diagnosis) -> str:
    rate = found.pass_rate
    counts, stages = found.pattern_counts(), found.stage_counts()
    patterns = [
        [entry.title, f"{counts[entry.key]:,}", entry.meaning] for entry in PATTERNS if counts[entry.key]
    ]
    first = {one.key: one for one in found.fix_first}
    owned = [
        [
            entry.title,
            f"{stages[entry.key]:,}",
            f"at most {percent(first[entry.key].pass_rate_if_perfect)}",
            entry.advice,
        ]
        for entry in STAGES
        if stages[entry.key]
    ]
    return "\n\n".join(
        [
            f"{int(found.bad.bad.sum()):,} of {found.table.n:,} cases are bad; "
            f"pass rate {percent(rate.mean)} "
            f"{interval_text(rate.low, rate.high)} over {rate.n_scored:,} questions. "
            f"Context signal: {found.signal or 'none recorded'}.",
            table(["pattern", "cases", "meaning"], patterns),
            table(["failure stage", "cases", "pass rate if fixed", "what to try"], owned)
            if owned
            else "No bad case.",
        ]
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
