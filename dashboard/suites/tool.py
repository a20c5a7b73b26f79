"""Tool calls: measures, errors of arguments, invented values, wrong selections, repeats."""

from collections.abc import Sequence

from ragtriage.dashboard.charts.chart import FRAME, GREY, ROW, VERMILION, Axis, Chart, Series
from ragtriage.dashboard.suites.view import Failing, SuiteChart, SuiteView
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.suites.suite import part_cohort
from ragtriage.data.suites.tool.findings import TOOL_SUITE, Agreement, PassHatK, ToolFindings
from ragtriage.data.suites.tool.rule import KEY
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Cell, ResultTable

MOST_TOOLS = 8  # that the chart shows, the worst
ERRORS = {
    "missing": "missing",
    "unexpected": "unexpected",
    "type": "wrong type",
    "value": "wrong value",
    "malformed": "not readable",
}


def _statement(findings: ToolFindings) -> str:
    """How many checks call the right tools, with right arguments, and what is invented."""
    by_key = {measure.key: measure for measure in findings.measures}
    parts = []
    if findings.made:
        calls = "1 call was" if findings.made == 1 else f"{findings.made:,} calls were"
        parts.append(f"{calls} made, {findings.failed:,} failed, and nothing says which are right")
    if (fits := by_key.get("schema")) is not None:
        parts.append(f"{fits.total - fits.hits:,} of {fits.total:,} calls break the schema of their tool")
    if (selection := by_key.get("selection")) is not None:
        tools = f"tools{' that write' if findings.only_writes else ''}"
        checks = f"{selection.hits:,} of {selection.total:,} checks"
        parts.append(f"Exactly the expected {tools} were called in {checks}")
    if (arguments := by_key.get("arguments")) is not None:
        parts.append(f"{arguments.hits:,} of {arguments.total:,} expected calls made have right arguments")
    if (identifiers := by_key.get("identifiers_found")) is not None:
        lost = identifiers.total - identifiers.hits
        parts.append(f"{lost:,} of {identifiers.total:,} identifiers in arguments are invented")
    for agreement in findings.agreements:
        right, reached = agreement.both + agreement.calls_only, agreement.both + agreement.outcome_only
        passes = f"{agreement.outcome} passes in {reached:,}, both in {agreement.both:,}"
        parts.append(f"calls are right in {right:,} cases, {passes}")
    named = [entry for entry in findings.repeats if entry.check == findings.repeats[0].check]
    for entry in named[-1:]:
        every = f"{percent(entry.rate.mean)} of {count(entry.rate.n_scored, 'question')}"
        parts.append(f"{entry.check} passes all {entry.k} times in {every}")
    return f"{'; '.join(parts)}." if parts else ""


def _chart(findings: ToolFindings) -> SuiteChart | None:
    """Return the wrong calls by tool, of which some were never made and some not needed."""
    misses = [miss for miss in findings.misses[:MOST_TOOLS] if miss.missing or miss.needless][::-1]
    if not misses:
        return None

    def bars(name: str, numbers: Sequence[int], colour: str) -> Series:
        return Series(
            name,
            tuple(numbers),
            tuple(range(len(misses))),
            colour,
            text=tuple(f"{n:,}" if n else "" for n in numbers),
            details=tuple(f"{miss.tool}: {n:,} {name}" for miss, n in zip(misses, numbers, strict=True)),
            keys=tuple((part_cohort(KEY, "either", miss.tool),) for miss in misses),
        )

    chart = Chart(
        "bars",
        (
            bars("never made", [miss.missing for miss in misses], VERMILION),
            bars("not needed", [miss.needless for miss in misses], GREY),
        ),
        Axis("wrong calls", from_zero=True, format=",d"),
        Axis("", names=tuple(shorten(miss.tool, 30) for miss in misses)),
        FRAME + ROW * len(misses),
        horizontal=True,
        stacked=True,
        clickable=True,
    )
    return SuiteChart(
        chart,
        "Wrong calls by tool",
        "How many expected calls of each tool were not made, and how many calls were not expected",
        "orange: never made, grey: not needed",
        ("click a bar for its cases",),
    )


def _tables(findings: ToolFindings) -> Sequence[ResultTable | None]:
    return (
        _measures(findings) if findings.measures else None,
        _invented(findings),
        _errors(findings),
        _misses(findings),
        _repeats(findings.repeats),
        _agreements(findings.agreements),
        _inferred(findings),
        ResultTable(
            "Not readable",
            tuple({"What is wrong": fault} for fault in findings.faults),
            f"{findings.totals['fault']:,} checks are compared by their recorded verdict alone, "
            "or not at all.",
            (part_cohort(KEY, "unreadable"),) * len(findings.faults),
        ),
    )


def _measures(findings: ToolFindings) -> ResultTable:
    compared = (
        "Only calls of tools that write are compared, reads need not match."
        if findings.only_writes
        else "Every call is compared; to leave out reads, say which tools write: readOnlyHint or writes in "
        "their schema, or the tag write_tools."
    )
    if all(measure.key != "selection" for measure in findings.measures):
        compared = "No expected calls are recorded: which were right is not measured."
    return ResultTable(
        "Calls",
        tuple(
            {
                "Measure": measure.title,
                "Share": measure.share,
                "Count": f"{measure.hits:,} of {measure.total:,}",
            }
            for measure in findings.measures
        ),
        f"Computed. Share: of all counted, 95 % interval over questions. {compared}",
        tuple(measure.cohort for measure in findings.measures),
    )


def _errors(findings: ToolFindings) -> ResultTable:
    by_kind = ", ".join(f"{n:,} {ERRORS.get(kind, kind)}" for kind, n in findings.n_errors.items())
    pairs, held = findings.totals["pairs"], findings.totals["schema_calls"]
    among = [f"{pairs:,} expected calls that were made"] * (pairs > 0 or not held)
    among += [f"{count(held, 'call')} checked against the schema of the tool"] * (held > 0)
    rows = tuple(
        {
            "Error": ERRORS.get(str(tally.entry["error"]), str(tally.entry["error"])),
            "Tool": tally.entry["call"],
            "Argument": tally.entry["argument"],
            "Errors": tally.n,
            "Cases": tally.cases,
            "Given": tally.entry.get("value", ""),
            "Accepted": tally.entry.get("accepted", ""),
        }
        for tally in findings.errors
    )
    note = (
        f"{by_kind}; in {' and '.join(among)}. By the rules of the Berkeley Function "
        "Calling Leaderboard; given and accepted: of the first case."
    )
    return ResultTable("Errors of arguments", rows, note, tuple(tally.cohort for tally in findings.errors))


def _invented(findings: ToolFindings) -> ResultTable:
    rows = tuple(
        {
            "Value": tally.entry["value"],
            "Argument": tally.entry["argument"],
            "Tool": tally.entry["call"],
            "Calls": tally.n,
            "Cases": tally.cases,
            "First case": tally.first_case,
        }
        for tally in findings.invented
    )
    note = (
        f"{count(findings.n_invented, 'identifier')} found neither in the question, the conversation, the "
        "passages, earlier results nor the schema. Reformatted dates, numbers and codes count as found."
    )
    return ResultTable("Invented identifiers", rows, note, tuple(tally.cohort for tally in findings.invented))


def _inferred(findings: ToolFindings) -> ResultTable:
    rows = tuple(
        {
            "Kind": tally.entry["kind"],
            "Argument": tally.entry["argument"],
            "Tool": tally.entry["call"],
            "Values": tally.n,
            "Cases": tally.cases,
            "Example": tally.entry["value"],
        }
        for tally in findings.inferred
    )
    note = "Not in what was read, but a model may infer them: JFK from New York, a year, a sum. Read some."
    if undecided := findings.totals["undecided"]:
        note += f" {undecided:,} values are undecided: what was read is not recorded whole, or too long."
    return ResultTable(
        "Values that may be inferred", rows, note, tuple(tally.cohort for tally in findings.inferred)
    )


def _misses(findings: ToolFindings) -> ResultTable:
    missing, needless = findings.totals["missing"], findings.totals["needless"]
    return ResultTable(
        "Missing and needless calls",
        tuple(
            {"Tool": miss.tool, "Missing": miss.missing, "Needless": miss.needless, "Cases": miss.cases}
            for miss in findings.misses
        ),
        f"{missing:,} expected calls were not made, {needless:,} calls were not expected.",
        tuple(part_cohort(KEY, "either", miss.tool) for miss in findings.misses),
    )


def _repeats(repeats: Sequence[PassHatK]) -> ResultTable | None:
    """Return pass^k by name of check."""
    if not repeats:
        return None
    rows: tuple[dict[str, Cell], ...] = tuple(
        {"Check": entry.check, "k": entry.k, "All k pass": entry.rate} for entry in repeats
    )
    note = (
        "pass^k: mean over questions of C(c, k) / C(n, k), c of n repeats passed (tau-bench): that all "
        "k repeats pass; pass@k, that any does, would rise with k."
    )
    return ResultTable("Repeats", rows, note)


def _agreements(agreements: Sequence[Agreement]) -> ResultTable | None:
    """Return how right calls and recorded outcomes go together."""
    if not agreements:
        return None
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "Outcome": entry.outcome,
            "Calls right": entry.both + entry.calls_only,
            "Outcome reached": entry.both + entry.outcome_only,
            "Both": entry.both,
            "Neither": entry.neither,
            "Cases": entry.both + entry.calls_only + entry.outcome_only + entry.neither,
        }
        for entry in agreements
    )
    note = (
        "Right calls and the recorded outcome are two things: other calls may lead to the same state, and a "
        "right state may lack an answer."
    )
    return ResultTable("Calls and outcome", rows, note)


VIEW = SuiteView(
    TOOL_SUITE,
    Failing("case", "has a wrong tool call", "have a wrong tool call"),
    _statement,
    _tables,
    _chart,
)
