"""The diagnose command: where the cases of a run fail, as JSON values and as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dashboard.cli.terminal import screen_width, table, wrapped
from dashboard.wording.diagnosis import inferred_words, no_bad_case, ownership, stage_inferred
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, percent
from data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, context_metrics_of, diagnose
from data.errors import DataError
from data.scoring.run_store import RunStore
from data.scoring.sanity import check_run
from data.store.workspace import Run
from metrics.diagnosis.fix_first import UNEXPLAINED
from metrics.diagnosis.patterns import PATTERNS, CaseThresholds
from metrics.diagnosis.stages import STAGES
from metrics.sanity.rule import Finding
from metrics.statistics.intervals import Interval

__all__ = ["diagnosis_of", "run_diagnosis"]


def run_diagnosis(
    store: RunStore,
    wanted: str,
    signal: str | None,
    context: float,
    faithfulness: float,
    answer_relevancy: float,
) -> tuple[Any, Callable[[], str]]:
    """Say where the cases of a run fail."""
    settings = DiagnosisSettings(CaseThresholds(context, faithfulness, answer_relevancy), signal)
    found = diagnosis_of(store, store.find(wanted), settings)
    if signal is not None and found.context_metric != signal:
        there = ", ".join(context_metrics_of(found.scored)) or "none, for this run has no such metric"
        raise DataError(f"signal {signal!r} is not in this run; accepted: {there}")
    answer = {
        "run": found.scored.run.run_id,
        "n": found.scored.n,
        "signal": found.context_metric,
        "cutoffs": asdict(settings.thresholds),
        "bad": int(found.bad.bad.sum()),
        "n_measured": int(found.measured.sum()),
        "n_fully_measured": int(found.coverage.fully.sum()),
        "measured_by": {name: int(one.sum()) for name, one in found.coverage.by.items()},
        "pass_rate": _interval(found.pass_rate),
        "patterns": found.pattern_counts(),
        "stages": found.stage_counts(),
        "fix_first": [asdict(one) for one in found.fix_first],
        "worst_slices": [asdict(one) for one in found.worst_slices],
        "symptoms": [one.key for one in found.symptoms],
    }
    return answer, lambda: _diagnosis_text(found, check_run(found.scored))


def diagnosis_of(store: RunStore, run: Run, settings: DiagnosisSettings) -> Diagnosis:
    """Diagnose a run with the labels people gave.

    Raises:
        DataError: the run is known by its means alone.
    """
    if run.means:
        raise DataError(
            f"{run.name} ({run.run_id}) is known by its means alone; accepted: a run with samples"
        )
    return diagnose(store.table(run), settings, store.ledger.labels(run.run_id))


def _interval(found: Interval) -> dict[str, Any]:
    return {
        "mean": _known(found.mean),
        "low": _known(found.low),
        "high": _known(found.high),
        "n_questions": found.n_scored,
        "method": found.method,
        "too_few": found.too_few,
    }


def _diagnosis_text(found: Diagnosis, findings: Sequence[Finding]) -> str:
    width = screen_width()
    counts, n = found.pattern_counts(), found.scored.n
    patterns = [
        [entry.title, f"{counts[entry.key]:,}", entry.meaning] for entry in PATTERNS if counts[entry.key]
    ]
    return "\n\n".join(
        [
            wrapped(_headline(found)),
            table(["pattern", "cases", "meaning"], patterns, width)
            + f"\nEvery case stands in one row; they sum to {n:,}.",
            *(_stages(found, findings, width) if found.fix_first else [wrapped(no_bad_case(found))]),
        ]
    )


def _headline(found: Diagnosis) -> str:
    rate, clause = found.pass_rate, found.coverage.clause()
    bad = f"{int(found.bad.bad.sum()):,} of {count(found.scored.n, 'case')} are bad"
    signal = f"Context signal: {found.context_metric or 'none recorded'}."
    if not rate.n_scored:
        return f"{bad}; pass rate {NOT_MEASURED}. {signal}"
    interval = interval_text(rate.low, rate.high)
    over = f"over {count(rate.n_scored, 'question')}{f', {clause}' if clause else ''}"
    return f"{bad}; pass rate {percent(rate.mean)} {interval} {over}. {signal}"


def _stages(found: Diagnosis, findings: Sequence[Finding], width: int | None) -> list[str]:
    """Say what to fix first, and which stage owns how many bad cases."""
    stages, first = found.stage_counts(), {one.key: one for one in found.fix_first}
    owned = [
        [
            entry.title,
            f"{stages[entry.key]:,}",
            stage_inferred(found, entry.key),
            f"at most {percent(first[entry.key].pass_rate_if_perfect)}",
            entry.advice,
        ]
        for entry in STAGES
        if stages[entry.key]
    ]
    header = ["failure stage", "cases", "told", "pass rate if fixed", "what to try"]
    if not any(row[2] for row in owned):
        owned, header = [[*row[:2], *row[3:]] for row in owned], [*header[:2], *header[3:]]
    bad = int(found.bad.bad.sum())
    total = f"Every bad case belongs to the first stage whose rule it meets; they sum to {bad:,}."
    return [table(header, owned, width) + f"\n{total}", wrapped(_fix_first(found, findings))]


def _fix_first(found: Diagnosis, findings: Sequence[Finding]) -> str:
    top, bad = found.fix_first[0], int(found.bad.bad.sum())
    owned = ownership(top, bad)
    said = f"{owned}." if top.key == UNEXPLAINED else f"Fix first: {top.title}, which {owned}."
    return " ".join(filter(None, [said, inferred_words(found, top, findings)]))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
