"""The suites that tell more than their pass rate; see ragtriage.data.suites.detail for how to add one."""

from __future__ import annotations

from collections.abc import Callable

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.counted.filters import filter_detail
from ragtriage.data.suites.counted.formats import format_detail
from ragtriage.data.suites.counted.isolation import isolation_detail
from ragtriage.data.suites.counted.memory import memory_detail
from ragtriage.data.suites.counted.orders import order_detail
from ragtriage.data.suites.detail import SuiteDetail
from ragtriage.data.suites.router_detail import router_detail
from ragtriage.data.suites.safety import safety_detail
from ragtriage.data.suites.tools.detail import tool_suite

DETAILS: dict[str, Callable[[ScoredRun], SuiteDetail | None]] = {  # by suite, in alphabetical order
    "filter": filter_detail,
    "format": format_detail,
    "isolation": isolation_detail,
    "memory": memory_detail,
    "order": order_detail,
    "router": router_detail,
    "safety": safety_detail,
    "tool": tool_suite,
}


def suite_detail(scored: ScoredRun, suite: str) -> SuiteDetail | None:
    """Return what a suite of a run tells beyond its pass rate; None where it has no more to tell."""
    detail = DETAILS.get(suite)
    return None if detail is None else detail(scored)
