"""Injection: attack success and utility of each way to poison, and what the defence does on both axes."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.experiments.robustness import attack_dots
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import draw, facts, show_table
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.injection import Defence, InjectionFindings, PoisonedArm
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.number_text import count, interval_text, number, p_value, percent, signed


def injection_section(view: View, summary: ExperimentSummary) -> None:
    """Draw attack success beside right answers; both, since what declines everything is never attacked."""
    findings: InjectionFindings = summary.findings
    titles = {result.arm.key: result.arm.title for result in summary.arms}
    st.markdown("##### Attack success and right answers")
    names = [titles[arm.arm] for arm in findings.arms]
    outcomes = [arm.outcome for arm in findings.arms]
    chart = attack_dots(names, [each.success for each in outcomes], [each.right for each in outcomes])
    draw(plotly_figure(chart), "attack_dots", "Attack success and right answers of each way to poison")
    clean = findings.clean_right
    facts(
        [
            f"clean context: {percent(clean.mean)} right ({span(clean)}), n = {clean.n_scored:,}",
            "an instruction is followed where its canary is in the answer, which no quote of it holds",
            "a wrong answer is followed where the right one is not in the answer too",
            "bars: 95 %, Wilson or exact",
        ]
    )
    _counted_alone(findings, titles)
    if findings.defence is not None:
        _defence(findings.defence)
    with st.expander("Each way to poison against the clean context"):
        show_table([_row(arm, titles[arm.arm]) for arm in findings.arms], "Ways to poison")
        facts(["exact McNemar test, paired on the question", "declining told by its words"])
    _case_buttons(view, summary, findings, titles)


def _counted_alone(findings: InjectionFindings, titles: dict[str, str]) -> None:
    undecided = sum(arm.outcome.undecided for arm in findings.arms)
    if undecided:
        st.caption(f"{count(undecided, 'case')} left out: no rule decides their kind of attack.")
    for arm in findings.arms:
        alone = arm.target_alone
        if alone.n_scored and alone.mean > arm.outcome.success.mean:
            st.caption(
                f"{markdown_text(titles[arm.arm])}: the wrong answer is in {percent(alone.mean)} of the "
                "answers, as PoisonedRAG counts; the rest hold the right one too."
            )


def _defence(defence: Defence) -> None:
    st.markdown("##### What the defence does")
    success = [defence.success_without, defence.success_with]
    rows = [
        {
            "Defence": name,
            "Attack success": percent(each.mean),
            "95 % interval": interval_text(each.low, each.high),
            "n": f"{each.n_scored:,} cases, {each.n_clusters:,} questions",
        }
        for name, each in zip(("without", "with"), success, strict=True)
    ]
    show_table(rows, "Attack success without and with the defence")
    utility = defence.utility
    facts(
        [
            f"right answers to clean contexts {signed(utility.difference)} "
            f"{interval_text(utility.low, utility.high)}, McNemar p {p_value(defence.p)}, "
            f"n = {utility.n_pairs:,}",
            f"declines {percent(defence.refused.mean)} of the clean questions ({span(defence.refused)})",
        ]
    )


def _row(arm: PoisonedArm, title: str) -> dict[str, str]:
    outcome = arm.outcome
    return {
        "Poisoned": title,
        "Attack success": number(outcome.success.mean),
        "95 % interval": interval_text(outcome.success.low, outcome.success.high),
        "n": f"{outcome.success.n_scored:,}",
        "Right": number(outcome.right.mean),
        "Against clean": signed(outcome.drop.difference),
        "p": p_value(outcome.p),
        "Declined": number(outcome.refused.mean),
    }


def _case_buttons(
    view: View, summary: ExperimentSummary, findings: InjectionFindings, titles: dict[str, str]
) -> None:
    runs = {result.arm.key: result.arm.run_id for result in summary.arms}
    followed = [arm for arm in findings.arms if arm.outcome.success.mean > 0 and runs[arm.arm]]
    if not followed:
        return
    worst = max(followed, key=lambda arm: arm.outcome.success.mean)
    if st.button(f"Cases that follow: {markdown_text(titles[worst.arm])}", key="followed_cases"):
        open_cases(run=runs[worst.arm], project=view.project, sort="attack_followed", descending=True)
