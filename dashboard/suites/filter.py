"""Filters: constraints as extracted, items as returned, and what empty results became."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.suites.view import Failing, SuiteView, figure_table
from ragtriage.data.suites.filter import FILTER_SUITE, KEY, FilterFindings
from ragtriage.data.suites.suite import part_cohort
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import ResultTable

MOST_ROWS = 20
EMPTY_TITLES = {
    "right empty": "Nothing is right, and nothing is named",
    "fabricated": "Nothing is right, and an item is named: fabricated",
    "false empty": "Items are right, and none is named: false empty",
    "not empty": "Items are right, and some are named",
}


def _statement(findings: FilterFindings) -> str:
    sentences, empty, n = [], findings.empty, findings.n_constraint_checks
    if n:
        sentences.append(
            f"Exactly the expected constraints are extracted in {findings.n_exact:,} of {n:,} checks."
        )
    invented, missed = empty.get("fabricated", 0), empty.get("false empty", 0)
    if nothing := empty.get("right empty", 0) + invented:
        sentences.append(f"{invented:,} of {count(nothing, 'empty result')} were answered with an item.")
    if something := missed + empty.get("not empty", 0):
        reported = (
            f"{missed:,} of {count(something, 'non-empty result')} were"
            if missed
            else "No non-empty result was"
        )
        sentences.append(f"{reported} reported as empty.")
    return " ".join(sentences)


def _tables(findings: FilterFindings) -> Sequence[ResultTable]:
    from_answer, n = findings.n_from_answer, findings.n_item_checks
    item_note = (
        "Precision: returned items that satisfy every constraint / returned. Recall: satisfying items "
        f"returned / satisfying. Undefined where nothing is returned, or right. {from_answer:,} of {n:,} "
        "lists were read from the answer by name, an estimate; the others are recorded."
    )
    broken = sorted(findings.broken.items(), key=lambda item: -item[1])[:MOST_ROWS]
    return (
        figure_table("Extracted against expected constraints", findings.extracted),
        figure_table(
            "By constraint",
            findings.by_field,
            "Share of the questions with the constraint whose operator and value were extracted as expected.",
            "Constraint on",
            "Extracted",
        ),
        figure_table("Returned against satisfying items", findings.returned, item_note),
        ResultTable(
            "Empty results",
            tuple(
                {"Result": title, "Checks": findings.empty.get(key, 0)}
                for key, title in EMPTY_TITLES.items()
                if findings.empty
            ),
            "An item named where nothing is right is critical.",
            tuple(part_cohort(KEY, "empty", key) for key in EMPTY_TITLES),
        ),
        ResultTable(
            "Violations",
            tuple({"Constraint": text, "Items that break it": n} for text, n in broken),
            "Returned items, counted over all checks.",
            tuple(part_cohort(KEY, "breaks", text) for text, _ in broken),
        ),
    )


VIEW = SuiteView(
    FILTER_SUITE, Failing("case", "used a wrong filter", "used a wrong filter"), _statement, _tables
)
