"""The compare command: runs beside a baseline, paired on question, as JSON values and as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dashboard.cli.diagnose import diagnosis_of
from dashboard.cli.terminal import plain, table, wrapped
from dashboard.wording.formatting import interval_text, number, p_value, signed
from dashboard.wording.runs import told_apart
from data.comparison.compare import Comparison, compare
from data.comparison.metric_families import shared_metrics
from data.diagnosis.diagnosis import DiagnosisSettings
from data.scoring.run_store import RunStore
from data.store.workspace import Run
from metrics.metric_registry import title_of

__all__ = ["compare_runs"]

FOOTER = (
    "Differences are paired on question. The interval is of one metric by itself and is not corrected; p is "
    "Holm-corrected over the metrics of the table and gives the verdict, so a difference can stay within "
    "chance although its interval leaves 0 out."
)


def compare_runs(
    store: RunStore, base: str, others: Sequence[str], family: str
) -> tuple[Any, Callable[[], str]]:
    """Compare runs with a baseline."""
    runs = [store.find(wanted) for wanted in (base, *others)]
    found = [diagnosis_of(store, run, DiagnosisSettings()) for run in runs]
    labels = told_apart(runs, store.names())
    sides = [
        compare(found[0], one, shared_metrics([found[0].scored, one.scored], family=family))
        for one in found[1:]
    ]
    answer = {
        "baseline": runs[0].run_id,
        "family": family,
        "comparisons": [_comparison(run, side) for run, side in zip(runs[1:], sides, strict=True)],
    }

    def text() -> str:
        parts = [
            _comparison_text(f"{labels[run.run_id]} against {labels[runs[0].run_id]}", side)
            for run, side in zip(runs[1:], sides, strict=True)
        ]
        return "\n\n".join([*parts, wrapped(FOOTER)])

    return answer, text


def _comparison(run: Run, side: Comparison) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "warnings": list(side.warnings),
        "n_shared": len(side.matched.base),
        "metrics": {
            one.metric: {
                "baseline": _json_number(one.base),
                "run": _json_number(one.other),
                "difference": _json_number(one.difference.difference),
                "low": _json_number(one.difference.low),
                "high": _json_number(one.difference.high),
                "p": _json_number(one.difference.p),
                "adjusted_p": _json_number(one.adjusted_p),
                "n_pairs": one.difference.n_pairs,
                "verdict": one.verdict,
            }
            for one in side.differences
        },
    }


def _comparison_text(title: str, side: Comparison) -> str:
    shared = len(side.matched.base)
    rows = [
        [
            title_of(one.metric),
            number(one.base, 3),
            number(one.other, 3),
            signed(one.difference.difference, 3),
            interval_text(one.difference.low, one.difference.high, 3),
            f"{one.difference.n_pairs:,}",
            p_value(one.adjusted_p),
            one.verdict,
        ]
        for one in side.differences
    ]
    header = ["metric", "baseline", "run", "difference", "95 % interval", "n", "p (Holm)", "verdict"]
    if all(one.difference.n_pairs == shared for one in side.differences):
        rows, header = [[*row[:5], *row[6:]] for row in rows], [*header[:5], *header[6:]]
    family = f"{len(rows)} metrics, {shared:,} shared questions"
    return "\n".join([f"{plain(title)} ({family})", *side.warnings, table(header, rows)])


def _json_number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
