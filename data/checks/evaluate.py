"""Evaluate the checks of samples, each by its suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
import pyarrow as pa

from data.checks.check import CheckedSample, CheckOutcome, Evaluate, RecordedCheck, recorded_outcome
from data.checks.safety import over_refusal_outcome, safety_outcome
from data.checks.tool_calls import tool_call_outcome
from metrics.diagnosis.check_kinds import suite_of

__all__ = ["EVALUATED", "SUITE_RULES", "evaluated_checks", "outcome_of", "with_evaluated_checks"]

# suite -> how its checks are decided; others by `recorded_outcome`
SUITE_RULES: Mapping[str, Evaluate] = {
    "over refusal": over_refusal_outcome,
    "safety": safety_outcome,
    "tool": tool_call_outcome,
}
EVALUATED = pa.list_(
    pa.struct(
        [
            ("name", pa.string()),
            ("kind", pa.string()),
            ("expected", pa.string()),
            ("actual", pa.string()),
            ("passed", pa.bool_()),
            ("suite", pa.string()),
            ("reason", pa.string()),
            ("detail", pa.string()),
        ]
    )
)


def outcome_of(check: Mapping[str, Any], sample: CheckedSample) -> tuple[str, CheckOutcome]:
    """Return the suite of a stored check, and what evaluating it finds."""
    name = str(check["name"])
    kind = check["kind"] or name
    suite = suite_of(kind)
    recorded = RecordedCheck(name, kind, _value(check["expected"]), _value(check["actual"]), check["passed"])
    rule = SUITE_RULES.get(suite)
    return suite, recorded_outcome(recorded) if rule is None else rule(recorded, sample)


def evaluated_checks(table: Any) -> Any:
    """Return the checks of an Arrow table of samples, evaluated: a list column of the type EVALUATED."""
    columns = {name: table[name] for name in table.column_names}
    rows: list[list[dict[str, Any]] | None] = [
        None if checks is None else [_row(check, CheckedSample(columns, row)) for check in checks]
        for row, checks in enumerate(_lists(table["checks"]))
    ]
    return pa.array(rows, EVALUATED)


def with_evaluated_checks(table: Any) -> Any:
    """Return an Arrow table of samples with its checks evaluated, each decided by its suite."""
    return table.set_column(table.column_names.index("checks"), "checks", evaluated_checks(table))


def _lists(column: Any) -> Iterable[list[dict[str, Any]] | None]:
    lists: list[list[dict[str, Any]] | None] = column.to_pylist()
    return lists


def _row(check: Mapping[str, Any], sample: CheckedSample) -> dict[str, Any]:
    suite, outcome = outcome_of(check, sample)
    return {
        **check,
        "passed": outcome.passed,
        "suite": suite,
        "reason": outcome.reason,
        "detail": orjson.dumps(dict(outcome.detail)).decode() if outcome.detail else None,
    }


def _value(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
