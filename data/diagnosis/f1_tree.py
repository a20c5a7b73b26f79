"""The F1 tree of a run, from its per-sample claim metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.f1_tree import (
    F1_PARTS,
    F1Branch,
    F1Part,
    F1Shares,
    F1Tree,
    consistent,
    f1_of,
    f1_tree,
    perfect_f1,
)
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Source
from ragtriage.metrics.statistics.intervals import Interval

_METRICS: Mapping[str, str] = {  # field of F1Shares -> metric
    "precision": "answer_precision",
    "recall": "answer_recall",
    "hallucination": "hallucination",
    "noise_relevant": "noise_sensitivity_relevant",
    "self_knowledge": "self_knowledge",
    "omission": "omission",
    "context_recall": "context_recall",
}


@dataclass(frozen=True)
class F1Diagnosis:
    """The tree of a run with where its numbers come from."""

    tree: F1Tree | None  # None where F1 is not measured
    n_total: int  # samples of the run
    sources: str  # sources of the claim metrics, in words
    lacking: tuple[str, ...]  # metrics of the tree that the run has no value of


def f1_diagnosis(scored: ScoredRun) -> F1Diagnosis:
    """Return why the F1 of a run is what it is."""
    lacking = tuple(name for name in _METRICS.values() if not np.isfinite(scored.values(name)).any())
    tree = f1_tree(_shares(scored), scored.question, scored.clusters, scored.question_weights)
    return F1Diagnosis(tree, scored.n, _sources(scored), lacking)


def _shares(scored: ScoredRun) -> F1Shares:
    return F1Shares(**{field: _values(scored, metric) for field, metric in _METRICS.items()})


def _values(scored: ScoredRun, metric: str) -> FloatArray:
    column = scored.column(metric)
    return np.full(scored.n, np.nan) if column is None else column.values


def _sources(scored: ScoredRun) -> str:
    """Return where the claim metrics come from, best first."""
    columns = [scored.column(metric) for metric in _METRICS.values()]
    labels = {label for column in columns if column is not None for label in column.sources}
    return "+".join(source.label for source in Source if source.label in labels) or "none"


def f1_gains(scored: ScoredRun, key: str) -> FloatArray:
    """Return the (n,) F1 that each sample would gain if a part were perfect; NaN where it is not measured.

    Raises:
        ValueError: the tree has no such part.
    """
    part, shares = _part(key), _shares(scored)
    known = np.isfinite(shares.precision) & np.isfinite(shares.recall)
    whole = consistent(shares)
    if whole.any():
        known &= whole
    elif part.by_support:
        known = np.zeros(scored.n, dtype=np.bool_)
    gains = perfect_f1(shares, part) - f1_of(shares.precision, shares.recall)
    return np.where(known, gains, np.nan)


def f1_cases(scored: ScoredRun, key: str) -> BoolArray:
    """Return (n,) True for the samples whose F1 a perfect part would raise.

    Raises:
        ValueError: the tree has no such part.
    """
    return np.asarray(np.nan_to_num(f1_gains(scored, key)) > 1e-6, dtype=np.bool_)


def _part(key: str) -> F1Part:
    for part in F1_PARTS:
        if part.key == key:
            return part
    accepted = ", ".join(part.key for part in F1_PARTS)
    raise ValueError(f"{key[:30]!r}; accepted: {accepted}")


def f1_answer(diagnosis: F1Diagnosis) -> dict[str, Any]:
    """Return the tree as JSON values."""
    tree = diagnosis.tree
    return {
        "f1": None if tree is None else _estimate(tree.f1),
        "n_samples": 0 if tree is None else tree.n_samples,
        "n_with_f1": 0 if tree is None else tree.n_f1,
        "n_total": diagnosis.n_total,
        "source": diagnosis.sources,
        "lacking": list(diagnosis.lacking),
        "parts": [] if tree is None else [_branch(branch) for branch in tree.branches],
    }


def _branch(branch: F1Branch) -> dict[str, Any]:
    part = branch.part
    return {
        "part": part.key,
        "parent": part.parent,
        "metric": part.metric,
        "value": _estimate(branch.value),
        "gain_if_perfect": _estimate(branch.gain),
        "f1_if_perfect": branch.bound,
        "n_cases": branch.n_cases,
        "cohort": f"f1:{part.key}",
        "if_perfect": part.repaired,
        "measures": list(part.measures),
    }


def _estimate(estimate: Interval) -> dict[str, Any]:
    low, high = (float(end) if np.isfinite(end) else None for end in (estimate.low, estimate.high))
    mean = float(estimate.mean) if np.isfinite(estimate.mean) else None
    return {"mean": mean, "low": low, "high": high, "n": estimate.n_scored, "method": estimate.method}
