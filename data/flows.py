"""How questions move between failure stages from one run to another."""

from __future__ import annotations

import numpy as np

from data.comparisons import align
from data.diagnoses import Diagnosis
from metrics.stages import STAGES
from metrics.values import IntArray

__all__ = ["GOOD", "stage_flow"]

GOOD = "good"


def stage_flow(base: Diagnosis, other: Diagnosis) -> dict[tuple[str, str], int]:
    """Count the shared questions by (stage in the baseline, stage in the other run); GOOD where not bad.

    A question with repeats has the stage that most of its repeats have.
    """
    alignment = align(base.table, other.table)
    before = _question_stage(base)[alignment.base]
    after = _question_stage(other)[alignment.other]
    names = [*(stage.key for stage in STAGES), GOOD]
    pairs, counts = np.unique(np.stack([before, after]), axis=1, return_counts=True)
    return {
        (names[left], names[right]): int(count)
        for left, right, count in zip(*pairs.tolist(), counts.tolist(), strict=True)
    }


def _question_stage(diagnosis: Diagnosis) -> IntArray:
    """Give the most frequent code of each question; -1 (good) becomes the last code."""
    codes = np.where(diagnosis.stages.stage < 0, len(STAGES), diagnosis.stages.stage).astype(np.int64)
    width = len(STAGES) + 1
    counts = np.bincount(
        diagnosis.table.question * width + codes, minlength=len(diagnosis.table.question_ids) * width
    )
    return np.asarray(counts.reshape(-1, width).argmax(axis=1), dtype=np.int64)
