"""Cohorts of cases by what the rule of a check counted, such as the constraint that was not extracted."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.suites.registry import part_rows, part_title

PART_COHORTS: Mapping[str, Cohort] = {"part": Cohort(part_title, part_rows)}
