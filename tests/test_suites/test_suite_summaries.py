"""What every suite shows: counts, rate over questions, reasons; checks without a verdict are neither."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.suite_cohorts import check_cohort, suite_cohort
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import CheckFilter, check_page, check_table, suite_summaries

HOSTILE = "<b>a/b</b>: c%2F\u202e"


def _check(name: str, kind: str, expected: Any, actual: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "expected": expected, "actual": actual}


def _scored(store: RunStore) -> ScoredRun:
    """Four questions, the second asked twice; a router, a format and a hostile suite."""
    records: list[dict[str, Any]] = [
        {"question_id": "q1", "checks": [_check("route", "router", "a", "a"), _check("len", "format", 1, 1)]},
        {"question_id": "q2", "checks": [_check("route", "router", "a", "b")]},
        {"question_id": "q2", "repeat": 1, "checks": [_check("route", "router", "a", "a")]},
        {"question_id": "q3", "checks": [{"name": "route", "kind": "router", "expected": "b"}]},
        {"question_id": "q4", "checks": [_check(HOSTILE, HOSTILE, "x", "y")]},
    ]
    run = add_run(
        [{"question": "?", "answer": "a", **record} for record in records],
        "run",
        "p",
        str(store.workspace.root),
    )
    return store.scored(run)


def test_counts_and_rates_of_each_suite(workspace: RunStore) -> None:
    summaries = {summary.key: summary for summary in suite_summaries(_scored(workspace))}
    router = summaries["router"]
    assert (router.n_checks, router.n_samples, router.n_decided, router.n_passed) == (4, 4, 3, 2)
    assert (router.n_failed, router.n_not_measured) == (1, 1)
    assert router.rate.mean == pytest.approx((1 + 0.5) / 2)  # q1 passes, q2 in one of two repeats
    assert router.rate.n_scored == 2
    assert router.reasons == (("the actual value differs from the expected one", 1),)
    assert router.not_measured == (("no actual value is recorded", 1),)
    assert [(name.name, name.n_checks, name.n_passed) for name in router.names] == [("route", 4, 2)]
    assert summaries["format"].rate.mean == 1.0


def test_the_worst_suite_comes_first_and_an_unknown_kind_is_a_suite_of_its_own(workspace: RunStore) -> None:
    summaries = suite_summaries(_scored(workspace))
    assert [summary.key for summary in summaries][1:] == ["router", "format"]
    assert summaries[0].rate.mean == 0.0
    assert summaries[0].names[0].name == HOSTILE


def test_a_page_of_failing_checks_has_their_cases(workspace: RunStore) -> None:
    scored = _scored(workspace)
    page = check_page(scored, CheckFilter(suite="router"))
    (row,) = page.rows
    assert (row.question_id, row.repeat, row.expected, row.actual, row.state) == (
        "q2",
        0,
        '"a"',
        '"b"',
        "failed",
    )
    assert (page.total, page.pages) == (1, 1)
    assert check_page(scored, CheckFilter(suite="router", state="not measured")).rows[0].question_id == "q3"
    everything = check_page(scored, CheckFilter(state=""), page=99, size=4)
    assert (everything.page, everything.pages, everything.total, len(everything.rows)) == (2, 2, 6, 2)


def test_cohorts_of_a_suite_and_of_a_check_with_any_name(workspace: RunStore) -> None:
    scored = _scored(workspace)
    assert cohort_rows(scored, suite_cohort("router")).tolist() == [False, True, False, False, False]
    suite = next(
        summary.key for summary in suite_summaries(scored) if summary.key not in ("router", "format")
    )
    hostile = check_cohort(suite, HOSTILE)
    assert ":" not in hostile.removeprefix("check:")
    assert np.flatnonzero(cohort_rows(scored, hostile)).tolist() == [4]
    assert HOSTILE in cohort_title(hostile)
    assert not cohort_rows(scored, check_cohort("router", "no such check")).any()
    with pytest.raises(DataError, match="accepted"):
        cohort_rows(scored, "check:a/b/c/d")


def test_a_run_without_checks_has_no_suite(workspace: RunStore) -> None:
    scored = workspace.scored(add_run([{"question": "?"}], "run", "p", str(workspace.workspace.root)))
    assert check_table(scored) is None
    assert suite_summaries(scored) == []
    assert check_page(scored, CheckFilter()).rows == ()
