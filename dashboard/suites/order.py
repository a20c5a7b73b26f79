"""Order: how often it is right, Kendall's tau, and where the first item is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.suites.view import Failing, SuiteView, figure_table
from ragtriage.data.suites.order import KEY, ORDER_SUITE, OrderFindings
from ragtriage.data.suites.suite import part_cohort
from ragtriage.metrics.result_table import ResultTable

MOST_ROWS = 10
NOTE = "Items with equal keys may come in any order. Tau-b needs two items with different keys."


def _statement(findings: OrderFindings) -> str:
    n = findings.n_ordered
    return f"{n - findings.n_out_of_order:,} of {n:,} lists are in the expected order."


def _tables(findings: OrderFindings) -> Sequence[ResultTable]:
    places = sorted(findings.inversions)[:MOST_ROWS]
    return (
        figure_table("Order of what is returned", (findings.in_order, findings.tau), NOTE),
        ResultTable(
            "First inversion",
            tuple({"First out of order at place": at, "Checks": findings.inversions[at]} for at in places),
            "",
            tuple(part_cohort(KEY, "inversion", at) for at in places),
        ),
    )


VIEW = SuiteView(
    ORDER_SUITE,
    Failing("list", "is in the wrong order", "are in the wrong order"),
    _statement,
    _tables,
)
