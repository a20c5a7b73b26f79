"""The details that the rule of tool calls left on the checks of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import quote, unquote
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.suites.check_table import CheckedRun, check_table
from ragtriage.data.suites.suite import Suite
from ragtriage.data.suites.summary import rate_values
from ragtriage.data.suites.tool.repeats import Agreement, PassHatK, agreements, pass_hat_ks
from ragtriage.data.suites.tool.rule import KEY, tool_call_outcome
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.question_means import question_means

_CHECKS: WeakKeyDictionary[CheckedRun, CallChecks | None] = WeakKeyDictionary()


@dataclass(frozen=True)
class CallChecks:
    """The m checks of the suite Tools.

    Attributes:
        sample: (m,) row of the sample of each.
        passed: (m,) 1 passed, 0 failed, -1 not measured.
        names: name of each.
        details: what ragtriage.data.suites.tool.rule counted; {} where it counted nothing.
    """

    sample: IntArray
    passed: NDArray[np.int8]
    names: list[str]
    details: list[dict[str, Any]]

    def counts(self, key: str) -> FloatArray:
        """(m,) a count of the details, the length where it is a list; NaN where a check does not have it."""
        values = (detail.get(key) for detail in self.details)
        return np.array(
            [
                np.nan if value is None else len(value) if isinstance(value, list) else float(value)
                for value in values
            ]
        )


def call_checks(run: CheckedRun) -> CallChecks | None:
    """Return the checks of the suite Tools; None where a run has none. Read once for each run."""
    if run not in _CHECKS:
        _CHECKS[run] = _read(run)
    return _CHECKS[run]


def _read(run: CheckedRun) -> CallChecks | None:
    checks = check_table(run)
    if checks is None or KEY not in checks.suite.values:
        return None
    mine = np.flatnonzero(checks.of(KEY))
    details = [value if isinstance(value, dict) else {} for value in checks.values("detail", mine)]
    names = [checks.name.values[code] for code in checks.name.codes[mine]]
    return CallChecks(checks.sample[mine], checks.passed[mine], names, details)


@dataclass(frozen=True)
class CallMeasure:
    """One measure.

    Attributes:
        key: of the measure in JSON.
        title: on screen.
        hits: of `total`, counted over all checks.
        total: what is counted.
        share: hits / total of each sample, as a mean over questions.
        cohort: the cases that lower it.
    """

    key: str
    title: str
    hits: int
    total: int
    share: Interval
    cohort: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"measure": self.key, "hits": self.hits, "total": self.total, **rate_values(self.share)}


def call_measures(run: CheckedRun, checks: CallChecks) -> list[CallMeasure]:
    """Return the measures that some check of a run allows."""
    measures = [_measure(run, checks, *row) for row in (*_choice_rows(checks), *_content_rows(checks))]
    return [measure for measure in measures if measure.total]


_Row = tuple[str, str, FloatArray, FloatArray, str]  # key, title, hits, totals, cohort


def _choice_rows(checks: CallChecks) -> list[_Row]:
    """Return what is measured of the calls: which were made, with which arguments, in which order."""
    wanted, called, hits = checks.counts("expected"), checks.counts("called"), checks.counts("hits")
    missing, needless = checks.counts("missing"), checks.counts("needless")
    exact = _where(np.isfinite(missing), (missing == 0) & ~(needless > 0))
    one = np.ones(len(checks.details))
    called_if_wanted = _where(np.isfinite(checks.counts("wants_call")), called > 0)
    arguments = checks.counts("right"), checks.counts("pairs")
    fits = checks.counts("schema_fits"), checks.counts("schema_calls")
    return [
        ("selection", "Exactly the expected tools called", exact, one, "selection"),
        ("recall", "Expected calls that were made", hits, wanted, "missing"),
        ("precision", "Calls made that were expected", hits, called, "needless"),
        ("arguments", "Calls with right arguments", *arguments, "arguments"),
        ("schema", "Calls whose arguments fit the schema", *fits, "arguments"),
        ("irrelevance", "No call where none is right", _where(wanted == 0, called == 0), one, "unwanted"),
        ("relevance", "A call where one is right", called_if_wanted, one, "silent"),
        ("order", "Calls in the expected order", checks.counts("in_order"), one, "order"),
        ("common_sequence", "Expected calls in order", checks.counts("common"), wanted, "order"),
    ]


def _content_rows(checks: CallChecks) -> list[_Row]:
    """Return what is measured of the values in the calls and of their results."""
    values, identifiers = checks.counts("values"), checks.counts("identifiers")
    invented, results = checks.counts("invented_identifiers"), checks.counts("results")
    found = identifiers - invented
    return [
        ("identifiers_found", "Identifiers found in what was read", found, identifiers, "invented"),
        (
            "values_found",
            "Other values found in what was read",
            values - identifiers - (checks.counts("not_found") - invented),
            values - identifiers,
            "inferred",
        ),
        (
            "results",
            "Results that are no error",
            results - checks.counts("error_results"),
            results,
            "error_results",
        ),
        (
            "filled_results",
            "Results that hold something",
            results - checks.counts("empty_results"),
            results,
            "empty_results",
        ),
    ]


def _where(applies: Any, values: Any) -> FloatArray:
    return np.where(applies, np.asarray(values, dtype=np.float64), np.nan)


def _measure(
    run: CheckedRun,
    checks: CallChecks,
    key: str,
    title: str,
    hits: FloatArray,
    totals: FloatArray,
    cohort: str,
) -> CallMeasure:
    counted = np.isfinite(hits) & np.isfinite(totals)
    kept, of = np.where(counted, hits, 0.0), np.where(counted, totals, 0.0)
    sums = np.bincount(checks.sample, weights=kept, minlength=run.n)
    total = np.bincount(checks.sample, weights=of, minlength=run.n)
    shares = np.divide(sums, total, out=np.full(run.n, np.nan), where=total > 0)
    share = share_over_questions(run, shares)
    return CallMeasure(key, title, int(kept.sum()), int(of.sum()), share, call_cohort(cohort))


def share_over_questions(run: CheckedRun, shares: FloatArray) -> Interval:
    """Return the mean over questions of (n,) shares of samples, repeats averaged first, with its interval."""
    return mean_over_questions(question_means(shares, run.question)[0], run.clusters)


Detail = Mapping[str, Any]
Matches = Callable[[Detail, Sequence[str]], bool]
LONGEST = 2000
MOST_ROWS = 30  # of a list of findings


def _has_entry(detail: Detail, key: str, fields: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether an entry of a list has the wanted fields; those that are "" do not matter."""
    return any(
        all(not text or str(entry.get(field)) == text for field, text in zip(fields, wanted, strict=False))
        for entry in detail.get(key, ())
    )


def _invented(detail: Detail, wanted: Sequence[str]) -> bool:
    return _has_entry(detail, "invented", ("kind", "call", "argument", "value"), ["identifier", *wanted])


def _inferred(detail: Detail, wanted: Sequence[str]) -> bool:
    entries = [entry for entry in detail.get("invented", ()) if entry["kind"] != "identifier"]
    return _has_entry({"invented": entries}, "invented", ("kind", "call", "argument"), wanted)


def _named(key: str) -> Matches:
    return lambda detail, wanted: bool(detail.get(key)) and (not wanted or wanted[0] in detail[key])


# key -> title, and which details match the rest of the parts
COHORTS: Mapping[str, tuple[str, Matches]] = {
    "selection": (
        "calls other tools than expected",
        lambda detail, _: bool(detail.get("missing") or detail.get("needless")),
    ),
    "missing": ("misses an expected call", _named("missing")),
    "needless": ("makes a needless call", _named("needless")),
    "either": (
        "misses a call or makes a needless one",
        lambda detail, wanted: _named("missing")(detail, wanted) or _named("needless")(detail, wanted),
    ),
    "arguments": (
        "calls a tool with wrong arguments",
        lambda detail, wanted: _has_entry(detail, "errors", ("error", "call", "argument"), wanted),
    ),
    "unwanted": (
        "calls a tool where no call is right",
        lambda detail, _: detail.get("expected") == 0 and bool(detail.get("called")),
    ),
    "silent": (
        "calls no tool where a call is right",
        lambda detail, _: detail.get("wants_call") is True and not detail.get("called"),
    ),
    "order": ("calls tools in another order", lambda detail, _: detail.get("in_order") is False),
    "invented": ("invents an identifier", _invented),
    "inferred": ("gives an argument a value that nothing read holds", _inferred),
    "error_results": ("gets an error from a tool", lambda detail, _: bool(detail.get("error_results"))),
    "empty_results": (
        "gets an empty result from a tool",
        lambda detail, _: bool(detail.get("empty_results")),
    ),
    "unreadable": ("has calls or schemas that cannot be read", lambda detail, _: bool(detail.get("fault"))),
}


def call_cohort(key: str, *parts: str) -> str:
    """Return the cohort of the cases with some property of their calls."""
    return f"calls:{'/'.join([key, *(quote(part, safe='') for part in parts)])}"


def cohort_title(value: str) -> str:
    """Return what the cases of a cohort have in common.

    Raises:
        ValueError: the value names none.
    """
    key, parts = _split(value)
    shown = [part for part in parts if part]
    return f"{COHORTS[key][0]}{': ' if shown else ''}{', '.join(shown)}"


def matching_calls(run: CheckedRun, value: str) -> BoolArray:
    """(n,) True for the samples of a cohort.

    Raises:
        ValueError: the value names none.
    """
    key, parts = _split(value)
    matching = np.zeros(run.n, dtype=np.bool_)
    checks = call_checks(run)
    if checks is not None:
        matches = COHORTS[key][1]
        chosen = [place for place, detail in enumerate(checks.details) if matches(detail, parts)]
        matching[checks.sample[chosen]] = True
    return matching


def _split(value: str) -> tuple[str, list[str]]:
    key, *parts = value[: LONGEST + 1].split("/")
    if key not in COHORTS or len(parts) > 3 or len(value) > LONGEST:
        raise ValueError(
            f"{value[:60]!r}; accepted: one of {', '.join(COHORTS)}, with its parts after slashes"
        )
    return key, [unquote(part) for part in parts]


@dataclass(frozen=True)
class CallTally:
    """What checks of tool calls have in common, such as one error of one argument.

    Attributes:
        entry: of the first check, as its rule counted it.
        n: how often it occurs.
        cases: samples in which it does.
        cohort: of these.
        first_case: question id of the first; "" where it is not shown.
    """

    entry: Mapping[str, Any]
    n: int
    cases: int
    cohort: str
    first_case: str = ""


@dataclass(frozen=True)
class ToolMiss:
    """A tool that was not called though expected, or called though not: how often, in how many cases."""

    tool: str
    missing: int
    needless: int
    cases: int


@dataclass(frozen=True)
class ToolFindings:
    """What the tool calls of a run amount to; lists have at most MOST_ROWS entries.

    Attributes:
        measures: those that its checks allow.
        repeats: pass^k, where questions are repeated.
        agreements: verdicts on calls against recorded outcomes.
        errors: of arguments by type, tool and argument, the commonest first.
        n_errors: kind of error -> how many.
        invented: identifiers that nothing read holds, by tool, argument and value.
        n_invented: how many different ones.
        invented_identifiers: how often any occurs.
        inferred: other values that nothing read holds, by kind, tool and argument.
        misses: tools called wrongly, or not.
        faults: why calls or schemas cannot be read, a sentence each.
        totals: count of the details -> its sum: "pairs", "schema_calls", "undecided", "missing", "needless",
            "fault".
        only_writes: whether only the calls of tools that write are compared.
        made: calls made of which nothing says whether they are right, as those of traces.
        failed: those of them that failed.
    """

    measures: tuple[CallMeasure, ...]
    repeats: tuple[PassHatK, ...]
    agreements: tuple[Agreement, ...]
    errors: tuple[CallTally, ...]
    n_errors: Mapping[str, int]
    invented: tuple[CallTally, ...]
    n_invented: int
    invented_identifiers: int
    inferred: tuple[CallTally, ...]
    misses: tuple[ToolMiss, ...]
    faults: tuple[str, ...]
    totals: Mapping[str, int]
    only_writes: bool
    made: int
    failed: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "only_writes": self.only_writes,
            "measures": [measure.to_dict() for measure in self.measures],
            "invented_identifiers": self.invented_identifiers,
            "calls_without_expected": self.made,
            "failed_calls_without_expected": self.failed,
            "pass_hat_k": [entry.to_dict() for entry in self.repeats],
            "outcomes": [asdict(entry) for entry in self.agreements],
        }


def _findings(run: CheckedRun) -> ToolFindings | None:
    """Return what the checks of tool calls of a run amount to; None where it compares no calls."""
    checks = call_checks(run)
    if checks is None or not any(checks.details):
        return None
    errors = _tally(checks, "errors", lambda entry: (entry["error"], entry["call"], entry["argument"]))
    n_errors = Counter[str]()
    for n, _, entry in errors.values():
        n_errors[str(entry["error"])] += n
    invented = _tally(checks, "invented", _identifier)
    unjudged = [detail for detail in checks.details if "made" in detail]
    counted = ("pairs", "schema_calls", "undecided", "missing", "needless", "invented_identifiers")
    totals = {key: int(np.nansum(checks.counts(key))) for key in counted}
    faults = [str(detail["fault"]) for detail in checks.details if detail.get("fault")]
    return ToolFindings(
        tuple(call_measures(run, checks)),
        tuple(pass_hat_ks(run)),
        tuple(agreements(run)),
        _listed(errors, "arguments", ("error", "call", "argument")),
        dict(n_errors.most_common()),
        _with_first_case(run, invented, _listed(invented, "invented", ("call", "argument", "value"))),
        len(invented),
        totals["invented_identifiers"],
        _listed(_tally(checks, "invented", _other_value), "inferred", ("kind", "call", "argument")),
        _misses(checks),
        tuple(faults[:MOST_ROWS]),
        {**totals, "fault": len(faults)},
        any(detail.get("writes") for detail in checks.details),
        sum(detail["made"] for detail in unjudged),
        sum(detail.get("error_results", 0) for detail in unjudged),
    )


def _identifier(entry: Mapping[str, Any]) -> Hashable:
    return (entry["call"], entry["argument"], entry["value"]) if entry["kind"] == "identifier" else None


def _other_value(entry: Mapping[str, Any]) -> Hashable:
    return (entry["kind"], entry["call"], entry["argument"]) if entry["kind"] != "identifier" else None


_Tally = dict[Hashable, tuple[int, set[int], Mapping[str, Any]]]


def _tally(checks: CallChecks, key: str, group: Callable[[Mapping[str, Any]], Hashable]) -> _Tally:
    """Return group -> number of entries, their samples, and the first of them, the commonest first."""
    tally: _Tally = {}
    for sample, detail in zip(checks.sample.tolist(), checks.details, strict=True):
        for entry in detail.get(key, ()):
            name = group(entry)
            if name is not None:
                n, samples, first = tally.get(name, (0, set(), entry))
                samples.add(sample)
                tally[name] = (n + 1, samples, first)
    return dict(sorted(tally.items(), key=lambda item: -item[1][0]))


def _listed(tally: _Tally, cohort: str, fields: Sequence[str]) -> tuple[CallTally, ...]:
    return tuple(
        CallTally(entry, n, len(samples), call_cohort(cohort, *(str(entry[field]) for field in fields)))
        for n, samples, entry in list(tally.values())[:MOST_ROWS]
    )


def _with_first_case(run: CheckedRun, tally: _Tally, listed: tuple[CallTally, ...]) -> tuple[CallTally, ...]:
    rows = [min(samples) for _, samples, _ in list(tally.values())[:MOST_ROWS]]
    cases = run.samples.read(rows, ["question_id"]) if rows else []
    return tuple(
        replace(entry, first_case=str(case["question_id"])) for entry, case in zip(listed, cases, strict=True)
    )


def _misses(checks: CallChecks) -> tuple[ToolMiss, ...]:
    missing, needless, cases = Counter[str](), Counter[str](), defaultdict[str, set[int]](set)
    for sample, detail in zip(checks.sample.tolist(), checks.details, strict=True):
        for names, key in ((missing, "missing"), (needless, "needless")):
            for name in detail.get(key, ()):
                names[name] += 1
                cases[name].add(sample)
    tools = [name for name, _ in (missing + needless).most_common(MOST_ROWS)]
    return tuple(ToolMiss(name, missing[name], needless[name], len(cases[name])) for name in tools)


TOOL_SUITE = Suite(KEY, _findings, tool_call_outcome)
