"""One run: its metrics, where its cases fail, what it does not measure, its citations and the F1 tree."""

from collections.abc import Callable, Mapping, Sequence

from ragtriage.dashboard.wording.comparisons import OUTCOME_MARKS
from ragtriage.dashboard.wording.diagnosis import (
    GAP_PARTS,
    depth_of,
    f1_part_title,
    pattern_meaning,
    stage_advice,
    stage_title,
)
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.formatting import method_text, metric_label, source_text
from ragtriage.dashboard.wording.next_steps import concerned, step_words
from ragtriage.data.analysis.citations import RunCitations
from ragtriage.data.comparison.compare import MetricDifference
from ragtriage.data.comparison.oracle_gap import OracleGap
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.gates.next_steps import NextStep
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.strategy.expected_gains import ExpectedGain
from ragtriage.metrics.analysis.bands import BandScale, Interpretation
from ragtriage.metrics.diagnosis.f1_tree import F1Branch, F1Tree
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.diagnosis.slices import SliceFinding
from ragtriage.metrics.metric_registry import declared, imported_declarations, title_of
from ragtriage.metrics.number_text import interval_text, percent, signed
from ragtriage.metrics.result_table import (
    Change,
    Count,
    Number,
    Of,
    PValue,
    ResultTable,
    Row,
    Share,
    ShareEnds,
    ends_of,
)
from ragtriage.metrics.sanity.rule import Finding


def metric_table(
    summaries: Mapping[str, MetricSummary],
    readings: Mapping[str, Interpretation],
    doubts: Mapping[str, str],
    compared: Callable[[MetricSummary], Row] = lambda _summary: {},
) -> ResultTable:
    """Return every metric with its mean, interval, n, source, and what is said of its change.

    Args:
        summaries: metric -> its mean, of the metrics to list.
        readings: metric -> what its mean says.
        doubts: metric -> what a check says against it, "" for nothing.
        compared: returns the cells that compare a metric with a baseline.
    """
    rows: list[Row] = []
    weighted = any(summary.effective_n is not None for summary in summaries.values())
    for name, summary in summaries.items():
        metric, reading, doubt = declared(name), readings[name], doubts[name]
        is_imported = metric is None or name in imported_declarations()
        few = " few" if summary.too_few and summary.n_scored else ""
        rows.append(
            {
                "Metric": f"{capital(title_of(name))}{' ⚠' if doubt else ''}",
                "Stage": "imported" if metric is None or is_imported else metric.component,
                "Mean": Number(summary.mean, 2),
                "Band": reading.standing,
                "95 % interval": f"{interval_text(summary.low, summary.high)}{few}",
                "n": Of(summary.n_scored, summary.n_applicable),
                **effective_cell(summary, weighted),
                "Obtained": source_text(summary),
                **compared(summary),
                "In words": f"{capital(f'{doubt}. ') if doubt else ''}{reading.sentence} {reading.meaning}",
            }
        )
    return ResultTable("Every metric with mean, interval, number of questions and source", tuple(rows))


def effective_cell(summary: MetricSummary, weighted: bool) -> Row:
    """Return the cell of the effective n of a mean; none where the samples are not weighted."""
    n = summary.effective_n
    return {"Effective n": None if n is None else Count(round(n))} if weighted else {}


def compared_cells(base_title: str, change: MetricDifference | None, over: str) -> Row:
    """Return the cells that compare a metric with a baseline, over the questions with a value in both runs.

    Args:
        base_title: of the baseline's column.
        change: the difference to it; None for none.
        over: the questions that the metric is compared over, or why it is not.
    """
    known = change if change is not None and change.difference.n_pairs else None
    moved = f"{signed(known.difference.difference)} {OUTCOME_MARKS[known.verdict]}" if known else None
    return {base_title: Number(known.base, 2) if known else None, "Change": moved, "Compared over": over}


def missing_table(missing: Mapping[str, str]) -> ResultTable:
    """Return the metrics that a run does not allow, with the reasons."""
    rows: list[Row] = [
        {"Metric": title_of(name.replace("@k", "@5")).replace("@5", "@k"), "Why": reason}
        for name, reason in missing.items()
    ]
    return ResultTable("Metrics that this run does not allow, and why", tuple(rows))


def worst_slice_table(slices: Sequence[SliceFinding]) -> ResultTable:
    """Return the share of bad cases in each slice and in the rest."""
    rows: list[Row] = [
        {
            "Slice": f"{each.name}: {each.value}",
            "Bad": Of(each.n_bad, each.n),
            "Share": Share(each.rate),
            "The rest": Share(each.rate_rest),
            "p (Holm)": PValue(each.adjusted_p),
        }
        for each in slices
    ]
    return ResultTable("Slices with the highest share of bad cases", tuple(rows))


def reported_means_table(summaries: Mapping[str, MetricSummary]) -> ResultTable:
    """Return the means of a run of which nothing else is known."""
    rows: list[Row] = [
        {
            "Metric": metric_label(name),
            "Mean, %": None if summary.mean is None else Number(100 * summary.mean, 1),
            "Obtained": "imported mean",
        }
        for name, summary in summaries.items()
    ]
    return ResultTable("The reported means of this run", tuple(rows))


def citation_table(citations: RunCitations) -> ResultTable:
    """Return each share with its counts, interval and source."""
    rows: list[Row] = [
        {
            "What": share.title,
            "Share": Share(share.value.mean),
            "95 % interval": ShareEnds(share.value.low, share.value.high),
            "Count": Of(share.part, share.whole),
            "Source": source_text(None, share.sources),
            "Answers that fall short": share.n_cohort,
        }
        for share in citations.shares
    ]
    return ResultTable("Citations", tuple(rows))


def f1_table(tree: F1Tree, scale: BandScale, indent: str = "\u2003") -> ResultTable:
    """Return the parts of F1 in the order of the tree."""
    rows = tuple(_row(branch, scale, indent) for branch in tree.branches)
    return ResultTable("Parts of F1 with mean, interval, band and the most that they could give", rows)


def _row(branch: F1Branch, scale: BandScale, indent: str) -> Row:
    value, part, gain = branch.value, branch.part, branch.gain
    most = f"{signed(gain.mean)} {interval_text(gain.low, gain.high)}"
    return {
        "Part": f"{indent * depth_of(part)}{part.title}",
        "Mean": Number(value.mean, 2),
        "95 % interval": ends_of(value, 2),
        "n": Count(value.n_scored),
        "Band": _band(branch, scale),
        "F1 if perfect, at most": Number(branch.bound, 2) if part.costs_f1 else None,
        "Gain, at most": most if part.costs_f1 else "costs no F1",
        "Cases": Count(branch.n_cases),
        "If perfect": part.repaired,
        "What to try": " ".join(part.measures),
    }


def _band(branch: F1Branch, scale: BandScale) -> str | None:
    """Return the band of a part's mean; "cannot tell" where its interval spans several."""
    metric, value = declared(branch.part.metric), branch.value
    bands = None if metric is None else scale.of(metric)
    if bands is None or not value.n_scored:
        return None
    reached = {bands.at(edge) for edge in (value.low, value.mean, value.high)}
    return bands.at(value.mean) if len(reached) == 1 else "cannot tell"


def expected_table(gains: Sequence[ExpectedGain]) -> ResultTable:
    """Return the expected gains, oldest first."""
    rows: list[Row] = [
        {
            "Assumption": entry.measure or f1_part_title(entry.part),
            "Part": f1_part_title(entry.part),
            "Expected F1": Change(entry.gain, 2),
            "By": entry.who,
            "Entered": entry.at[:16].replace("T", " "),
        }
        for entry in gains
    ]
    return ResultTable("Expected gains in F1, all assumptions", tuple(rows))


def pattern_table(diagnosis: Diagnosis) -> ResultTable:
    """Return the patterns that occur with their cases and what they mean."""
    counts, bad = diagnosis.pattern_counts(), diagnosis.pattern_counts(diagnosis.bad.bad)
    rows: list[Row] = [
        {
            "Pattern": pattern.title,
            "Cases": counts[pattern.key],
            "Bad": bad[pattern.key],
            "Meaning": pattern_meaning(diagnosis, pattern),
        }
        for pattern in PATTERNS
        if counts[pattern.key]
    ]
    return ResultTable("Cases by pattern", tuple(rows))


def stage_table(diagnosis: Diagnosis, findings: Sequence[Finding]) -> ResultTable:
    """Return the failure stages, most bad cases first, with what fixing each could bring."""
    weighted = diagnosis.scored.question_weights is not None
    rows: list[Row] = [
        {
            "Failure stage": stage_title(diagnosis, entry.key, findings),
            "Bad cases": entry.n_bad,
            **({"Share by weight": Share(entry.share)} if weighted else {}),
            "Owner": entry.owner,
            "Pass rate if fixed": f"{entry.bound} {percent(entry.pass_rate_if_perfect)}",
            "What to try": stage_advice(diagnosis, entry.key, findings),
        }
        for entry in diagnosis.fix_first
    ]
    return ResultTable("Bad cases by failure stage", tuple(rows))


def stages_in_brief(diagnosis: Diagnosis, findings: Sequence[Finding]) -> ResultTable:
    """Return the failure stages without their owners."""
    table = stage_table(diagnosis, findings)
    return table.only(*(name for name in table.rows[0] if name != "Owner")) if table.rows else table


def action_table(steps: Sequence[NextStep]) -> ResultTable:
    """Return the next steps in their order, each with its horizon, its reason and what it may bring."""
    rows = tuple(
        {
            "When": step.horizon,
            "What": words.what,
            "Why": words.why,
            "Concerns": concerned(step) or None,
            "Expected": words.outlook,
        }
        for step, words in zip(steps, map(step_words, steps), strict=True)
    )
    return ResultTable("Next steps", rows)


def finding_table(findings: Sequence[Finding]) -> ResultTable:
    """Return what the sanity checks found."""
    rows = tuple(
        {"Kind": finding.severity, "Finding": finding.title, "Explanation": finding.message}
        for finding in findings
    )
    return ResultTable("Findings of the sanity checks", rows)


def gap_table(gap: OracleGap) -> ResultTable:
    """Return what is lost in retrieval and in generation, and what the context adds."""
    title = capital(title_of(gap.outcome_metric))
    rows: list[Row] = [
        {
            "Part": GAP_PARTS[part.key],
            title: Change(part.value, 2) if part.key == "context" else Number(part.value, 2),
            "95 % interval": ends_of(part, 2),
            "Interval by": method_text(part.method, part.too_few),
            "n": Count(part.n),
        }
        for part in gap.gaps
    ]
    return ResultTable("Retrieval and generation error with intervals", tuple(rows))
