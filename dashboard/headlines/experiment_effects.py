"""The effects that an experiment found, as rows for pages, reports and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ragtriage.dashboard.wording.comparisons import effect_label, family_text
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.arms import ArmsFindings
from ragtriage.data.experiments.injection import InjectionFindings
from ragtriage.data.experiments.stability import StabilityFindings
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.number_text import count, interval_text, number, p_value, percent, signed

Row = dict[str, str]


def effect_rows(summary: ExperimentSummary) -> list[Row]:
    """Return the effects with interval, test and n; [] for kinds whose headline says them."""
    write = ROWS.get(summary.experiment.kind)
    return [] if write is None or summary.findings is None else write(summary)


def effect_method(summary: ExperimentSummary) -> list[str]:
    """Return how the effects were obtained."""
    kind, findings = summary.experiment.kind, summary.findings
    if kind == "arms" and findings is not None and findings.effects.effects:
        return [
            "each effect from all pairs of arms that differ in this setting alone",
            family_text(len(findings.effects.effects), "effect"),
        ]
    if kind == "stability" and findings is not None:
        return [f"verdict: {number(findings.passes_from)} or more passes", "intervals: Wilson or exact"]
    if kind == "injection" and findings is not None:
        return ["McNemar's exact test of the right answers, poisoned against clean"]
    return []


def _arms(summary: ExperimentSummary) -> list[Row]:
    findings: ArmsFindings = summary.findings
    return [
        {
            "Change": effect_label(effect),
            "Difference": signed(effect.difference.difference, 3),
            "Interval of all effects": interval_text(effect.low, effect.high, 3),
            "p, corrected": p_value(effect.adjusted_p),
            "Verdict": effect.verdict,
            "n": f"{effect.difference.n_pairs:,}",
        }
        for effect in findings.effects.effects
    ]


def _stability(summary: ExperimentSummary) -> list[Row]:
    findings: StabilityFindings = summary.findings
    return [
        {
            "Change": each.change,
            "Ways to ask": f"{each.variants}",
            "Questions that flip": f"{len(each.questions):,}",
            "Share": percent(each.flips.rate.mean),
            "95 % interval": span(each.flips.rate),
            "n": f"{each.flips.compared:,}",
        }
        for each in findings.changes
    ]


def _injection(summary: ExperimentSummary) -> list[Row]:
    findings: InjectionFindings = summary.findings
    titles = {result.arm.key: result.arm.title for result in summary.arms}
    return [
        {
            "Poisoned": titles[arm.arm],
            "Attack success": percent(arm.outcome.success.mean),
            "95 % interval": span(arm.outcome.success),
            "Right, less clean": signed(arm.outcome.drop.difference),
            "McNemar p": p_value(arm.outcome.p),
            "n": count(arm.outcome.success.n_scored, "case"),
        }
        for arm in findings.arms
    ]


ROWS: Mapping[str, Callable[[ExperimentSummary], list[Row]]] = {
    "arms": _arms,
    "injection": _injection,
    "stability": _stability,
}
