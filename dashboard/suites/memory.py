"""Memory: recall by the age of what was said, within N days, and by rank."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.suites.view import Failing, SuiteView, figure_table
from ragtriage.data.suites.memory import MEMORY_SUITE, MemoryFindings
from ragtriage.metrics.result_table import ResultTable


def _statement(findings: MemoryFindings) -> str:
    n = findings.n_decided
    return f"{findings.n_recalled:,} of {n:,} earlier turns were recalled." if n else ""


def _tables(findings: MemoryFindings) -> Sequence[ResultTable]:
    note = "Age: days from the turn to the question."
    return (
        figure_table("By age", findings.by_gap, note, "Age", "Recalled"),
        figure_table("Within N days", findings.within, "", "Within", "Recalled"),
        figure_table("Recall by rank", findings.recall),
    )


VIEW = SuiteView(
    MEMORY_SUITE, Failing("earlier turn", "was not recalled", "were not recalled"), _statement, _tables
)
