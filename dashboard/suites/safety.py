"""Safety: which attacks succeeded, by type, and what no success still allows; harmless look-alikes."""

from collections.abc import Sequence

import numpy as np

from ragtriage.dashboard.charts.chart import (
    BLUE,
    GREY,
    VERMILION,
    Axis,
    Chart,
    ErrorBars,
    ReferenceLine,
    Series,
    finite,
)
from ragtriage.dashboard.suites.view import Failing, SuiteChart, SuiteView
from ragtriage.data.cases.suite_cohorts import WAITING
from ragtriage.data.suites.safety_findings import (
    LACKING,
    MOST_TECHNIQUES,
    OVER_REFUSAL_SUITE,
    SAFETY_SUITE,
    AttackGroup,
    SafetyFindings,
)
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Cell, ResultTable
from ragtriage.metrics.statistics.power import still_possible
from ragtriage.metrics.statistics.prevalence import LEAST_LABELS
from ragtriage.metrics.suites.safety import FEWEST_PROMPTS, all_pass_bound

ROW, FRAME = 44, 90  # pixels
NOTHING = "none measured"


def _statement(findings: SafetyFindings) -> str:
    """What a person would say, with the numbers."""
    words = {"rule": "a rule", "person": "a person", "judge": "the judge", "recorded": "the file alone"}
    judged = ", ".join(f"{n:,} by {words[who]}" for who, n in findings.by.items())
    decided = f"Checks decided: {judged}" if judged and set(findings.by) != {"rule"} else ""
    waits = "waits" if findings.waiting == 1 else "wait"
    whom = "a person (page Cases) or the judge (ragtriage judge RUN --checks safety)"
    waiting = f"{findings.waiting:,} {waits} for {whom}" if findings.waiting else ""
    sentence = "; ".join(filter(None, (decided, waiting)))
    sentences = (
        _result(findings),
        _lacking(findings),
        f"{sentence}." if sentence else "",
        _uncorrected(findings),
        f"{round(benign.mean * benign.n_scored):,} of {benign.n_scored:,} harmless look-alikes got an answer."
        if (benign := findings.over_refusal) is not None and benign.n_scored
        else "",
    )
    return " ".join(sentence for sentence in sentences if sentence)


def _result(findings: SafetyFindings) -> str:
    n, hits = findings.measured, findings.overall.succeeded
    if not n:
        return f"None of {findings.overall.prompts:,} attack prompts was measured."
    repeats = f" in at least one of {findings.repeats} repeats" if findings.repeats > 1 else ""
    prompts = f"{n:,} measured attack prompt{'s' if n > 1 else ''}"
    few = f" {FEWEST_PROMPTS} prompts are needed for a gate." if n < FEWEST_PROMPTS else ""
    if hits:
        worst = findings.types[0]
        share = f"{worst.succeeded:,} of {worst.held + worst.succeeded:,}"
        worst_text = f"; {worst.title.lower()} fares worst ({share})" if len(findings.types) > 1 else ""
        pooled = f", pooled over {len(findings.types)} types of attack" if worst_text else ""
        return f"{hits:,} of {prompts} succeeded{repeats}{pooled}{worst_text}.{few}"
    allowed = percent(still_possible(n), 1)
    return (
        f"None of {prompts} succeeded. That still allows {allowed} of such attacks to succeed (95 %, "
        f"rule of three); the Wilson lower bound of the pass rate is {all_pass_bound(n):.3f}.{few}"
        f"{_uncontrolled(findings)}"
    )


def _uncontrolled(findings: SafetyFindings) -> str:
    """Return that nothing shows that the system obeys anything; "" where a harmless question was answered."""
    harmless = findings.over_refusal
    if harmless is None or not harmless.n_scored:
        return " Doubted: without harmless look-alikes nothing shows that the system obeys at all."
    return "" if harmless.mean > 0 else " Doubted: it answers no harmless look-alike either."


def _lacking(findings: SafetyFindings) -> str:
    prompts, hits = findings.overall.prompts, findings.overall.succeeded
    unmeasured = findings.overall.not_measured
    if not unmeasured:
        return ""
    lacking = ", ".join(f"{n:,} {LACKING[reason]}" for reason, n in findings.lacking.items())
    silent = unmeasured - sum(findings.lacking.values()) - findings.waiting
    if findings.repeats == 1 and silent > 0:  # with repeats the reasons count answers, not prompts
        lacking = ", ".join(filter(None, (lacking, f"{silent:,} without a verdict")))
    share = ""
    if findings.measured and hits:
        of_measured, of_all = percent(hits / findings.measured), percent(hits / prompts)
        if of_measured != of_all:
            share = f"; {of_measured} of the measured prompts succeeded, {of_all} of all"
    reasons = f" ({lacking})" if lacking else ""
    return f"{unmeasured:,} of {prompts:,} are not measured and do not count as passed{reasons}{share}."


def _uncorrected(findings: SafetyFindings) -> str:
    if not findings.judged:
        return ""
    if findings.corrected is not None and np.isfinite(findings.corrected.value):
        low, high = findings.corrected.low, findings.corrected.high
        ends = f", 95 % {low:.2f} to {high:.2f}" if np.isfinite(low) else ""
        return (
            f"Corrected for the judge’s errors on {findings.labelled:,} labelled prompts, "
            f"{findings.corrected.value:.2f} succeed{ends} (Rogan-Gladen)."
        )
    return (
        f"{findings.judged:,} verdicts are a judge’s and not corrected for its errors: that needs "
        f"{LEAST_LABELS} prompts that a person labelled too, of both kinds."
    )


def _tables(findings: SafetyFindings) -> Sequence[ResultTable]:
    """By type, by technique, and beside the field."""
    tables = [_by_type(findings)]
    if len(findings.techniques) > 1:
        note = f"The same by technique, the lowest rate first; the {MOST_TECHNIQUES} most common."
        tables.append(
            ResultTable("By technique", _rows(findings.techniques, "Technique", findings.repeats), note)
        )
    if findings.field:
        tables.append(_beside_the_field(findings))
    return tuple(tables)


def _by_type(findings: SafetyFindings) -> ResultTable:
    repeats = findings.repeats
    hit = f" Succeeded: at least one of {repeats} repeats did (hit@{repeats}), never pooled."
    repeated = hit if repeats > 1 else ""
    return ResultTable(
        "By type of attack",
        _rows(findings.types, "Type", findings.repeats),
        "Resisted: share of measured prompts whose attack did not succeed, exact 95 % interval (Clopper-"
        f"Pearson). Not submitted, failed or undecided prompts are not measured.{repeated}",
        tuple(
            f"attack_{'succeeded' if group.succeeded else 'not_measured'}:{group.key.replace(' ', '_')}"
            if group.succeeded or group.not_measured
            else ""
            for group in findings.types
        ),
    )


def _beside_the_field(findings: SafetyFindings) -> ResultTable:
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "Probe": row.probe,
            "Resisted": row.rate,
            "Mean of the field": row.mu,
            "z": round(row.z, 2),
            "Grade": row.grade,
        }
        for row in findings.field
    )
    note = "z = (held - mean) / max(standard deviation, 1/30) over the models of garak 0.17.1’s calibration."
    return ResultTable("Beside other models", rows, note)


def _rows(groups: tuple[AttackGroup, ...], column: str, repeats: int) -> tuple[dict[str, Cell], ...]:
    rows: list[dict[str, Cell]] = []
    for group in groups:
        row: dict[str, Cell] = {column: group.title, "Prompts": group.prompts}
        row |= {"Succeeded": group.succeeded, "Not measured": group.not_measured, "Resisted": group.rate}
        if repeats > 1:
            row["Share of repeats that succeeded"] = group.single if np.isfinite(group.single) else None
        rows.append(row)
    return tuple(rows)


def _chart(findings: SafetyFindings) -> SuiteChart:
    unmeasured, delivered = findings.overall.not_measured, findings.delivered
    return SuiteChart(
        attack_rates(findings.types),
        "",
        "Share of attacks of each type that did not succeed",
        "orange: types with a successful attack; exact 95 % intervals",
        (
            count(findings.overall.prompts, "attack prompt"),
            f"{unmeasured:,} not measured or passed" if unmeasured else "",
            f"{findings.repeats} repeats a prompt, none of which may succeed" if findings.repeats > 1 else "",
            f"{delivered:,} flagged but delivered" if delivered else "",
            f"judged by {', '.join(findings.models)}" if findings.models else "",
            "click a point for the attacks that succeeded",
        ),
        ((f"Open {count(findings.waiting, 'waiting check')}", WAITING),) if findings.waiting else (),
    )


def attack_rates(groups: Sequence[AttackGroup]) -> Chart:
    """Return the share of attacks of each type that the system held against; a point opens its cases.

    A type of which no prompt was measured has a row and no point: it is neither held nor broken.

    Args:
        groups: by type, the worst first; the worst stands at the top.
    """
    rows = list(groups)[::-1]
    points = Series(
        "",
        finite(group.rate.mean for group in rows),
        tuple(range(len(rows))),
        BLUE,
        colours=tuple(VERMILION if group.succeeded else BLUE for group in rows),
        low=finite(group.rate.low for group in rows),
        high=finite(group.rate.high for group in rows),
        error_bars=ErrorBars(GREY),
        n=tuple(group.rate.n_scored for group in rows),
        details=tuple(_point_text(group) for group in rows),
        keys=tuple((f"attack_succeeded:{group.key.replace(' ', '_')}",) for group in rows),
        size=11,
    )
    return Chart(
        "points",
        (points,),
        Axis("attacks that did not succeed, exact 95 % interval", low=-0.02, high=1.02, format=".0%"),
        Axis("", names=tuple(_row_name(group) for group in rows), low=-0.6, high=len(rows) - 0.4),
        FRAME + ROW * len(rows),
        horizontal=True,
        lines=(ReferenceLine(1.0, True, GREY, "dot", name="what a gate needs", position="top left"),),
        legend=False,
        clickable=True,
    )


def _row_name(group: AttackGroup) -> str:
    measured = group.held + group.succeeded
    lacking = f", {group.not_measured:,} not measured" if group.not_measured else ""
    return f"{group.title}\n{f'{group.held:,} of {measured:,} held' if measured else NOTHING}{lacking}"


def _point_text(group: AttackGroup) -> str:
    rate = group.rate
    if not rate.n_scored:
        return f"{group.title}: {NOTHING}"
    return (
        f"{group.title}: {percent(rate.mean)} held ({percent(rate.low)} to {percent(rate.high)}), "
        f"n = {rate.n_scored:,}; {group.succeeded:,} succeeded, {group.not_measured:,} not measured"
    )


VIEW = SuiteView(
    SAFETY_SUITE, Failing("case", "fails a safety check", "fail a safety check"), _statement, _tables, _chart
)
OVER_REFUSAL_VIEW = SuiteView(
    OVER_REFUSAL_SUITE, Failing("harmless question", "was declined", "were declined")
)
