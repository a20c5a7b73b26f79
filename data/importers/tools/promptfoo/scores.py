"""What the graders of promptfoo say of a result: scores by metric, and checks.

A grader that crashed is written as a score of 0 with the error as its reason: that is a failed score here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragtriage.data.importers.formats.tool_rows import Row
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.records.shapes import mapping, objects, unquoted_number

CRASHED = re.compile(
    r"\s*(?:Error running|Failed to|Could not|API error|No output|Error:|Remote \w+ grading failed)",
    re.IGNORECASE,
)
# Graders that are metrics, also where the assertion does not name one.
METRICS = {
    "context-faithfulness": "faithfulness",
    "answer-relevance": "answer_relevancy",
    "context-recall": "context_recall",
    "context-relevance": "context_relevance",
}


def scores_and_checks(row: Row, failed: bool) -> Row:
    """Return the named scores and, as checks, the assertions that name no metric and the outcome of all."""
    grading = mapping(row.get("gradingResult"))
    by_name: dict[str, list[Row]] = {}
    checks: list[Row] = []
    for result in objects(grading.get("componentResults")):
        assertion = mapping(result.get("assertion"))
        kind = assertion.get("type") if isinstance(assertion.get("type"), str) else None
        metric = assertion.get("metric") or METRICS.get(kind or "")
        if isinstance(metric, str):
            by_name.setdefault(metric, []).append(result)
            continue
        checks.append(_check(kind, result))
    for name, value in mapping(row.get("namedScores")).items():
        by_name.setdefault(str(name), [{"score": value, "reason": grading.get("reason"), "alone": True}])
    scores: dict[str, Row] = {}
    for name, results in by_name.items():
        scores.setdefault(metric_name(name)[0], _score(results))
    success = row.get("success")
    if isinstance(success, bool) and not failed:
        overall = {"name": "overall", "kind": "all assertions", "expected": None}
        checks.append(overall | {"actual": row.get("score"), "passed": success})
    return ({"scores": scores} if scores else {}) | ({"checks": checks} if checks else {})


def _check(kind: str | None, result: Row) -> Row:
    """Return the check of an assertion; one whose grader crashed has neither passed nor failed."""
    expected, passed = mapping(result.get("assertion")).get("value"), result.get("pass")
    name, crashed = kind or "assertion", _crashed(result)
    return {
        "name": f"{name}: {shortened(expected)}" if isinstance(expected, str) else name,
        "kind": kind,
        "expected": None if crashed else expected,  # why it crashed is no value to compare with
        "actual": result.get("reason"),
        "passed": passed if isinstance(passed, bool) and not crashed else None,
    }


def _score(results: Sequence[Row]) -> Row:
    """Return the mean of the graders of one metric that did not crash, by their weights."""
    total = weights = 0.0
    for result in results:
        value = unquoted_number(result.get("score"))
        weight = mapping(result.get("assertion")).get("weight", 1)
        if not isinstance(value, int | float) or _crashed(result):
            continue
        share = float(weight) if isinstance(weight, int | float) and weight > 0 else 1.0
        total, weights = total + float(value) * share, weights + share
    crash = next((result for result in results if _crashed(result)), None)
    reason = (crash if crash is not None and not weights else results[0]).get("reason")
    only_graded = reason if crash is not None or not results[0].get("alone") else None
    text = None if only_graded is None else str(only_graded)
    return {
        "value": total / weights if weights else None,
        "reason": text if weights else (text or "no score").strip().partition("\n")[0],
    }


def _crashed(result: Row) -> bool:
    score, reason = unquoted_number(result.get("score")), result.get("reason")
    return (score == 0 or score is None) and isinstance(reason, str) and bool(CRASHED.match(reason))


def shortened(text: str) -> str:
    """Return a prompt or an expected value as a name of it: one line of at most 40 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."
