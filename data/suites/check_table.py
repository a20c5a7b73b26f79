"""The evaluated checks of a run as flat arrays, and what every suite shows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.sample_schema import Ragged, flags
from ragtriage.data.suites.check import stored_value
from ragtriage.data.suites.safety import Verdict
from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES, suite_title
from ragtriage.metrics.schema.metric import ratio
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source
from ragtriage.metrics.statistics.intervals import (
    Interval,
    hajek_mean,
    interval,
    intervals,
    mean_over_questions,
    question_means,
)


class CheckedRun(Protocol):
    """What suites read of a scored run of n samples and q questions."""

    samples_path: Path
    verdicts: Mapping[int, Verdict]  # what was said of attacks since the import, by row

    @property
    def n(self) -> int:
        """Number of samples."""

    @property
    def samples(self) -> StoredSamples:
        """The samples as recorded, read by row."""

    @property
    def question(self) -> IntArray:
        """(n,) index of each sample's question."""

    @property
    def repeats(self) -> IntArray:
        """(n,) repeat number of each sample."""

    @property
    def clusters(self) -> IntArray:
        """(q,) code of each question's cluster."""

    @property
    def question_weights(self) -> FloatArray | None:
        """(q,) how many calls each question stands for; None where all stand for as many."""

    @property
    def stage_features(self) -> dict[str, FloatArray]:
        """The features of the stage rules by name, each (n,)."""

    @property
    def sources(self) -> Mapping[str, tuple[Source, ...]]:
        """The sources of each metric in this run."""

    def values(self, metric: str) -> FloatArray:
        """Return a metric's values; all NaN where the run does not have it."""

    def auxiliary_table(self, name: str) -> Any:
        """Return an Arrow table of n rows stored with the scores, or None where the run has none."""


_TABLES: WeakKeyDictionary[CheckedRun, CheckTable] = WeakKeyDictionary()


@dataclass(frozen=True)
class Coded:
    """A text column of m checks as codes into its distinct values."""

    codes: IntArray  # (m,) index into values
    values: tuple[str, ...]  # the distinct texts, in the order of their first check

    def equal(self, text: str) -> BoolArray:
        """(m,) True where the text is this one."""
        if text not in self.values:
            return np.zeros(len(self.codes), dtype=np.bool_)
        return np.asarray(self.codes == self.values.index(text), dtype=np.bool_)

    def counts(self, rows: BoolArray, most: int) -> tuple[tuple[str, int], ...]:
        """Return the commonest texts among some checks with their counts, the commonest first."""
        tally = np.bincount(self.codes[rows], minlength=len(self.values))
        order = np.argsort(-tally, kind="stable")[:most]
        return tuple((self.values[at], int(tally[at])) for at in order if tally[at])


class CheckTable:
    """The m evaluated checks of a run.

    Attributes:
        sample: (m,) row of the sample that each check belongs to, ascending.
        passed: (m,) 1 passed, 0 failed, -1 not measured.
        suite: the suite of each.
        name: the name of each.
        kind: the kind of each as recorded; its name where none is.
        reason: why it failed or was not measured; "" where it passed.
    """

    def __init__(self, column: Any) -> None:
        """Flatten the list column `checks` of the type ragtriage.data.suites.registry.EVALUATED."""
        ragged = Ragged.of(column)
        self._entries = ragged
        self.sample: IntArray = ragged.sample.astype(np.int64)
        self.passed: NDArray[np.int8] = flags(ragged.field("passed"))
        self.suite = _coded(ragged.field("suite"))
        self.name = _coded(ragged.field("name"))
        self.reason = _coded(ragged.field("reason"))

    @cached_property
    def kind(self) -> Coded:
        """The kind of each check as recorded; its name where none is."""
        kinds = self._entries.field("kind").to_pylist()
        names = self._entries.field("name").to_pylist()
        return _coded(pa.array([kind or name for kind, name in zip(kinds, names, strict=True)], pa.string()))

    def __len__(self) -> int:
        """Return the number of checks."""
        return len(self.sample)

    @property
    def decided(self) -> BoolArray:
        """(m,) True where a check passed or failed."""
        return np.asarray(self.passed >= 0, dtype=np.bool_)

    @property
    def failed(self) -> BoolArray:
        """(m,) True where a check failed."""
        return np.asarray(self.passed == 0, dtype=np.bool_)

    def of(self, suite: str) -> BoolArray:
        """(m,) True for the checks of a suite, "" for all, "all" likewise."""
        return np.ones(len(self), dtype=np.bool_) if suite in ("", "all") else self.suite.equal(suite)

    def texts(self, field: str, checks: Sequence[int] | IntArray) -> list[str | None]:
        """Return a field of some checks as recorded: name, kind, expected, actual, reason or detail."""
        column: list[str | None] = self._entries.field(field).take(pa.array(checks, pa.int64())).to_pylist()
        return column

    def values(self, field: str, checks: Sequence[int] | IntArray) -> list[Any]:
        """Return expected or actual values, or details, as Python values; None where none is recorded."""
        return [stored_value(text) for text in self.texts(field, checks)]


def check_table(run: CheckedRun) -> CheckTable | None:
    """Return the evaluated checks of a run; None where it records none. Read once for each run."""
    kept = _TABLES.get(run)
    if kept is None:
        table = run.auxiliary_table("checks")
        if table is None:
            return None
        kept = _TABLES[run] = CheckTable(table["checks"])
    return kept if len(kept) else None


def _coded(column: Any) -> Coded:
    encoded = column.cast(pa.string()).fill_null("").dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Coded(codes, tuple(encoded.dictionary.to_pylist()))


MOST_REASONS = 8
MOST_NAMES = 40


def counts_of(findings: object) -> dict[str, int]:
    """Return the counts of a frozen dataclass by their names, which begin with n_."""
    return {name: value for name, value in vars(findings).items() if name.startswith("n_")}


@dataclass(frozen=True)
class NameSummary:
    """The checks of one name in a suite."""

    name: str  # of the checks
    n_checks: int  # how many there are
    n_decided: int  # how many passed or failed
    n_passed: int  # how many passed
    rate: Interval  # the share that passed, a mean over questions

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        counts = {**counts_of(self), "n_not_measured": self.n_checks - self.n_decided}
        return {"name": self.name, **counts, **rate_values(self.rate)}


@dataclass(frozen=True)
class SuiteSummary:
    """The checks of one suite."""

    key: str  # of the suite
    title: str  # of the suite
    n_checks: int  # how many checks there are
    n_samples: int  # samples that have one
    n_samples_decided: int  # samples of which one passed or failed
    n_samples_failed: int  # samples of which one failed
    n_decided: int  # how many checks passed or failed
    n_passed: int  # how many passed
    rate: Interval  # the share that passed, a mean over questions, repeats averaged first
    bounds: tuple[float, float]  # what it would be if every check without a verdict had failed, or passed
    reasons: tuple[tuple[str, int], ...]  # the commonest reasons for a failure, with their counts
    not_measured: tuple[tuple[str, int], ...]  # the commonest reasons for no verdict, with their counts
    names: tuple[NameSummary, ...]  # by name of the check, at most MOST_NAMES, the commonest first

    @property
    def n_failed(self) -> int:
        """How many checks failed."""
        return self.n_decided - self.n_passed

    @property
    def n_not_measured(self) -> int:
        """How many checks have no verdict; they are neither passes nor failures."""
        return self.n_checks - self.n_decided

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "suite": self.key,
            "title": self.title,
            **counts_of(self),
            "n_failed": self.n_failed,
            "n_not_measured": self.n_not_measured,
            **rate_values(self.rate),
            "if_undecided_failed": self.bounds[0],
            "if_undecided_passed": self.bounds[1],
            "reasons": [{"reason": reason, "n": n} for reason, n in self.reasons],
            "not_measured": [{"reason": reason, "n": n} for reason, n in self.not_measured],
            "checks": [name.to_dict() for name in self.names],
        }


def suite_summaries(run: CheckedRun) -> list[SuiteSummary]:
    """Return the suites of a run, the worst first; those with no verdict at all come last."""
    checks = check_table(run)
    if checks is None:
        return []
    summaries = [_summary(run, checks, key) for key in checks.suite.values]
    return sorted(summaries, key=_badness)


def _badness(summary: SuiteSummary) -> tuple[bool, bool, float, str]:
    """Order suites: a failure where one is too many, then by rate at best, then what has no verdict."""
    alarming = summary.key in CRITICAL_SUITES and summary.n_failed > 0
    return not summary.n_decided, not alarming, summary.bounds[1], summary.key


def _summary(run: CheckedRun, checks: CheckTable, key: str) -> SuiteSummary:
    mine = checks.of(key)
    decided, failed = mine & checks.decided, mine & checks.failed
    return SuiteSummary(
        key,
        suite_title(key),
        int(mine.sum()),
        len(np.unique(checks.sample[mine])),
        len(np.unique(checks.sample[decided])),
        len(np.unique(checks.sample[failed])),
        int(decided.sum()),
        int(decided.sum() - failed.sum()),
        rate_of(run, checks, mine),
        rate_bounds(run, checks, mine),
        checks.reason.counts(failed, MOST_REASONS),
        checks.reason.counts(mine & ~checks.decided, MOST_REASONS),
        _names(run, checks, mine),
    )


def _names(run: CheckedRun, checks: CheckTable, mine: BoolArray) -> tuple[NameSummary, ...]:
    totals = checks.name.counts(mine, MOST_NAMES)
    if not totals:
        return ()
    chosen = [mine & checks.name.equal(name) for name, _ in totals]
    matrix = np.array([passed_shares(run, checks, rows) for rows in chosen]).T
    known = np.isfinite(matrix).sum(axis=0).tolist()
    rates = intervals(matrix, run.clusters, known, [True] * len(totals), weights=run.question_weights)
    return tuple(
        NameSummary(
            name, n, int((rows & checks.decided).sum()), int((checks.passed[rows] == 1).sum()), rates[at]
        )
        for at, ((name, n), rows) in enumerate(zip(totals, chosen, strict=True))
    )


def passed_shares(run: CheckedRun, checks: CheckTable, chosen: BoolArray) -> FloatArray:
    """(q,) share of the chosen checks of a question that passed, repeats averaged; NaN where none is decided.

    (m,) `chosen` is True for the checks to count; those without a verdict never are.
    """
    counted = chosen & checks.decided
    return question_shares(run, checks.sample, counted & (checks.passed == 1), counted)


def question_shares(
    run: CheckedRun, sample: IntArray, hits: FloatArray | BoolArray, totals: FloatArray | BoolArray
) -> FloatArray:
    """(q,) hits over totals of a question's samples, each summed over its checks; NaN without a total."""
    sums, total = (np.bincount(sample, weights, minlength=run.n) for weights in (hits, totals))
    return question_means(ratio(sums, total), run.question)[0]


def pooled_share(run: CheckedRun, sample: IntArray, hits: FloatArray, totals: FloatArray) -> Interval:
    """Return all hits over all totals with a 95 % interval over questions or conversations.

    Args:
        run: the checked run.
        sample: (m,) row of the sample of each check.
        hits: (m,) counts, at most the totals.
        totals: (m,) counts, 0 where a check has none.
    """
    whole, right = totals.astype(np.int64), hits.astype(np.int64)
    values = np.repeat(np.tile([1.0, 0.0], len(sample)), np.stack([right, whole - right], axis=1).ravel())
    questions = np.repeat(run.question[sample], whole)
    weights = None if run.question_weights is None else run.question_weights[questions]
    share = interval(values, run.clusters[questions], len(values), binary=True, weights=weights)
    asked = len(np.unique(questions))
    return replace(share, n_scored=asked, n_applicable=asked)


def rate_bounds(run: CheckedRun, checks: CheckTable, chosen: BoolArray) -> tuple[float, float]:
    """Return the pass rate of chosen checks if all those without a verdict had failed, or passed."""
    lowest, highest = (
        hajek_mean(question_shares(run, checks.sample, chosen & passed, chosen), run.question_weights)
        for passed in (checks.passed == 1, checks.passed != 0)
    )
    return lowest, highest


def rate_of(run: CheckedRun, checks: CheckTable, chosen: BoolArray) -> Interval:
    """Return the share of the chosen checks that passed, as a mean over questions with a 95 % interval."""
    return mean_over_questions(passed_shares(run, checks, chosen), run.clusters, run.question_weights)


def rate_values(rate: Interval) -> dict[str, Any]:
    """Return a rate as JSON values; null where nothing is measured."""
    measured: Sequence[float | None] = [
        value if np.isfinite(value) else None for value in (rate.mean, rate.low, rate.high)
    ]
    return {
        "rate": measured[0],
        "low": measured[1],
        "high": measured[2],
        "n_questions": rate.n_scored,
        "method": rate.method,
    }


CheckState = Literal["failed", "passed", "not measured", ""]
LISTED = ["question_id", "repeat", "question"]
SHORT = 300  # characters of a question or a value
_CODES = {"failed": 0, "passed": 1, "not measured": -1}


@dataclass(frozen=True)
class CheckFilter:
    """Which checks to list."""

    suite: str = ""  # key of a suite, "" for all
    name: str = ""  # name of a check, "" for all
    reason: str = ""  # why it failed or was not measured, "" for all
    state: CheckState = "failed"  # "failed", "passed" or "not measured"; "" for all


@dataclass(frozen=True)
class CheckRow:
    """One check with its case."""

    row: int  # of its sample
    question_id: str  # of its sample
    repeat: int  # of its sample
    question: str  # shortened
    suite: str  # key of its suite
    name: str  # of the check
    kind: str  # as recorded
    expected: str  # the expected value as JSON, shortened; "" where none is recorded
    actual: str  # the actual value likewise
    state: CheckState  # "failed", "passed" or "not measured"
    reason: str  # why it failed or was not measured
    match: str = ""  # what its rule found in the answer, such as a forbidden word; "" for nothing to show

    @property
    def why(self) -> str:
        """The reason with what was found."""
        return f"{self.reason}: “{self.match}”" if self.match else self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; expected and actual stay JSON texts, as they may be cut."""
        return {name: value for name, value in asdict(self).items() if name != "row"}


@dataclass(frozen=True)
class CheckPage:
    """One page of checks."""

    rows: tuple[CheckRow, ...]  # the checks, in the order of their samples
    total: int  # checks on all pages
    page: int  # 1-based number of this page
    pages: int  # number of pages


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


def check_page(run: CheckedRun, chosen: CheckFilter, page: int = 1, size: int = 20) -> CheckPage:
    """Read one page of the checks that a filter keeps; a number beyond the end means the last page."""
    checks = check_table(run)
    if checks is None:
        return CheckPage((), 0, 1, 1)
    kept = np.flatnonzero(chosen_checks(checks, chosen))
    pages = max(1, -(-len(kept) // size))
    page = min(max(1, page), pages)
    shown = kept[(page - 1) * size : page * size]
    rows = checks.sample[shown].tolist()
    cases = run.samples.read(rows, LISTED) if rows else []
    fields = {
        name: checks.texts(name, shown) for name in ("suite", "name", "kind", "expected", "actual", "reason")
    }
    details = checks.values("detail", shown)
    fields["match"] = [detail.get("match") if isinstance(detail, dict) else None for detail in details]
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
        texts["match"] or "",
    )
