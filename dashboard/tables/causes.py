"""Where the cases of a run fail: patterns, failure stages, next steps, findings, and the oracle gap."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.wording.diagnosis import GAP_PARTS, pattern_meaning, stage_advice, stage_title
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.formatting import method_text
from ragtriage.dashboard.wording.next_steps import concerned, step_words
from ragtriage.data.comparison.oracle_gap import OracleGap
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.gates.next_steps import NextStep
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.result_table import Change, Count, Number, ResultTable, Row, ends_of
from ragtriage.metrics.sanity.rule import Finding


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
    rows: list[Row] = [
        {
            "Failure stage": stage_title(diagnosis, entry.key, findings),
            "Bad cases": entry.n_bad,
            "Owner": entry.owner,
            "Pass rate if fixed": f"{entry.bound} {percent(entry.pass_rate_if_perfect)}",
            "What to try": stage_advice(diagnosis, entry.key, findings),
        }
        for entry in diagnosis.fix_first
    ]
    return ResultTable("Bad cases by failure stage", tuple(rows))


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
