"""Formats: each rule by itself, and the languages that differ."""

from collections.abc import Sequence

from ragtriage.dashboard.suites.view import Failing, SuiteView, figure_table
from ragtriage.data.suites.format import FORMAT_SUITE, KEY, FormatFindings
from ragtriage.data.suites.suite import part_cohort
from ragtriage.data.text.language import language_name
from ragtriage.metrics.result_table import ResultTable

MOST_ROWS = 10


def _statement(findings: FormatFindings) -> str:
    worst = min(findings.rules, key=lambda rule: rule.share.mean if rule.share.n_scored else 2.0)
    return f"Most often broken: {worst.title[0].lower()}{worst.title[1:]}." if worst.share.mean < 1 else ""


def _tables(findings: FormatFindings) -> Sequence[ResultTable]:
    note = "Languages are detected offline (fastText and the script); too short answers are not measured."
    pairs = list(findings.languages.items())[:MOST_ROWS]
    return (
        figure_table("By rule", findings.rules, note if pairs else ""),
        ResultTable(
            "Wrong languages",
            tuple(
                {"Expected": language_name(expected), "Found": language_name(actual), "Checks": n}
                for (expected, actual), n in pairs
            ),
            "",
            tuple(part_cohort(KEY, "language", f"{expected}>{actual}") for (expected, actual), _ in pairs),
        ),
    )


VIEW = SuiteView(
    FORMAT_SUITE, Failing("answer", "has the wrong format", "have the wrong format"), _statement, _tables
)
