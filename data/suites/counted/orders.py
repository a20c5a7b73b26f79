"""What the suite order tells: how often the order is right, Kendall's tau, where the first item is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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

SUITE = "order"
MOST_ROWS = 10
NOTE = "Items with equal keys may stand in any order. Tau-b needs two items with different keys."


def order_detail(scored: ScoredRun) -> PartDetail | None:
    """Return what the order checks of a run amount to; None where none lists entries."""
    parts = suite_parts(scored, SUITE).having("form")
    ordered = [detail for detail in parts.details if detail["n"] >= 2]
    if not ordered:
        return None
    figures = (
        Figure(
            "in_order",
            "In order",
            parts.mean(lambda d: d["first_inversion"] is None if d["n"] >= 2 else None),
        ),
        Figure("kendall_tau", "Kendall's tau-b", parts.mean(lambda d: d["tau"], (-1.0, 1.0))),
    )
    wrong = sum(detail["first_inversion"] is not None for detail in ordered)
    statement = f"{len(ordered) - wrong:,} of {len(ordered):,} lists stand in the expected order."
    tables = (figure_table("Order of what is returned", figures, NOTE), _inversions(parts))
    counts = {"n_ordered": len(ordered), "n_out_of_order": wrong, "n_too_short": len(parts) - len(ordered)}
    return PartDetail(statement, tuple(table for table in tables if table.rows), figures, counts)


def _inversions(parts: SuiteParts) -> ResultTable:
    places = Counter(detail["first_inversion"] for detail in parts.details if detail["first_inversion"])
    found = sorted(places)[:MOST_ROWS]
    rows: list[Mapping[str, Cell]] = [
        {"First out of order at place": at, "Checks": places[at]} for at in found
    ]
    return ResultTable(
        "First inversion", tuple(rows), "", tuple(part_cohort(SUITE, "inversion", at) for at in found)
    )
