"""Cohorts of bubbles of the map on Diagnosis, of cases whose F1 a part would raise, of kinds of answers."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.diagnosis.case_scores import case_scores
from ragtriage.data.diagnosis.context import context_choice, context_metrics_of
from ragtriage.data.diagnosis.f1_tree import f1_cases
from ragtriage.data.scoring.batch_inputs import LACKS
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.f1_tree import F1_PARTS
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray

MAP_CELLS = 10  # along each side: cells of 0.1


def map_cells(values: FloatArray) -> IntArray:
    """(n,) cell of each value between 0 and 1, -1 where there is none."""
    known = np.clip(np.nan_to_num(values), 0, 1)
    cells = np.minimum((known * MAP_CELLS + 1e-9).astype(np.int64), MAP_CELLS - 1)
    return np.where(np.isfinite(values), cells, -1)


def map_cell_key(metric: str, x: int, y: int) -> str:
    """Return the key of the cohort of one cell.

    Args:
        metric: the context metric that was chosen; "" for what each question has.
        x: cell along the context metric, from 0.
        y: cell along faithfulness.
    """
    return f"map_cell:{metric}:{x}:{y}"


def _parts(text: str) -> tuple[str, int, int]:
    metric, *cells = text.rsplit(":", 2)
    if len(cells) != 2 or not all(cell in {str(at) for at in range(MAP_CELLS)} for cell in cells):
        raise ValueError(f"{text[:20]!r}; accepted: METRIC:X:Y with X and Y from 0 to {MAP_CELLS - 1}")
    return metric, int(cells[0]), int(cells[1])


def _title(text: str) -> str:
    metric, x, y = _parts(text)
    sides = (((metric or "context metric"), x), ("faithfulness", y))
    return ", ".join(f"{name} {at / MAP_CELLS:.1f} to {(at + 1) / MAP_CELLS:.1f}" for name, at in sides)


def _rows(scored: ScoredRun, text: str) -> BoolArray:
    metric, x, y = _parts(text)
    if metric and metric not in context_metrics_of(scored):
        raise ValueError(f"the run has no context metric {metric[:30]!r}")
    context = context_choice(scored, metric or None).values
    in_cell = (map_cells(context) == x) & (map_cells(scored.values("faithfulness")) == y)
    return np.asarray(in_cell, dtype=np.bool_)


DIAGNOSIS_COHORTS: Mapping[str, Cohort] = {"map_cell": Cohort(_title, _rows)}


def _part_title(key: str) -> str:
    titles = {part.key: part.title for part in F1_PARTS}
    if key not in titles:
        raise ValueError(f"{key[:30]!r}; accepted: {', '.join(titles)}")
    return f"F1 lost to {titles[key].lower()}"


F1_COHORTS: Mapping[str, Cohort] = {"f1": Cohort(_part_title, f1_cases)}

ANSWER_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "contradicted": "a document contradicts the answer",
        "right_without_context": "the answer is right, and the context lacks it",
    }
)


def _kind_title(key: str) -> str:
    if key not in ANSWER_KINDS:
        raise ValueError(f"{key[:30]!r}; accepted: {', '.join(ANSWER_KINDS)}")
    return ANSWER_KINDS[key]


def _kind_rows(scored: ScoredRun, key: str) -> BoolArray:
    """(n,) True for the answers of a kind, at the usual thresholds."""
    _kind_title(key)
    thresholds = CaseThresholds()
    scores = case_scores(scored, context_choice(scored, None), thresholds)
    if key == "contradicted":
        return np.asarray(scores.contradictions["contradicts_context"] > 0, dtype=np.bool_)
    features = scored.stage_features
    right = scores.right.values >= thresholds.correctness
    return np.asarray(
        right & (features["context_holds"] == LACKS) & (features["refused"] != 1), dtype=np.bool_
    )


ANSWER_COHORTS: Mapping[str, Cohort] = {"answer": Cohort(_kind_title, _kind_rows)}
