"""The views of the check suites: a new suite is its module and its line here."""

from dataclasses import dataclass
from typing import Any

from ragtriage.dashboard.suites import format as format_suite
from ragtriage.dashboard.suites import items, router, safety, tool
from ragtriage.dashboard.suites.view import SuiteChart, SuiteView, tables_of
from ragtriage.data.suites.check_table import CheckedRun
from ragtriage.data.suites.suite import SuiteFindings
from ragtriage.metrics.result_table import ResultTable

VIEWS: dict[str, SuiteView[Any]] = {
    view.suite.key: view
    for view in (
        items.FILTER_VIEW,
        format_suite.VIEW,
        items.ISOLATION_VIEW,
        items.MEMORY_VIEW,
        items.ORDER_VIEW,
        router.VIEW,
        safety.VIEW,
        safety.OVER_REFUSAL_VIEW,
        tool.VIEW,
    )
}


@dataclass(frozen=True)
class ShownSuite:
    """What a suite of a run shows beyond its pass rate."""

    findings: SuiteFindings  # what its checks amount to
    statement: str  # what a person would say of them; "" for nothing
    tables: tuple[ResultTable, ...]  # with rows, the most telling first
    chart: SuiteChart | None  # None for none

    def to_dict(self) -> dict[str, Any]:
        """Return statement and numbers as JSON values."""
        return {"statement": self.statement, **self.findings.to_dict()}


def shown_suite(run: CheckedRun, key: str) -> ShownSuite | None:
    """Return what a suite of a run shows; None where it has nothing beyond its pass rate."""
    view = VIEWS.get(key)
    findings = None if view is None else view.suite.findings(run)
    if view is None or findings is None:
        return None
    return ShownSuite(findings, view.statement(findings), tables_of(view, findings), view.chart(findings))
