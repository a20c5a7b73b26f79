"""Cohorts of cases by their tool calls: `calls:invented`, `calls:missing/book_flight`."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.suites.tools.cohorts import cohort_title, matching_calls

TOOL_COHORTS: Mapping[str, Cohort] = {"calls": Cohort(cohort_title, matching_calls)}
