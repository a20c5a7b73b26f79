"""Cohorts of the F1 tree: the cases whose F1 a perfect part would raise."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.diagnosis.f1_tree import f1_cases
from ragtriage.metrics.diagnosis.f1_tree import F1_PARTS


def _title(key: str) -> str:
    titles = {part.key: part.title for part in F1_PARTS}
    if key not in titles:
        raise ValueError(f"{key[:30]!r}; accepted: {', '.join(titles)}")
    return f"F1 lost to {titles[key].lower()}"


F1_COHORTS: Mapping[str, Cohort] = {"f1": Cohort(_title, f1_cases)}
