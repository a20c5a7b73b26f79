"""What the tool calls of a run amount to: measures, errors, invented values, pass^k; their cohorts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import comb
from typing import Any

import numpy as np

from ragtriage.data.suites.check_table import CheckedRun, CheckTable, check_table, pooled_share, rate_values
from ragtriage.data.suites.suite import Figure, Part, Suite, SuiteChecks, part_cohort, suite_checks
from ragtriage.data.suites.tool.rule import KEY, tool_call_outcome
from ragtriage.metrics.schema.scores import BoolArray, FloatArray
from ragtriage.metrics.statistics.intervals import Interval, interval

MOST_K = 8
MOST_NAMES = 6
OUTCOME = {"outcome", "reward", "task", "goal"}  # words of kinds of checks that say whether a task succeeded


@dataclass(frozen=True)
class PassHatK:
    """The chance that k repeats all pass."""

    check: str  # name of the checks
    k: int  # repeats
    rate: Interval  # mean over the questions with k repeats or more

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"check": self.check, "k": self.k, **rate_values(self.rate)}


@dataclass(frozen=True)
class Agreement:
    """How the verdict on calls and a recorded outcome go together, in samples with both."""

    outcome: str  # name of the checks of the outcome
    both: int  # calls right and outcome reached
    calls_only: int  # calls right alone
    outcome_only: int  # outcome reached alone
    neither: int  # neither


def pass_hat_ks(run: CheckedRun) -> list[PassHatK]:
    """Return pass^k for each name of check that is repeated: of tool calls, and of a recorded outcome."""
    checks = check_table(run)
    if checks is None:
        return []
    return [entry for name, chosen in _repeated(checks) for entry in _of_name(run, checks, name, chosen)]


def _repeated(checks: CheckTable) -> list[tuple[str, BoolArray]]:
    tools, outcomes = checks.of(KEY), _outcomes(checks)
    return [
        (name, part & checks.name.equal(name))
        for part in (outcomes, tools)
        for name, _ in checks.name.counts(part, MOST_NAMES)
    ]


def _outcomes(checks: CheckTable) -> BoolArray:
    suites = [suite for suite in checks.suite.values if OUTCOME & set(suite.split()) and suite != KEY]
    return np.isin(checks.suite.codes, [checks.suite.values.index(suite) for suite in suites])


def _of_name(run: CheckedRun, checks: CheckTable, name: str, chosen: BoolArray) -> list[PassHatK]:
    """Return C(c, k) / C(n, k) as a mean over questions, for each k up to the most repeats.

    A sample passes if all its checks of the name do: two calls of a tool in one trace are not repeats.
    """
    verdicts = _verdicts(run, checks, chosen)
    decided = verdicts >= 0
    question, size = run.question[decided], len(run.clusters)
    n = np.bincount(question, minlength=size)
    won = np.bincount(question, weights=verdicts[decided], minlength=size).astype(np.int64)
    most = min(int(n.max(initial=0)), MOST_K)
    if most < 2:
        return []
    rows = []
    for k in range(1, most + 1):
        shares = np.array(
            [comb(int(c), k) / comb(int(m), k) if m >= k else np.nan for c, m in zip(won, n, strict=True)]
        )
        finite = shares[np.isfinite(shares)]
        binary, weights = bool(np.isin(finite, (0.0, 1.0)).all()), run.question_weights
        rate = interval(shares, run.clusters, len(finite), binary, weights=weights)
        rows.append(PassHatK(name, k, rate))
    return rows


def agreements(run: CheckedRun) -> list[Agreement]:
    """Return how the verdict on calls goes together with each recorded outcome of the same samples."""
    checks = check_table(run)
    if checks is None:
        return []
    calls = _verdicts(run, checks, checks.of(KEY))
    outcomes = _outcomes(checks)
    rows = []
    for name, _ in checks.name.counts(outcomes, MOST_NAMES):
        reached = _verdicts(run, checks, outcomes & checks.name.equal(name))
        pairs = [int(((calls == right) & (reached == won)).sum()) for right in (1, 0) for won in (1, 0)]
        if sum(pairs):
            rows.append(Agreement(name, *pairs))
    return rows


def _verdicts(run: CheckedRun, checks: CheckTable, chosen: BoolArray) -> Any:
    """(n,) 1 where all chosen checks of a sample passed, 0 where one failed, -1 where none is decided."""
    decided = chosen & checks.decided
    total = np.bincount(checks.sample[decided], minlength=run.n)
    failed = np.bincount(checks.sample[decided & checks.failed], minlength=run.n)
    return np.where(total == 0, -1, (failed == 0).astype(np.int64))


@dataclass(frozen=True)
class CallMeasure(Figure):
    """One measure: hits / total over all checks."""

    hits: int = 0
    total: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"measure": self.key, "hits": self.hits, "total": self.total, **rate_values(self.share)}


def call_measures(run: CheckedRun, checks: SuiteChecks) -> list[CallMeasure]:
    """Return the measures that some check of a run allows."""
    measures = [_measure(run, checks, *row) for row in (*_choice_rows(checks), *_content_rows(checks))]
    return [measure for measure in measures if measure.total]


_Row = tuple[str, str, FloatArray, FloatArray, str]  # key, title, hits, totals, cohort


def _choice_rows(checks: SuiteChecks) -> list[_Row]:
    """Return what is measured of the calls: which were made, with which arguments, in which order."""
    wanted, called, hits = checks.counts("expected"), checks.counts("called"), checks.counts("hits")
    missing, needless = checks.counts("missing"), checks.counts("needless")
    exact = _where(np.isfinite(missing), (missing == 0) & ~(needless > 0))
    ones = np.ones(len(checks.details))
    called_if_wanted = _where(np.isfinite(checks.counts("wants_call")), called > 0)
    arguments = checks.counts("right"), checks.counts("pairs")
    fits = checks.counts("schema_fits"), checks.counts("schema_calls")
    return [
        ("selection", "Exactly the expected tools called", exact, ones, "selection"),
        ("recall", "Expected calls that were made", hits, wanted, "missing"),
        ("precision", "Calls made that were expected", hits, called, "needless"),
        ("arguments", "Calls with right arguments", *arguments, "arguments"),
        ("schema", "Calls whose arguments fit the schema", *fits, "arguments"),
        ("irrelevance", "No call where none is right", _where(wanted == 0, called == 0), ones, "unwanted"),
        ("relevance", "A call where one is right", called_if_wanted, ones, "silent"),
        ("order", "Calls in the expected order", checks.counts("in_order"), ones, "order"),
        ("common_sequence", "Expected calls in order", checks.counts("common"), wanted, "order"),
    ]


def _content_rows(checks: SuiteChecks) -> list[_Row]:
    """Return what is measured of the values in the calls and of their results."""
    values, identifiers = checks.counts("values"), checks.counts("identifiers")
    invented, results = checks.counts("invented_identifiers"), checks.counts("results")
    known = identifiers - invented
    return [
        ("identifiers_found", "Identifiers found in what was read", known, identifiers, "invented"),
        (
            "values_found",
            "Other values found in what was read",
            values - identifiers - (checks.counts("not_found") - invented),
            values - identifiers,
            "inferred",
        ),
        (
            "results",
            "Results that are not errors",
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
    checks: SuiteChecks,
    key: str,
    title: str,
    hits: FloatArray,
    totals: FloatArray,
    cohort: str,
) -> CallMeasure:
    counted = np.isfinite(hits) & np.isfinite(totals)
    kept, of = np.where(counted, hits, 0.0), np.where(counted, totals, 0.0)
    share = pooled_share(run, checks.sample, kept, of)
    return CallMeasure(key, title, share, part_cohort(KEY, cohort), hits=int(kept.sum()), total=int(of.sum()))


Detail = Mapping[str, Any]
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


def _named(key: str) -> Callable[[Detail, Sequence[str]], bool]:
    return lambda detail, wanted: bool(detail.get(key)) and (not wanted or wanted[0] in detail[key])


@dataclass(frozen=True)
class CallTally:
    """What checks of tool calls have in common, such as one error of one argument."""

    entry: Mapping[str, Any]  # of the first check, as its rule counted it
    n: int  # how often it occurs
    cases: int  # samples in which it does
    cohort: str  # of these
    first_case: str = ""  # question id of the first; "" where it is not shown


@dataclass(frozen=True)
class ToolMiss:
    """A tool that was not called though expected, or called though not: how often, in how many cases."""

    tool: str
    missing: int
    needless: int
    cases: int


@dataclass(frozen=True)
class ToolFindings:
    """What the tool calls of a run amount to; lists have at most MOST_ROWS entries."""

    measures: tuple[CallMeasure, ...]  # those that its checks allow
    repeats: tuple[PassHatK, ...]  # pass^k, where questions are repeated
    agreements: tuple[Agreement, ...]  # verdicts on calls against recorded outcomes
    errors: tuple[CallTally, ...]  # of arguments by type, tool and argument, the commonest first
    n_errors: Mapping[str, int]  # kind of error -> how many
    invented: tuple[CallTally, ...]  # identifiers that nothing read holds, by tool, argument and value
    n_invented: int  # how many different ones
    invented_identifiers: int  # how often any occurs
    inferred: tuple[CallTally, ...]  # other values that nothing read holds, by kind, tool and argument
    misses: tuple[ToolMiss, ...]  # tools called wrongly, or not
    faults: tuple[str, ...]  # why calls or schemas cannot be read, a sentence each
    # count of the details -> its sum: "pairs", "schema_calls", "undecided", "missing", "needless",
    # "fault"
    totals: Mapping[str, int]
    only_writes: bool  # whether only the calls of tools that write are compared
    made: int  # calls made of which nothing says whether they are right, as those of traces
    failed: int  # those of them that failed

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
    checks = suite_checks(run, KEY)
    if not any(checks.details):
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


def _tally(checks: SuiteChecks, key: str, group: Callable[[Mapping[str, Any]], Hashable]) -> _Tally:
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
        CallTally(entry, n, len(samples), part_cohort(KEY, cohort, *(entry[field] for field in fields)))
        for n, samples, entry in list(tally.values())[:MOST_ROWS]
    )


def _with_first_case(run: CheckedRun, tally: _Tally, listed: tuple[CallTally, ...]) -> tuple[CallTally, ...]:
    rows = [min(samples) for _, samples, _ in list(tally.values())[:MOST_ROWS]]
    cases = run.samples.read(rows, ["question_id"]) if rows else []
    return tuple(
        replace(entry, first_case=str(case["question_id"])) for entry, case in zip(listed, cases, strict=True)
    )


def _misses(checks: SuiteChecks) -> tuple[ToolMiss, ...]:
    missing, needless, cases = Counter[str](), Counter[str](), defaultdict[str, set[int]](set)
    for sample, detail in zip(checks.sample.tolist(), checks.details, strict=True):
        for names, key in ((missing, "missing"), (needless, "needless")):
            for name in detail.get(key, ()):
                names[name] += 1
                cases[name].add(sample)
    tools = [name for name, _ in (missing + needless).most_common(MOST_ROWS)]
    return tuple(ToolMiss(name, missing[name], needless[name], len(cases[name])) for name in tools)


_PARTS: Mapping[str, Part] = {
    "selection": Part(
        "calls other tools than expected",
        lambda detail, _: bool(detail.get("missing") or detail.get("needless")),
    ),
    "missing": Part("misses an expected call", _named("missing")),
    "needless": Part("makes a needless call", _named("needless")),
    "either": Part(
        "misses a call or makes a needless one",
        lambda detail, wanted: _named("missing")(detail, wanted) or _named("needless")(detail, wanted),
    ),
    "arguments": Part(
        "calls a tool with wrong arguments",
        lambda detail, wanted: _has_entry(detail, "errors", ("error", "call", "argument"), wanted),
    ),
    "unwanted": Part(
        "calls a tool where no call is right",
        lambda detail, _: detail.get("expected") == 0 and bool(detail.get("called")),
    ),
    "silent": Part(
        "calls no tool where a call is right",
        lambda detail, _: detail.get("wants_call") is True and not detail.get("called"),
    ),
    "order": Part("calls tools in another order", lambda detail, _: detail.get("in_order") is False),
    "invented": Part("invents an identifier", _invented),
    "inferred": Part("gives an argument a value that nothing read holds", _inferred),
    "error_results": Part("gets an error from a tool", lambda detail, _: bool(detail.get("error_results"))),
    "empty_results": Part(
        "gets an empty result from a tool", lambda detail, _: bool(detail.get("empty_results"))
    ),
    "unreadable": Part(
        "has calls or schemas that cannot be read", lambda detail, _: bool(detail.get("fault"))
    ),
}
TOOL_SUITE = Suite(KEY, _findings, tool_call_outcome, parts=_PARTS)
