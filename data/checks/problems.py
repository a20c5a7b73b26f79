"""What is wrong with the checks of a sample before it is stored, for the sentences of an import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ragtriage.data.checks.check import RecordedCheck, stored_value
from ragtriage.data.checks.constraints import constraints_of, is_constraints
from ragtriage.data.checks.filters import read_filter
from ragtriage.data.checks.formats import read_format
from ragtriage.data.checks.isolation import read_isolation
from ragtriage.data.checks.malformed import MalformedCheckError
from ragtriage.data.checks.memory import read_memory
from ragtriage.data.checks.orders import read_order
from ragtriage.data.checks.safety import read_safety
from ragtriage.metrics.diagnosis.check_kinds import suite_of


def check_problems(sample: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield field, what is wrong, and what would be accepted, for each malformed check of a sample.

    Args:
        sample: as ragtriage.data.store.sample_validation.normalise returns it.
    """
    for at, check in enumerate(sample["checks"] or ()):
        kind = check["kind"] or check["name"]
        read = _READERS.get(suite_of(kind))
        if read is None:
            continue
        expected, actual = (stored_value(check[name]) for name in ("expected", "actual"))
        try:
            read(RecordedCheck(check["name"], kind, expected, actual, check["passed"]))
        except MalformedCheckError as error:
            what = f"question_id {sample['question_id']!r}: {error.what}"
            yield f"checks[{at}].{error.field}", what, error.accepted


def _read_filter(check: RecordedCheck) -> None:
    read = read_filter(check)
    if isinstance(read, tuple) and check.actual is not None and is_constraints(check.actual):
        constraints_of(check.actual, "actual")


_READERS: Mapping[str, Callable[[RecordedCheck], object]] = {
    "filter": _read_filter,
    "format": read_format,
    "isolation": read_isolation,
    "memory": read_memory,
    "order": read_order,
    "safety": read_safety,
}
