"""Stability: the share of questions whose verdict flips by kind of change, and which they are."""

from collections.abc import Sequence

from ragtriage.dashboard.charts.experiments import flip_dots
from ragtriage.dashboard.experiments.view import ExperimentView, Opening, Part, ShownEffect, joined, name_of
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.data.experiments.stability import STABILITY, StabilityFindings
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, number, percent
from ragtriage.metrics.result_table import ResultTable, Row, Share

MOST_LISTED = 200


def _headline(summary: ExperimentSummary, findings: StabilityFindings) -> Headline:
    rate, name = findings.overall.rate, name_of(summary)
    if not rate.n_scored:
        return Headline("not measured", f"{name}: no question has two verdicts")
    changes = ", ".join(
        f"{each.change} {percent(each.flips.rate.mean)} of {each.flips.compared:,}"
        for each in findings.changes
        if each.flips.compared
    )
    verdict = (
        f"Verdict: {title_of(findings.verdict).lower()} of {number(findings.passes_from)} or more passes"
    )
    if rate.mean == 0:
        return Headline(
            "good",
            f"{name}: no verdict of {count(rate.n_scored, 'question')} flips",
            f"Up to {percent(rate.high)} may flip all the same (95 %). {verdict}; {changes}",
        )
    return Headline(
        "bad",
        f"{name}: the verdict of {percent(rate.mean)} of the questions flips",
        f"{len(findings.flipped):,} of {rate.n_scored:,} questions ({span(rate)}). {verdict}; {changes}",
    )


def _parts(summary: ExperimentSummary, findings: StabilityFindings) -> Sequence[Part]:
    rows: tuple[Row, ...] = tuple(
        {
            "Change": each.change,
            "Ways to ask": each.variants,
            "Questions that flip": len(each.questions),
            "Share": Share(each.flips.rate.mean),
            "95 % interval": span(each.flips.rate),
            "n": each.flips.compared,
        }
        for each in findings.changes
    )
    notes = (
        f"verdict: {title_of(findings.verdict)} of {number(findings.passes_from)} or more passes",
        "intervals: Wilson or exact",
        f"always right {findings.overall.always:,}, never right {findings.overall.never:,}",
    )
    changes = Part(
        "Questions whose verdict flips",
        flip_dots(findings.changes),
        "Questions whose verdict flips by kind of change",
        "flip_dots",
        table=ResultTable("Verdicts that flip", rows, joined(notes)),
        is_result=True,
    )
    return [changes, *([_flipped(summary, findings)] if findings.flipped else [])]


def _flipped(summary: ExperimentSummary, findings: StabilityFindings) -> Part:
    listed = findings.flipped[:MOST_LISTED]
    rows: tuple[Row, ...] = tuple(
        {
            "Question": name,
            "Flips when": ", ".join(each.change for each in findings.changes if name in each.questions)
            or "asked in different ways",
        }
        for name in listed
    )
    rest = f"the first {MOST_LISTED:,} of {len(findings.flipped):,}" if findings.flipped[MOST_LISTED:] else ""
    first = next((result.arm.run_id for result in summary.arms if result.arm.run_id), "")
    cases = [Opening("Open this case", {"run": first, "case": f"{name}~0"}) for name in listed if first]
    return Part("The questions that flip", table=ResultTable("Flipped questions", rows, rest), rows=cases)


def _effect(summary: ExperimentSummary, findings: StabilityFindings) -> ShownEffect | None:
    rate = findings.overall.rate
    if not rate.n_scored:
        return None
    worst = max(findings.changes, key=lambda each: each.flips.rate.mean if each.flips.compared else -1.0)
    runs = {result.arm.key: result.arm.run_id for result in summary.arms}
    asked = next(iter(runs.values()), "")
    changed = next((run for key, run in runs.items() if key.startswith(worst.change)), "")
    follows = f"Test each question {worst.change}, not once" if rate.mean else ""
    text = f"{len(findings.flipped)} verdicts flip"
    return ShownEffect(text, -rate.mean, -rate.high, -rate.low, follows, (asked, changed))


VIEW = ExperimentView(STABILITY, _headline, _parts, _effect)
