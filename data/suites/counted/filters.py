"""What the suite filter tells: extracted constraints, returned items, and what empty results became."""

from __future__ import annotations

from collections import Counter
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

SUITE = "filter"
MOST_ROWS = 20
EMPTY_TITLES = {
    "right empty": "Nothing is right, and nothing is named",
    "fabricated": "Nothing is right, and an item is named: fabricated",
    "false empty": "Items are right, and none is named: false empty",
    "not empty": "Items are right, and some are named",
}
ITEM_NOTE = (
    "Precision: returned items that satisfy every constraint / returned. Recall: satisfying items returned / "
    "satisfying. Undefined where nothing is returned, or right. {} of {} lists were read from the answer by "
    "name, an estimate; the others are recorded."
)


def filter_detail(scored: ScoredRun) -> PartDetail | None:
    """Return what the filter checks of a run amount to; None where none lists constraints or items."""
    parts = suite_parts(scored, SUITE)
    extracted, returned = parts.having("form", "constraints"), parts.having("form", "items")
    if not len(extracted) and not len(returned):
        return None
    constraint_figures = _agreement(extracted, "constraint") if len(extracted) else ()
    item_figures = _items(returned) if len(returned) else ()
    empty = Counter(str(detail["empty"]) for detail in returned.details)
    broken = _broken(returned).most_common(MOST_ROWS)
    rows: list[Mapping[str, Cell]] = [{"Constraint": text, "Items that break it": n} for text, n in broken]
    cohorts = tuple(part_cohort(SUITE, "breaks", text) for text, _ in broken)
    violations = ResultTable("Violations", tuple(rows), "Returned items, counted over all checks.", cohorts)
    tables = [
        figure_table("Extracted against expected constraints", constraint_figures),
        _fields(extracted),
        figure_table("Returned against satisfying items", item_figures, _item_note(returned)),
        _empty_table(empty),
        violations,
    ]
    counts = {
        "n_constraint_checks": len(extracted),
        "n_item_checks": len(returned),
        "empty": dict(empty),
        "n_expected_items": sum(detail["n_expected"] for detail in returned.details),
        "violations": dict(_broken(returned)),
    }
    shown = tuple(table for table in tables if table.rows)
    return PartDetail(_statement(extracted, empty), shown, (*constraint_figures, *item_figures), counts)


def _statement(extracted: SuiteParts, empty: Counter[str]) -> str:
    told = []
    if len(extracted):
        exact = sum(_exact(detail) == 1 for detail in extracted.details)
        told.append(
            f"Exactly the expected constraints are extracted in {exact:,} of {len(extracted):,} checks."
        )
    nothing = empty["right empty"] + empty["fabricated"]
    if nothing:
        told.append(
            f"Of {nothing:,} empty results {empty['fabricated']:,} are answered with an item all the same."
        )
    something = empty["false empty"] + empty["not empty"]
    if something:
        told.append(f"Of {something:,} results with items {empty['false empty']:,} are told as empty.")
    return " ".join(told)


def _agreement(parts: SuiteParts, kind: str) -> tuple[Figure, ...]:
    return (
        Figure(f"{kind}_precision", "Precision", parts.mean(_precision), part_cohort(SUITE, "wrong_item")),
        Figure(f"{kind}_recall", "Recall", parts.mean(_recall)),
        Figure(f"{kind}_exact", "Exact", parts.mean(_exact)),
    )


def _items(parts: SuiteParts) -> tuple[Figure, ...]:
    return (
        Figure("filter_precision", "Precision", parts.mean(_precision), part_cohort(SUITE, "wrong_item")),
        Figure("filter_recall", "Recall", parts.mean(_recall), part_cohort(SUITE, "missed")),
        Figure(
            "no_invented_item", "No item outside the list", parts.mean(_known), part_cohort(SUITE, "invented")
        ),
    )


def _precision(detail: Mapping[str, Any]) -> float | None:
    return detail["n_both"] / detail["n_found"] if detail["n_found"] else None


def _recall(detail: Mapping[str, Any]) -> float | None:
    needed = detail.get("n_needed", detail["n_expected"])
    return min(1.0, detail["n_both"] / needed) if needed else None


def _exact(detail: Mapping[str, Any]) -> float:
    return float(detail["n_both"] == detail["n_found"] == detail["n_expected"])


def _known(detail: Mapping[str, Any]) -> float:
    return float(not detail["invented"])


def _item_note(parts: SuiteParts) -> str:
    estimated = sum(detail["from"] == "answer" for detail in parts.details)
    return ITEM_NOTE.format(f"{estimated:,}", f"{len(parts):,}")


def _fields(parts: SuiteParts) -> ResultTable:
    fields = Counter(name for detail in parts.details for name in detail["fields"])
    names = [name for name, _ in fields.most_common(MOST_ROWS)]
    rows: list[Mapping[str, Cell]] = [
        {"Constraint on": name, "Extracted": parts.mean(_extracted(name))} for name in names
    ]
    note = "Share of the questions with the constraint whose operator and value were extracted as expected."
    cohorts = tuple(part_cohort(SUITE, "field", name) for name in names)
    return ResultTable("By constraint", tuple(rows), note, cohorts)


def _extracted(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda detail: detail["fields"].get(name)


def _empty_table(empty: Counter[str]) -> ResultTable:
    rows: list[Mapping[str, Cell]] = [
        {"Result": title, "Checks": empty[key]} for key, title in EMPTY_TITLES.items() if sum(empty.values())
    ]
    cohorts = tuple(part_cohort(SUITE, "empty", key) for key in EMPTY_TITLES)
    return ResultTable(
        "Empty results", tuple(rows), "An item named where nothing is right is critical.", cohorts
    )


def _broken(parts: SuiteParts) -> Counter[str]:
    broken: Counter[str] = Counter()
    for detail in parts.details:
        broken.update({text: n for text, n in detail["violations"].items() if n})
    return broken
