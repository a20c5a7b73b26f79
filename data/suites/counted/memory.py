"""What the suite memory tells: recall by the age of what was said, and within N days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.counted.figures import (
    Figure,
    PartDetail,
    SuiteParts,
    figure_table,
    part_cohort,
    suite_parts,
)
from ragtriage.metrics.result_table import Cell, ResultTable
from ragtriage.metrics.suites.memory import GAPS, gap_label

SUITE = "memory"
RANKS = (1, 3, 5, 10)


def memory_detail(scored: ScoredRun) -> PartDetail | None:
    """Return what the memory checks of a run amount to; None where none says what to remember."""
    parts = suite_parts(scored, SUITE).having("gap")
    if not len(parts):
        return None
    recalled = [
        with_verdict(detail, int(passed)) for detail, passed in zip(parts.details, parts.passed, strict=True)
    ]
    parts = SuiteParts(scored, parts.sample, parts.passed, recalled)
    figures = (Figure("recall", "Recalled", parts.mean(_recalled)), *recall_at(parts))
    n, hits = sum(one >= 0 for one in parts.passed), sum(one == 1 for one in parts.passed)
    statement = f"{hits:,} of {n:,} earlier turns were recalled." if n else ""
    tables = (_by_gap(parts), _within(parts), figure_table("Recall by rank", figures))
    counts = {"n_decided": n, "n_recalled": hits, "by_gap": _counts(parts)}
    return PartDetail(statement, tuple(table for table in tables if table.rows), figures, counts)


def recall_at(parts: SuiteParts) -> tuple[Figure, ...]:
    """Return the share of memories that stand among the first k documents; () where no rank is known."""
    if not any(detail.get("ranked") for detail in parts.details):
        return ()
    deepest = max(detail.get("rank") or 1 for detail in parts.details)
    depths = [k for at, k in enumerate(RANKS) if not at or RANKS[at - 1] < deepest]
    return tuple(Figure(f"recall@{k}", f"In the first {k}", parts.mean(_within_rank(k))) for k in depths)


def with_verdict(detail: Mapping[str, Any], passed: int) -> dict[str, Any]:
    """Return what a memory check counted, with whether it was recalled; None where that is not measured."""
    return {**detail, "recalled": None if passed < 0 else float(passed)}


def _recalled(detail: Mapping[str, Any]) -> float | None:
    return detail.get("recalled")


def _within_rank(k: int) -> Callable[[Mapping[str, Any]], float | None]:
    def held(detail: Mapping[str, Any]) -> float | None:
        if detail.get("recalled") is None or not detail.get("ranked"):
            return None
        return float(detail.get("rank") is not None and detail["rank"] <= k)

    return held


def _by_gap(parts: SuiteParts) -> ResultTable:
    labels = [*(label for _, label in GAPS), gap_label(1e9)]
    present = [label for label in labels if len(parts.having("gap", label))]
    rows: list[Mapping[str, Cell]] = [
        {"Age": label, "Recalled": parts.having("gap", label).mean(_recalled)} for label in present
    ]
    note = "Age: days from the turn to the question."
    return ResultTable(
        "By age", tuple(rows), note, tuple(part_cohort(SUITE, "gap", label) for label in present)
    )


def _within(parts: SuiteParts) -> ResultTable:
    rows: list[Mapping[str, Cell]] = [
        {"Within": f"{days} {'day' if days == 1 else 'days'}", "Recalled": parts.mean(_of_age(days))}
        for days, _ in GAPS
        if any(detail["days"] is not None and detail["days"] <= days for detail in parts.details)
    ]
    return ResultTable("Within N days", tuple(rows))


def _of_age(days: int) -> Any:
    return lambda detail: _recalled(detail) if detail["days"] is not None and detail["days"] <= days else None


def _counts(parts: SuiteParts) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for detail in parts.details:
        entry = counts.setdefault(detail["gap"] or "age not recorded", {"n": 0, "recalled": 0})
        entry["n"] += detail["recalled"] is not None
        entry["recalled"] += detail["recalled"] == 1
    return counts
