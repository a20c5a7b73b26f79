"""What the suite format tells: each rule by itself, and the languages that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ragtriage.data.checks.formats import RULES
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.counted.figures import (
    Figure,
    PartDetail,
    SuiteParts,
    figure_table,
    part_cohort,
    suite_parts,
)
from ragtriage.data.text.language import language_name
from ragtriage.metrics.result_table import Cell, ResultTable

SUITE = "format"
TITLES = {
    "regex": "Matches the pattern",
    "json_schema": "Conforms to the JSON schema",
    "min_chars": "Has enough characters",
    "max_chars": "Has no more characters than allowed",
    "min_words": "Has enough words",
    "max_words": "Has no more words than allowed",
    "language": "Is in the expected language",
}


def format_detail(scored: ScoredRun) -> PartDetail | None:
    """Return what the format checks of a run amount to; None where none has a rule of ours."""
    parts = suite_parts(scored, SUITE)
    figures = tuple(
        Figure(rule, TITLES[rule], parts.mean(_held(rule)), part_cohort(SUITE, "rule", rule))
        for rule in RULES
        if any(rule in detail for detail in parts.details)
    )
    if not figures:
        return None
    worst = min(figures, key=lambda figure: figure.share.mean if figure.share.n_scored else 2.0)
    statement = (
        f"Most often broken: {worst.title[0].lower()}{worst.title[1:]}." if worst.share.mean < 1 else ""
    )
    languages = _languages(parts)
    note = (
        "Languages are told offline by fastText's model and by script; an answer too short is not measured."
    )
    tables = (figure_table("By rule", figures, note if languages else ""), _language_table(languages))
    counts = {"languages": [{"expected": e, "found": f, "n": n} for (e, f), n in languages.most_common()]}
    return PartDetail(statement, tuple(table for table in tables if table.rows), figures, counts)


def _held(rule: str) -> Callable[[Mapping[str, Any]], float | None]:
    def held(detail: Mapping[str, Any]) -> float | None:
        passed = detail.get(rule, {}).get("passed")
        return None if passed is None else float(passed)

    return held


def _languages(parts: SuiteParts) -> Counter[tuple[str, str]]:
    return Counter(
        (str(found["expected"]), str(found["found"]))
        for detail in parts.details
        if (found := detail.get("language")) is not None and found["passed"] is False
    )


def _language_table(languages: Counter[tuple[str, str]]) -> ResultTable:
    common = languages.most_common(10)
    rows: list[Mapping[str, Cell]] = [
        {"Expected": language_name(expected), "Found": language_name(found), "Checks": n}
        for (expected, found), n in common
    ]
    cohorts = tuple(part_cohort(SUITE, "language", f"{expected}>{found}") for (expected, found), _ in common)
    return ResultTable("Wrong languages", tuple(rows), "", cohorts)
