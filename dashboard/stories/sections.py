"""The points a story can make: each from the runs to heading, sentence, chart, table, cases and facts.

Every text here is plain; whoever shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dashboard.charts.chart import Chart
from dashboard.charts.overview import Point, difference_forest, fix_first_bars, trend
from dashboard.stories.context import StoryView
from dashboard.stories.diagnostic_sections import (
    alignment_section,
    grid_section,
    oracle_gap_section,
    retrieval_section,
)
from dashboard.stories.story import Audience, RenderedSection, StorySection
from dashboard.wording.diagnosis import inference_caveat, no_bad_case, ownership, rate_title
from dashboard.wording.escaping import capital
from dashboard.wording.formatting import count, interval_text, number, p_value, percent, signed, source_text
from data.cases.cases import read_case
from data.cases.export import native_record
from data.comparison.compare import GOOD_SHARE, MetricDifference
from data.diagnosis.diagnosis import row_of
from data.errors import DataError
from data.gates.baseline import Baseline
from data.gates.config import load_gates
from data.gates.report import GateReport, gate_run
from data.scoring.summaries import MetricSummary, interpretation_of
from metrics.diagnosis.patterns import PATTERNS
from metrics.diagnosis.stages import STAGES
from metrics.gates.wording import gate_title
from metrics.metric_registry import declared, title_of
from metrics.schema.scores import IntArray

__all__ = [
    "HEADLINE",
    "SECTION_KINDS",
    "SectionKind",
    "chosen_cases",
    "default_sections",
    "gate_section",
    "render_section",
    "story_gates",
    "trend_section",
]

MOST_CASES, USUAL_CASES = 50, 3


def chosen_cases(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Give cases in full.

    Args:
        view: the runs.
        chosen: `cases`, names as in the address ("question_id~repeat") on lines; else `stage`, a failure
            stage or "" for the one that owns most, and `n`, how many.
    """
    rows, missing = _named(view, chosen["cases"]) if chosen.get("cases") else (_worst(view, chosen), 0)
    cases = [native_record(_plain(read_case(view.scored, int(row)))) for row in rows]
    heading = "Cases" if chosen.get("cases") or not len(rows) else f"Examples: {_stage(view, int(rows[0]))}"
    said = "" if cases else "There is no such case in this run."
    gone = f"{count(missing, 'case')} chosen before are not in this run" if missing else ""
    return RenderedSection(
        "cases", heading, said, cases=cases, facts=[count(len(cases), "case") + " in full", gone]
    )


def _plain(sample: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in sample.items() if key != "judged"}


def _named(view: StoryView, names: str) -> tuple[IntArray, int]:
    wanted = [one.strip() for one in names.splitlines() if one.strip()][:MOST_CASES]
    found = []
    for name in wanted:
        question, _, repeat = name.rpartition("~")
        row = row_of(view.scored, question, int(repeat)) if question and repeat.isdecimal() else None
        found += [] if row is None else [row]
    return np.array(found, dtype=np.int64), len(wanted) - len(found)


def _worst(view: StoryView, chosen: Mapping[str, str]) -> IntArray:
    found = view.diagnosis
    entries = found.fix_first
    key = chosen.get("stage") or (entries[0].key if entries else "")
    codes = [at for at, stage in enumerate(STAGES) if stage.key == key]
    if not codes:
        return np.zeros(0, dtype=np.int64)
    given = chosen.get("n", "")
    n = min(int(given), MOST_CASES) if given.isdecimal() else USUAL_CASES
    return np.flatnonzero(found.stages.stage == codes[0])[:n]


def _stage(view: StoryView, row: int) -> str:
    code = int(view.diagnosis.stages.stage[row])
    return STAGES[code].title if code >= 0 else "not bad"


HEADLINE = (
    "recall@5",
    "ndcg@5",
    "context_recall",
    "context_precision",
    "faithfulness",
    "answer_relevancy",
    "correctness",
    "hallucination",
    "ignored_top_ranked",
)


def trend_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Give a metric over versions; `metric` of the choices says which, else the first headline metric."""
    metric = chosen.get("metric") or next((name for name in HEADLINE if name in view.summary), "")
    points = [_point(view, run.run_id, metric) for run in view.runs]
    measured = [one for one in points if one.mean is not None]
    title = capital(title_of(metric)) if metric else "Metric"
    heading = f"{title} over versions"
    if not measured:
        return RenderedSection("trend", heading, "No version has this measured.")
    base = _point(view, view.baseline.run_id, metric).mean if view.baseline else None
    return RenderedSection(
        "trend",
        heading,
        chart=trend(points, title, base),
        rows=[
            {
                "Version": one.label,
                "Made": one.when,
                "Mean": number(one.mean),
                "95 % interval": interval_text(one.low, one.high),
                "n": one.n,
            }
            for one in measured
        ],
        facts=[count(len(measured), "version"), "95 % intervals over questions", "dashed: the baseline"],
        alt=f"{title} of each version with 95 % intervals",
    )


def _point(view: StoryView, run_id: str, metric: str) -> Point:
    run = next(one for one in view.runs if one.run_id == run_id)
    one = view.store.summary(run).get(metric)
    mean, low, high, n = (one.mean, one.low, one.high, one.n_scored) if one else (None, None, None, 0)
    when = f"{run.created_at:%Y-%m-%d %H:%M}"
    return Point(view.names[run_id], when, mean, low, high, n, run_id == view.run.run_id)


TOLD = 3  # gates that the sentence names


def story_gates(view: StoryView) -> GateReport:
    """Judge the run of a story by the gates of its project."""
    held = Baseline(view.baseline, "chosen for this story" if view.baseline else "the story has no baseline")
    return gate_run(view.store, view.run, held, load_gates(view.store.workspace))


def gate_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Give the verdict with a row for each gate."""
    report = story_gates(view)
    blocking = [one for one in report.results if one.gate.severity == "block" and not one.excused]
    failing = [one for one in blocking if one.verdict == "FAIL"]
    unsure = [one for one in blocking if one.verdict in ("INCONCLUSIVE", "UNMEASURED")]
    told = failing or unsure
    more = f" And {len(told) - TOLD} more, below." if len(told) > TOLD else ""
    said = " ".join(one.sentence for one in told[:TOLD]) + more
    base = f"against {report.baseline_name}" if report.baseline_name else "without a baseline"
    return RenderedSection(
        "verdict",
        f"Verdict: {report.verdict}",
        said or "Every blocking gate passes.",
        rows=[
            {
                "Gate": gate_title(one.gate),
                "Verdict": one.verdict,
                "Value": number(one.mean),
                "95 % interval": interval_text(one.low, one.high),
                "n": one.n_scored,
                "If it fails": f"{'blocks' if one.gate.severity == 'block' else 'warns'}: {one.gate.reason}",
            }
            for one in report.results
        ],
        facts=[
            base,
            f"{count(len(report.newly_failing), 'question')} newly failing of {report.n_compared:,} compared"
            if report.n_compared
            else "",
            "PASS and FAIL only where the whole 95 % interval lies on one side of the threshold",
            *report.warnings,
        ],
    )


Maker = Callable[[StoryView, Mapping[str, str]], RenderedSection]


@dataclass(frozen=True)
class SectionKind:
    """A kind of point.

    Attributes:
        title: for the list of what can be picked.
        make: from runs and choices to what is shown.
        audiences: for whom it stands in a fresh story.
    """

    title: str
    render: Maker
    audiences: tuple[Audience, ...] = ("engineer",)


def _text(_view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    return RenderedSection("text", "")


def _headline(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    shown = [name for name in HEADLINE if name in view.summary and view.summary[name].n_scored]
    if not shown:
        return RenderedSection("headline", "How good is it?", "No headline metric was measured on this run.")
    rows = [_metric_row(name, view.summary[name]) for name in shown]
    rate = view.diagnosis.pass_rate
    said = (
        f"{rate_title(view.diagnosis)}: {percent(rate.mean)} of cases "
        f"(95 % interval {percent(rate.low)} to {percent(rate.high)}, {count(rate.n_scored, 'question')})."
        if rate.n_scored
        else "Nothing was measured that says whether a case is good."
    )
    return RenderedSection(
        "headline",
        "How good is it?",
        f"{said} {interpretation_of(shown[-1], view.summary[shown[-1]]).sentence}"
        if len(shown) == 1
        else said,
        rows=rows,
        facts=["means over questions, repeats averaged first", "95 % intervals"],
    )


def _metric_row(name: str, one: MetricSummary) -> dict[str, str]:
    said = interpretation_of(name, one)
    return {
        "Metric": capital(title_of(name)),
        "Mean": number(one.mean),
        "95 % interval": interval_text(one.low, one.high),
        "Questions": f"{one.n_scored:,} of {one.n_applicable:,}",
        "Obtained": source_text(one),
        "Band": said.standing,
        "Meaning": said.meaning,
    }


def _fix_first(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    found = view.diagnosis
    entries = found.fix_first
    heading = "What should be fixed first?"
    if not entries:
        return RenderedSection("fix_first", heading, no_bad_case(found))
    top = entries[0]
    bound = (
        f" If that stage were perfect, the pass rate would be at most {percent(top.pass_rate_if_perfect)} "
        f"(now {percent(found.pass_rate.mean)}): an upper bound."
    )
    bad = int(found.bad.bad.sum())
    return RenderedSection(
        "fix_first",
        heading,
        f"{top.title} {ownership(top, bad)}.{bound}",
        chart=fix_first_bars(entries),
        rows=[{"Stage": one.title, "Bad cases": one.n_bad, "Owner": one.owner} for one in entries],
        facts=[
            f"{bad:,} bad of {count(found.scored.n, 'case')}",
            "each bad case belongs to the first stage whose evidence it meets",
            inference_caveat(found, top, view.findings),
        ],
        alt="Failure stages by number of bad cases",
    )


def _patterns(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    counts = view.diagnosis.pattern_counts()
    rows = [{"Pattern": one.title, "Cases": counts[one.key]} for one in PATTERNS if counts[one.key]]
    signal = title_of(view.diagnosis.context_metric) if view.diagnosis.context_metric else "none measured"
    return RenderedSection(
        "patterns",
        "Retrieval or generation?",
        rows=rows,
        facts=[f"context signal: {signal}", count(view.diagnosis.scored.n, "case")],
    )


def _change(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    heading = "Did the last change help?"
    found = view.comparison
    if found is None or view.baseline is None:
        return RenderedSection("change", heading, "No baseline was chosen, so nothing can be said.")
    base = view.names[view.baseline.run_id]
    known = [one for one in found.differences if one.difference.n_pairs]
    if not known:
        said = f"{base} and this run have no metric measured on the same questions, so nothing can be said."
        return RenderedSection("change", heading, said, facts=list(found.warnings))
    moved = [one for one in known if one.verdict in ("better", "worse")]
    said = "; ".join(
        f"{capital(title_of(one.metric))} {signed(one.difference.difference)} "
        f"({interval_text(one.difference.low, one.difference.high)}), {one.verdict}"
        for one in moved
    )
    return RenderedSection(
        "change",
        heading,
        f"Against {base}: {said}." if said else f"Against {base}, no metric moved beyond chance.",
        chart=_forest(known),
        rows=[
            {
                "Metric": capital(title_of(one.metric)),
                "Baseline": number(one.base),
                "This run": number(one.other),
                "Difference": signed(one.difference.difference),
                "95 % interval": interval_text(one.difference.low, one.difference.high),
                "n": one.difference.n_pairs,
                "p (Holm)": p_value(one.adjusted_p),
                "Verdict": one.verdict,
            }
            for one in known
        ],
        facts=[
            f"paired on {count(len(found.matched.base), 'shared question')}",
            f"{count(len(known), 'metric')}, Holm-corrected; the intervals are not corrected",
            *found.warnings,
        ],
        alt="Differences to the baseline with 95 % intervals",
    )


def _forest(differences: Sequence[MetricDifference]) -> Chart:
    shown = [one for one in differences if one.metric == GOOD_SHARE or _share(one.metric)]
    known = {one.metric: declared(one.metric) for one in shown}
    return difference_forest(
        shown, {name: one.higher_is_better if one else True for name, one in known.items()}
    )


def _share(metric: str) -> bool:
    found = declared(metric)
    return found is not None and found.bounds == (0.0, 1.0)


def _slices(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    found = view.diagnosis.worst_slices
    heading = "Where does it do worst?"
    if not found:
        return RenderedSection(
            "slices", heading, "No slice has enough questions and does worse than the rest."
        )
    real = [one for one in found if one.adjusted_p < 0.05]
    return RenderedSection(
        "slices",
        heading,
        f"{len(real)} of {found[0].n_looked_at} slices do worse than the rest beyond chance.",
        rows=[
            {
                "Slice": f"{one.name}: {one.value}",
                "Bad": f"{one.n_bad:,} of {one.n:,}",
                "Share": percent(one.rate),
                "The rest": percent(one.rate_rest),
                "p (Holm)": p_value(one.adjusted_p),
            }
            for one in found[:8]
        ],
        facts=[f"{found[0].n_looked_at} slices looked at, Holm-corrected"],
    )


def _checks(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    heading = "Can the numbers be trusted?"
    if not view.findings:
        return RenderedSection("checks", heading, "The numbers agree with each other.")
    rows = [
        {"Kind": one.severity, "Finding": one.title, "What it says": one.message} for one in view.findings
    ]
    return RenderedSection(
        "checks", heading, f"{count(len(rows), 'finding')} of the checks on the numbers.", rows=rows
    )


SECTION_KINDS: Mapping[str, SectionKind] = {
    "verdict": SectionKind("Verdict: the gates", gate_section, ("engineer", "lead", "stakeholder")),
    "headline": SectionKind("Headline metrics", _headline, ("engineer", "lead", "stakeholder")),
    "change": SectionKind("Change since the baseline", _change, ("engineer", "lead", "stakeholder")),
    "fix_first": SectionKind("What to fix first", _fix_first, ("engineer", "lead", "stakeholder")),
    "patterns": SectionKind("Metric patterns", _patterns),
    "slices": SectionKind("Worst slices", _slices, ("engineer", "lead")),
    "cases": SectionKind("Cases in full", chosen_cases, ("engineer", "lead")),
    "trend": SectionKind("A metric over versions", trend_section, ("engineer", "lead")),
    "retrieval": SectionKind("Retrieval over k", retrieval_section),
    "alignment": SectionKind("Use by rank", alignment_section),
    "losses": SectionKind("Lost in retrieval or generation", oracle_gap_section),
    "chunking": SectionKind("Chunking grid", grid_section),
    "checks": SectionKind("Checks on the numbers", _checks),
    "text": SectionKind("Text", _text, ()),
}


def default_sections(audience: Audience) -> tuple[StorySection, ...]:
    """Give the points of a fresh story for an audience."""
    return tuple(StorySection(key) for key, kind in SECTION_KINDS.items() if audience in kind.audiences)


def render_section(view: StoryView, piece: StorySection) -> RenderedSection:
    """Make a point of a story; one that this version does not know, or that fails, says so."""
    kind = SECTION_KINDS.get(piece.kind)
    if kind is None:
        known = ", ".join(SECTION_KINDS)
        return RenderedSection(
            piece.kind, piece.heading or "Unknown point", f"No point {piece.kind[:40]!r}; known: {known}"
        )
    try:
        made = kind.render(view, piece.chosen)
    except DataError as error:
        made = RenderedSection(piece.kind, kind.title, f"This cannot be shown: {error}")
    facts: Sequence[str] = [one for one in made.facts if one]
    return replace(made, heading=piece.heading or made.heading, note=piece.note, facts=facts)
