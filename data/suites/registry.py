"""The check suites, each a module and a line here, and the evaluation of checks, each by its suite.

A suite without a line compares values.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np
import orjson
import pyarrow as pa

from ragtriage.data.store.sample_models import as_json
from ragtriage.data.suites.check import (
    MALFORMED,
    CheckedSample,
    CheckOutcome,
    MalformedCheckError,
    RecordedCheck,
    stored_value,
)
from ragtriage.data.suites.check_table import CheckedRun
from ragtriage.data.suites.filter import FILTER_SUITE
from ragtriage.data.suites.format import FORMAT_SUITE
from ragtriage.data.suites.isolation import (
    ISOLATION_SUITE,
    AccountChecks,
    account_checks,
    apart_from_incomparable,
    rows_with_accounts,
)
from ragtriage.data.suites.memory import MEMORY_SUITE
from ragtriage.data.suites.order import ORDER_SUITE
from ragtriage.data.suites.router import ROUTER_SUITE
from ragtriage.data.suites.safety import SAFETY, Verdict
from ragtriage.data.suites.safety_findings import OVER_REFUSAL_SUITE, SAFETY_SUITE
from ragtriage.data.suites.suite import Part, Suite, suite_checks
from ragtriage.data.suites.tool.findings import TOOL_SUITE
from ragtriage.metrics.diagnosis.check_kinds import suite_of
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


LONGEST_ALIKE = 500  # characters of a check that is kept to be compared with later ones
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


def outcome_of(
    check: Mapping[str, Any], sample: CheckedSample, verdict: Verdict | None = None
) -> tuple[str, CheckOutcome]:
    """Return the suite of a stored check, and what evaluating it finds.

    `verdict` is what people and the judge said of the sample's attack since the import.
    """
    name = str(check["name"])
    kind = check["kind"] or name
    suite = suite_of(check.get("suite") or kind)
    expected = stored_value(check["expected"])
    labels = verdict.on(expected) if verdict is not None and suite == SAFETY else {}
    recorded = RecordedCheck(name, kind, expected, stored_value(check["actual"]), check["passed"], labels)
    try:
        return suite, suite_named(suite).rule(recorded, sample)
    except MalformedCheckError as error:  # stored before imports looked for it
        reason = "" if recorded.passed else MALFORMED
        return suite, CheckOutcome(recorded.passed, reason, {"why": str(error)})


def evaluated_checks(table: Any) -> Any:
    """Return the checks of an Arrow table of samples, evaluated: a list column of the type EVALUATED."""
    columns = {name: _Column(table[name]) for name in table.column_names}
    alike: dict[tuple[Any, ...], dict[str, Any]] = {}
    rows: list[list[dict[str, Any]] | None] = [
        None if checks is None else [_row(check, CheckedSample(columns, row), alike) for check in checks]
        for row, checks in enumerate(table["checks"].to_pylist())
    ]
    by_row = {row: account_checks(CheckedSample(columns, row)) for row in rows_with_accounts(table)}
    for row, checks in apart_from_incomparable(by_row).items():
        rows[row] = _with_account_checks(rows[row] or [], checks) or rows[row]
    return pa.array(rows, EVALUATED)


class _Column:
    """A column of samples, read as Python values: texts all at once, as rules ask for them often."""

    def __init__(self, column: Any) -> None:
        self._column, self._texts = column, pa.types.is_string(column.type)
        self._rows: Any = None

    def __getitem__(self, row: int) -> Any:
        if self._rows is None:
            self._rows = self._column.to_pylist() if self._texts else self._column.combine_chunks()
        return self._rows[row]


def with_evaluated_checks(table: Any) -> Any:
    """Return an Arrow table of samples with its checks evaluated, each decided by its suite."""
    return table.set_column(table.column_names.index("checks"), "checks", evaluated_checks(table))


def _row(
    check: Mapping[str, Any], sample: CheckedSample, alike: dict[tuple[Any, ...], dict[str, Any]]
) -> dict[str, Any]:
    """Return a check evaluated.

    `alike` has evaluated checks whose rule read nothing of their sample: an equal check has the same outcome.
    """
    key = tuple(check.values())
    if key in alike:
        return alike[key]
    suite, outcome = outcome_of(check, sample)
    row = evaluated(check, suite, outcome)
    length = sum(len(value) for value in key if isinstance(value, str))
    if not sample.was_read and length <= LONGEST_ALIKE:
        alike[key] = row
    return row


def _with_account_checks(rows: list[dict[str, Any]], checks: AccountChecks) -> list[dict[str, Any]]:
    """Return the checks of a sample with those that its accounts make, unless checks of that name stand."""
    taken = {row["name"] for row in rows}
    untaken = [(check, outcome) for check, outcome in checks if check.name not in taken]
    return rows + [evaluated(_stored(check), suite_of(check.kind), outcome) for check, outcome in untaken]


def _stored(check: RecordedCheck) -> dict[str, Any]:
    texts = {
        name: None if value is None else _json(value)
        for name, value in (("expected", check.expected), ("actual", check.actual))
    }
    return {"name": check.name, "kind": check.kind, **texts}


def evaluated(check: Mapping[str, Any], suite: str, outcome: CheckOutcome) -> dict[str, Any]:
    """Return a check with what evaluating it found, an entry of EVALUATED."""
    return {
        **check,
        "passed": outcome.passed,
        "suite": suite,
        "reason": outcome.reason,
        "detail": _json(dict(outcome.detail)) if outcome.detail else None,
    }


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # half of a surrogate pair, a number of more than 64 bits
        return as_json(value)


def check_problems(sample: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield field, what is wrong, and what would be accepted, for each malformed check of a sample.

    The sample is as ragtriage.data.store.parsed_run.normalise returns it.
    """
    for at, check in enumerate(sample["checks"] or ()):
        kind = check["kind"] or check["name"]
        expected, actual = (stored_value(check[name]) for name in ("expected", "actual"))
        try:
            suite_named(suite_of(check.get("suite") or kind)).refuse(
                RecordedCheck(check["name"], kind, expected, actual, check["passed"])
            )
        except MalformedCheckError as error:
            what = f"question_id {sample['question_id']!r}: {error.what}"
            yield f"checks[{at}].{error.field}", what, error.accepted
