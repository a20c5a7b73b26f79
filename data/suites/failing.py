"""The checks of a run, filtered and read a page at a time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import CheckTable, check_table
from ragtriage.metrics.schema.scores import BoolArray

CheckState = Literal["failed", "passed", "not measured", ""]
LISTED = ["question_id", "repeat", "question"]
SHORT = 300  # characters of a question or a value
_CODES = {"failed": 0, "passed": 1, "not measured": -1}


@dataclass(frozen=True)
class CheckFilter:
    """Which checks to list.

    Attributes:
        suite: key of a suite, "" for all.
        name: name of a check, "" for all.
        reason: why it failed or was not measured, "" for all.
        state: "failed", "passed" or "not measured"; "" for all.
    """

    suite: str = ""
    name: str = ""
    reason: str = ""
    state: CheckState = "failed"


@dataclass(frozen=True)
class CheckRow:
    """One check with its case.

    Attributes:
        row: of its sample.
        question_id: of its sample.
        repeat: of its sample.
        question: shortened.
        suite: key of its suite.
        name: of the check.
        kind: as recorded.
        expected: the expected value as JSON, shortened; "" where none is recorded.
        actual: the actual value likewise.
        state: "failed", "passed" or "not measured".
        reason: why it failed or was not measured.
    """

    row: int
    question_id: str
    repeat: int
    question: str
    suite: str
    name: str
    kind: str
    expected: str
    actual: str
    state: CheckState
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; expected and actual stay JSON texts, as they may be cut."""
        return {name: value for name, value in asdict(self).items() if name != "row"}


@dataclass(frozen=True)
class CheckPage:
    """One page of checks.

    Attributes:
        rows: the checks, in the order of their samples.
        total: checks on all pages.
        page: 1-based number of this page.
        pages: number of pages.
    """

    rows: tuple[CheckRow, ...]
    total: int
    page: int
    pages: int


def chosen_checks(checks: CheckTable, chosen: CheckFilter) -> BoolArray:
    """(m,) True for the checks that a filter keeps."""
    keep = checks.of(chosen.suite)
    if chosen.name:
        keep = keep & checks.name.equal(chosen.name)
    if chosen.reason:
        keep = keep & checks.reason.equal(chosen.reason)
    if chosen.state:
        keep = keep & (checks.passed == _CODES[chosen.state])
    return np.asarray(keep, dtype=np.bool_)


def check_page(scored: ScoredRun, chosen: CheckFilter, page: int = 1, size: int = 20) -> CheckPage:
    """Read one page of the checks that a filter keeps; a number beyond the end means the last page."""
    checks = check_table(scored)
    if checks is None:
        return CheckPage((), 0, 1, 1)
    kept = np.flatnonzero(chosen_checks(checks, chosen))
    pages = max(1, -(-len(kept) // size))
    page = min(max(1, page), pages)
    shown = kept[(page - 1) * size : page * size]
    rows = checks.sample[shown].tolist()
    cases = scored.samples.read(rows, LISTED) if rows else []
    fields = {
        name: checks.texts(name, shown) for name in ("suite", "name", "kind", "expected", "actual", "reason")
    }
    return CheckPage(
        tuple(
            _row(case, row, int(checks.passed[check]), {name: texts[at] for name, texts in fields.items()})
            for at, (case, row, check) in enumerate(zip(cases, rows, shown, strict=True))
        ),
        len(kept),
        page,
        pages,
    )


def _row(case: dict[str, Any], row: int, code: int, texts: dict[str, str | None]) -> CheckRow:
    state: CheckState = "not measured" if code < 0 else "passed" if code else "failed"
    name = texts["name"] or ""
    return CheckRow(
        row,
        str(case["question_id"]),
        int(case["repeat"]),
        str(case["question"])[:SHORT],
        texts["suite"] or "",
        name,
        texts["kind"] or name,
        (texts["expected"] or "")[:SHORT],
        (texts["actual"] or "")[:SHORT],
        state,
        texts["reason"] or "",
    )
