"""The checks of a suite with what their rule counted: figures over questions, and cohorts of their cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.summary import rate_values
from ragtriage.metrics.result_table import Cell, ResultTable
from ragtriage.metrics.schema.scores import BoolArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.question_means import question_means

_LONGEST = 1_000
_Matches = Callable[[Mapping[str, Any], str], bool]


@dataclass(frozen=True)
class Figure:
    """One number of a suite: a mean over questions.

    Attributes:
        key: of the number in JSON.
        title: on screen.
        share: the mean, its n and its interval.
        cohort: the cases that lower it; "" for none.
    """

    key: str
    title: str
    share: Interval
    cohort: str = ""


@dataclass(frozen=True)
class PartDetail:
    """What a suite tells beyond its pass rate; see ragtriage.data.suites.detail.

    Attributes:
        statement: what a person would say of it.
        tables: the most telling first.
        figures: its numbers.
        counts: its counts, JSON values.
    """

    statement: str
    tables: tuple[ResultTable, ...]
    figures: tuple[Figure, ...]
    counts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**self.counts, **{figure.key: rate_values(figure.share) for figure in self.figures}}


class SuiteParts:
    """The checks of one suite of a run that their rule could look into.

    Attributes:
        sample: (m,) row of the sample of each.
        passed: (m,) 1 passed, 0 failed, -1 not measured.
        details: what the rule counted for each.
    """

    def __init__(self, scored: ScoredRun, sample: IntArray, passed: IntArray, details: Sequence[Any]) -> None:
        self._scored = scored
        self.sample, self.passed, self.details = sample, passed, details

    def having(self, key: str, value: Any = None) -> SuiteParts:
        """Return the checks whose detail has a key, with a value where that is given."""
        chosen = [
            at
            for at, detail in enumerate(self.details)
            if key in detail and (value is None or detail[key] == value)
        ]
        return SuiteParts(
            self._scored, self.sample[chosen], self.passed[chosen], [self.details[at] for at in chosen]
        )

    def mean(
        self, value: Callable[[Mapping[str, Any]], float | None], bounds: tuple[float, float] = (0.0, 1.0)
    ) -> Interval:
        """Return the mean of a value over questions, repeats averaged first; None is no value."""
        found = [value(detail) for detail in self.details]
        values = np.array([np.nan if one is None else float(one) for one in found], dtype=np.float64)
        known = np.isfinite(values)
        total = np.bincount(self.sample[known], minlength=self._scored.n)
        sums = np.bincount(self.sample[known], values[known], minlength=self._scored.n)
        means = np.divide(sums, total, out=np.full(self._scored.n, np.nan), where=total > 0)
        by_question = question_means(means, self._scored.question)[0]
        measured = by_question[np.isfinite(by_question)]
        binary = bounds == (0.0, 1.0) and bool(np.isin(measured, (0.0, 1.0)).all())
        return interval(by_question, self._scored.clusters, len(measured), binary, bounds=bounds)

    def __len__(self) -> int:
        """Return the number of checks."""
        return len(self.details)


def suite_parts(scored: ScoredRun, suite: str) -> SuiteParts:
    """Return the checks of a suite whose rule counted something, measured or not."""
    checks = check_table(scored)
    if checks is None:
        empty = np.zeros(0, dtype=np.int64)
        return SuiteParts(scored, empty, empty, [])
    at = np.flatnonzero(checks.of(suite))
    details = checks.values("detail", at)
    kept = [place for place, detail in enumerate(details) if isinstance(detail, dict)]
    rows = at[kept]
    return SuiteParts(
        scored, checks.sample[rows], checks.passed[rows].astype(np.int64), [details[k] for k in kept]
    )


def figure_table(title: str, figures: Sequence[Figure], note: str = "") -> ResultTable:
    """Return figures as a table whose rows open their cases."""
    rows: list[Mapping[str, Cell]] = [{"Measure": one.title, "Mean": one.share} for one in figures]
    return ResultTable(title, tuple(rows), note, tuple(one.cohort for one in figures))


# key -> title with the value, and which details of a check match the value
_PARTS: Mapping[str, tuple[str, _Matches]] = {
    "field": ("constraint on “{}” not extracted", lambda d, v: d.get("fields", {}).get(v) is False),
    "breaks": ("an item breaks “{}”", lambda d, v: bool(d.get("violations", {}).get(v))),
    "empty": ("{}", lambda d, v: d.get("empty") == v),
    "invented": ("names an item outside the list", lambda d, _: bool(d.get("invented"))),
    "missed": ("misses a right item", lambda d, _: d.get("n_both", 0) < d.get("n_needed", 0)),
    "wrong_item": ("returns a wrong item", lambda d, _: d.get("n_both", 0) < d.get("n_found", 0)),
    "inversion": ("first out of order at place {}", lambda d, v: str(d.get("first_inversion")) == v),
    "gap": ("forgotten after {}", lambda d, v: d.get("gap") == v),
    "leak_at": (
        "a document of another account in the first {}",
        lambda d, v: d.get("first_rank") is not None and v.isdigit() and d["first_rank"] <= int(v),
    ),
    "told": ("tells what belongs to another account", lambda d, _: bool(d.get("told"))),
    "rule": ("breaks the rule {}", lambda d, v: d.get(v, {}).get("passed") is False),
    "language": (
        "answered in another language: {}",
        lambda d, v: f"{d.get('language', {}).get('expected')}>{d.get('language', {}).get('found')}" == v,
    ),
}
_FAILED_ONLY = {"gap"}


def part_cohort(suite: str, key: str, value: object = "") -> str:
    """Return the cohort of the cases whose checks of a suite have some part."""
    return f"part:{suite}/{key}/{quote(str(value), safe='')}"


def part_title(text: str) -> str:
    """Return the title of such a cohort.

    Raises:
        ValueError: there is none of that key.
    """
    _, key, value = _read(text)
    return _PARTS[key][0].format(value)


def part_rows(scored: ScoredRun, text: str) -> BoolArray:
    """(n,) True for the samples of such a cohort.

    Raises:
        ValueError: there is none of that key.
    """
    suite, key, value = _read(text)
    parts = suite_parts(scored, suite)
    matches = _PARTS[key][1]
    rows = np.zeros(scored.n, dtype=np.bool_)
    for sample, passed, detail in zip(parts.sample, parts.passed, parts.details, strict=True):
        if (passed == 0 or key not in _FAILED_ONLY) and matches(detail, value):
            rows[sample] = True
    return rows


def _read(text: str) -> tuple[str, str, str]:
    suite, _, rest = text.partition("/")
    key, _, value = rest.partition("/")
    if len(text) > _LONGEST or key not in _PARTS:
        raise ValueError(f"{text[:60]!r}; accepted: SUITE/KEY/VALUE with a key of {', '.join(_PARTS)}")
    return suite, key, unquote(value)
