"""The tables of the suite Tools: measures, errors of arguments, invented values, wrong selections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.tools.calls import CallChecks
from ragtriage.data.suites.tools.cohorts import call_cohort
from ragtriage.data.suites.tools.measures import CallMeasure
from ragtriage.data.suites.tools.repeats import Agreement, PassHatK
from ragtriage.metrics.result_table import Cell, ResultTable

MOST_ROWS = 30
ERRORS = {
    "missing": "missing",
    "unexpected": "unexpected",
    "type": "wrong type",
    "value": "wrong value",
    "malformed": "not readable",
}
Tally = dict[Hashable, tuple[int, set[int], Mapping[str, Any]]]


def measure_table(measures: Sequence[CallMeasure], writes: bool) -> ResultTable:
    """Return the measures, each with its share over questions and its counts."""
    compared = (
        "Only calls of tools that write are compared, reads need not match."
        if writes
        else "Every call is compared; to leave out reads, say which tools write: readOnlyHint or writes in "
        "their schema, or the tag write_tools."
    )
    if all(one.key != "selection" for one in measures):
        compared = "No expected calls are recorded: which were right is not measured."
    note = f"Computed. Share: mean over questions, 95 % interval; count: over all checks. {compared}"
    rows: list[dict[str, Cell]] = [
        {"Measure": one.title, "Share": one.share, "Count": f"{one.hits:,} of {one.total:,}"}
        for one in measures
    ]
    return ResultTable("Calls", tuple(rows), note, tuple(one.cohort for one in measures))


def error_table(checks: CallChecks) -> ResultTable | None:
    """Return the errors of arguments by type, tool and argument, the commonest first."""
    tally = _tally(checks, "errors", lambda entry: (entry["error"], entry["call"], entry["argument"]))
    if not tally:
        return None
    shown = _commonest(tally)
    rows = [
        {
            "Error": ERRORS.get(str(entry["error"]), str(entry["error"])),
            "Tool": entry["call"],
            "Argument": entry["argument"],
            "Errors": n,
            "Cases": len(samples),
            "Given": entry.get("value", ""),
            "Accepted": entry.get("accepted", ""),
        }
        for _, (n, samples, entry) in shown
    ]
    totals = Counter[str]()
    for n, _, entry in tally.values():
        totals[ERRORS.get(str(entry["error"]), str(entry["error"]))] += n
    by_type = ", ".join(f"{n:,} {kind}" for kind, n in totals.most_common())
    pairs, held = (
        int(sum(detail.get(key, 0) for detail in checks.details)) for key in ("pairs", "schema_calls")
    )
    among = [f"{pairs:,} expected calls that were made"] * (pairs > 0 or not held)
    among += [f"{_counted(held, 'call')} held against the schema of the tool"] * (held > 0)
    note = (
        f"{by_type}; in {' and '.join(among)}. By the rules of the Berkeley Function "
        "Calling Leaderboard; given and accepted: of the first case."
    )
    cohorts = tuple(
        call_cohort("arguments", entry["error"], entry["call"], entry["argument"])
        for _, (_, _, entry) in shown
    )
    return ResultTable("Errors of arguments", tuple(rows), note, cohorts)


def invented_table(scored: ScoredRun, checks: CallChecks) -> ResultTable | None:
    """Return the identifiers that nothing read holds: value, argument, tool, case."""
    tally = _tally(
        checks,
        "invented",
        lambda entry: (
            (entry["call"], entry["argument"], entry["value"]) if entry["kind"] == "identifier" else None
        ),
    )
    if not tally:
        return None
    shown = _commonest(tally)
    first = scored.samples.read([min(samples) for _, (_, samples, _) in shown], ["question_id"])
    rows = [
        {
            "Value": entry["value"],
            "Argument": entry["argument"],
            "Tool": entry["call"],
            "Calls": n,
            "Cases": len(samples),
            "First case": str(case["question_id"]),
        }
        for (_, (n, samples, entry)), case in zip(shown, first, strict=True)
    ]
    note = (
        f"{_counted(len(tally), 'identifier')} found neither in the question, the conversation, the "
        "passages, earlier results nor the schema. Reformatted dates, numbers and codes count as found."
    )
    cohorts = tuple(
        call_cohort("invented", entry["call"], entry["argument"], entry["value"])
        for _, (_, _, entry) in shown
    )
    return ResultTable("Invented identifiers", tuple(rows), note, cohorts)


def inferred_table(checks: CallChecks) -> ResultTable | None:
    """Return the other values that nothing read holds, by kind, tool and argument: perhaps inferred."""
    tally = _tally(
        checks,
        "invented",
        lambda entry: (
            (entry["kind"], entry["call"], entry["argument"]) if entry["kind"] != "identifier" else None
        ),
    )
    if not tally:
        return None
    shown = _commonest(tally)
    rows = [
        {
            "Kind": entry["kind"],
            "Argument": entry["argument"],
            "Tool": entry["call"],
            "Values": n,
            "Cases": len(samples),
            "Example": entry["value"],
        }
        for _, (n, samples, entry) in shown
    ]
    undecided = int(sum(detail.get("undecided", 0) for detail in checks.details))
    note = "Not in what was read, but a model may infer them: JFK from New York, a year, a sum. Read some."
    if undecided:
        note += f" {undecided:,} values are undecided: what was read is not recorded whole, or too long."
    cohorts = tuple(
        call_cohort("inferred", entry["kind"], entry["call"], entry["argument"]) for _, (_, _, entry) in shown
    )
    return ResultTable("Values that may be inferred", tuple(rows), note, cohorts)


def selection_table(checks: CallChecks) -> ResultTable | None:
    """Return the tools that were not called though expected, or called though not."""
    missing, needless, cases = Counter[str](), Counter[str](), defaultdict[str, set[int]](set)
    for sample, detail in zip(checks.sample.tolist(), checks.details, strict=True):
        for names, key in ((missing, "missing"), (needless, "needless")):
            for name in detail.get(key, ()):
                names[name] += 1
                cases[name].add(sample)
    tools = [name for name, _ in (missing + needless).most_common(MOST_ROWS)]
    if not tools:
        return None
    rows: list[dict[str, Cell]] = [
        {"Tool": name, "Missing": missing[name], "Needless": needless[name], "Cases": len(cases[name])}
        for name in tools
    ]
    note = f"{missing.total():,} expected calls were not made, {needless.total():,} calls were not expected."
    return ResultTable(
        "Missing and needless calls", tuple(rows), note, tuple(call_cohort("either", name) for name in tools)
    )


def repeat_table(repeats: Sequence[PassHatK]) -> ResultTable | None:
    """Return pass^k by name of check."""
    if not repeats:
        return None
    rows: tuple[dict[str, Cell], ...] = tuple(
        {"Check": one.check, "k": one.k, "All k pass": one.rate} for one in repeats
    )
    note = (
        "pass^k: mean over questions of C(c, k) / C(n, k), c of n repeats passed (tau-bench): that all "
        "k repeats pass; pass@k, that any does, would rise with k."
    )
    return ResultTable("Repeats", rows, note)


def agreement_table(found: Sequence[Agreement]) -> ResultTable | None:
    """Return how right calls and recorded outcomes go together."""
    if not found:
        return None
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "Outcome": one.outcome,
            "Calls right": one.both + one.calls_only,
            "Outcome reached": one.both + one.outcome_only,
            "Both": one.both,
            "Neither": one.neither,
            "Cases": one.both + one.calls_only + one.outcome_only + one.neither,
        }
        for one in found
    )
    note = (
        "Right calls and the recorded outcome are two things: other calls may lead to the same state, and a "
        "right state may lack an answer."
    )
    return ResultTable("Calls and outcome", rows, note)


def fault_table(checks: CallChecks) -> ResultTable | None:
    """Return the calls and schemas that cannot be read, a sentence each."""
    faults = [str(detail["fault"]) for detail in checks.details if detail.get("fault")]
    if not faults:
        return None
    rows = tuple({"What is wrong": fault} for fault in faults[:MOST_ROWS])
    cohorts = (call_cohort("unreadable"),) * len(rows)
    note = f"{len(faults):,} checks are compared by their recorded verdict alone, or not at all."
    return ResultTable("Not readable", rows, note, cohorts)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _tally(checks: CallChecks, key: str, group: Callable[[Mapping[str, Any]], Hashable | None]) -> Tally:
    """Return group -> number of entries, their samples, and the first of them."""
    tally: Tally = {}
    for sample, detail in zip(checks.sample.tolist(), checks.details, strict=True):
        for entry in detail.get(key, ()):
            name = group(entry)
            if name is not None:
                n, samples, first = tally.get(name, (0, set(), entry))
                samples.add(sample)
                tally[name] = (n + 1, samples, first)
    return tally


def _commonest(tally: Tally) -> list[tuple[Hashable, tuple[int, set[int], Mapping[str, Any]]]]:
    items: Iterable[tuple[Hashable, tuple[int, set[int], Mapping[str, Any]]]] = tally.items()
    return sorted(items, key=lambda item: -item[1][0])[:MOST_ROWS]
