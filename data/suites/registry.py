"""The check suites: a new suite is its module and its line here. A suite without a line compares values."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import numpy as np

from ragtriage.data.suites.check_table import CheckedRun
from ragtriage.data.suites.filter import FILTER_SUITE
from ragtriage.data.suites.format import FORMAT_SUITE
from ragtriage.data.suites.isolation import ISOLATION_SUITE
from ragtriage.data.suites.memory import MEMORY_SUITE
from ragtriage.data.suites.order import ORDER_SUITE
from ragtriage.data.suites.router import ROUTER_SUITE
from ragtriage.data.suites.safety_findings import OVER_REFUSAL_SUITE, SAFETY_SUITE
from ragtriage.data.suites.suite import Part, Suite, suite_checks
from ragtriage.data.suites.tool.findings import TOOL_SUITE
from ragtriage.metrics.schema.scores import BoolArray

SUITES: dict[str, Suite[Any]] = {
    suite.key: suite
    for suite in (
        FILTER_SUITE,
        FORMAT_SUITE,
        ISOLATION_SUITE,
        MEMORY_SUITE,
        ORDER_SUITE,
        OVER_REFUSAL_SUITE,
        ROUTER_SUITE,
        SAFETY_SUITE,
        TOOL_SUITE,
    )
}
LONGEST_COHORT = 2_000


def suite_named(key: str) -> Suite[Any]:
    """Return a suite; one of its own, whose checks compare two values, where none has this key."""
    return SUITES.get(key) or Suite(key)


def part_title(text: str) -> str:
    """Return the title of a cohort of `part_cohort`.

    Raises:
        ValueError: there is none of that key.
    """
    _, part, values = _read(text)
    if "{}" in part.title:
        return part.title.format(next(iter(values), ""))
    return f"{part.title}{': ' if any(values) else ''}{', '.join(filter(None, values))}"


def part_rows(run: CheckedRun, text: str) -> BoolArray:
    """(n,) True for the samples of such a cohort.

    Raises:
        ValueError: there is none of that key.
    """
    suite, part, values = _read(text)
    checks = suite_checks(run, suite)
    rows = np.zeros(run.n, dtype=np.bool_)
    for sample, passed, detail in zip(checks.sample, checks.passed, checks.details, strict=True):
        if (passed == 0 or not part.failed_only) and part.matches(detail, values):
            rows[sample] = True
    return rows


def _read(text: str) -> tuple[str, Part, list[str]]:
    suite, _, rest = text.partition("/")
    key, *values = rest.split("/")
    parts = suite_named(suite).parts
    if len(text) > LONGEST_COHORT or key not in parts:
        named = {suite: suite_named(suite)} if parts else SUITES
        accepted = ", ".join(f"{name}/{part}" for name, each in named.items() for part in each.parts)
        raise ValueError(f"{text[:60]!r}; accepted: one of {accepted}, with its values after slashes")
    while values and not values[-1]:
        values.pop()
    return suite, parts[key], [unquote(value) for value in values]
