"""The judge's results on a run: who judged, the status of each sample, the metrics, the judge's variance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from dashboard.charts.judge import status_chart
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import draw, facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number
from data.cases.judge_cohorts import STATUS_TITLES
from data.judge.variance import Variance, judge_variance
from data.scoring.scored_run import ScoredRun
from data.scoring.summaries import MetricSummary, summarise
from data.store.judge_replies import EVALUATION
from data.store.judge_results import JudgeResult, judge_results_of
from metrics.metric_registry import title_of
from metrics.schema.source import Source

__all__ = ["current_result", "verdict_section"]

FIRST = (
    "faithfulness",
    "answer_relevancy",
    "correctness",
    "completeness",
    "context_relevance",
    "context_precision",
    "context_recall",
    "hallucination",
    "refused",
    "ignored_top_ranked",
    "self_contradiction",
)


def current_result(view: View) -> JudgeResult | None:
    """Return the current evaluation of the run on display."""
    listed = judge_results_of(view.store.ledger, view.run.run_id)
    digest = view.scored(view.run).judge_results.get(EVALUATION)
    return next((result for result in listed if result.kind == EVALUATION and result.digest == digest), None)


def verdict_section(view: View, judge_result: JudgeResult) -> None:
    """Show the judge's results."""
    scored = view.scored(view.run)
    st.subheader("The judge's results")
    facts(
        [
            ", ".join(
                map(markdown_text, (judge_result.model, f"prompt {judge_result.prompt}", judge_result.sdk))
            ),
            f"{markdown_text(judge_result.at)} UTC",
            f"{judge_result.scored:,} of {count(scored.n, 'sample')} have a verdict",
        ]
    )
    _statuses(scored)
    _metrics(scored)
    _injections(scored)
    path = scored.judge_result_path(EVALUATION)
    variances = _variance(path) if path else []
    if variances:
        _variance_table(variances)


def _statuses(scored: ScoredRun) -> None:
    judged = scored.auxiliary_table("judged")
    if judged is None:
        return
    words, counts = np.unique(np.array(judged["status"].to_pylist(), dtype=object), return_counts=True)
    by_status = {str(word): int(n) for word, n in zip(words, counts, strict=True)}
    shown = {word: by_status[word] for word in STATUS_TITLES if word in by_status}
    if set(shown) == {"scored"}:
        return
    st.markdown("**Status of each sample**")
    draw(status_chart(shown), "judge_statuses", f"Samples by status: {shown}")
    with st.container(horizontal=True):
        for word in shown:
            if word != "scored" and st.button(
                f"{STATUS_TITLES[word].capitalize()} ({shown[word]:,})", key=f"judged_{word}"
            ):
                open_cases(cohort=f"judging:{word}")
    reasons = [
        str(reason) for reason in judged["reason"].to_pylist() if reason and str(reason).startswith("judge: ")
    ]
    texts, frequency = np.unique(reasons, return_counts=True)
    order = np.argsort(-frequency)[:8]
    if len(order):
        rows = [
            {"Reason": str(texts[at]).removeprefix("judge: "), "Samples": int(frequency[at])} for at in order
        ]
        show_table(rows, "Reasons of the samples without a verdict")


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def _judged_summary(scored: ScoredRun) -> dict[str, MetricSummary]:
    names = [
        name
        for name, sources in scored.sources.items()
        if Source.JUDGED in sources and ("@" not in name or name.endswith("@5"))
    ]
    return summarise(scored, names, source=Source.JUDGED)


def _metrics(scored: ScoredRun) -> None:
    summaries = _judged_summary(scored)
    if not summaries:
        st.info("No sample has a verdict yet.")
        return
    rows = [_row(name, summaries[name]) for name in FIRST if name in summaries]
    show_table(rows, "Metrics by the judge's labels")
    facts(
        [
            "computed from the judge's labels, judged",
            "95 % interval over questions",
            "bounds: if all failed samples had the worst, or the best, possible value",
        ]
    )
    others = sorted(name for name in summaries if name not in FIRST)
    if others and st.toggle(f"Show the {len(others)} other metrics of this evaluation", key="judge_others"):
        show_table([_row(name, summaries[name]) for name in others], "Further metrics by the judge's labels")


def _row(name: str, summary: MetricSummary) -> dict[str, str]:
    bounds = NOT_MEASURED if summary.worst is None else f"{number(summary.worst)} to {number(summary.best)}"
    return {
        "Metric": title_of(name),
        "Mean": number(summary.mean),
        "95 % interval": interval_text(summary.low, summary.high),
        "Questions": f"{summary.n_scored:,} of {summary.n_applicable:,}",
        "Failed": f"{summary.n_failed:,}",
        "Bounds": bounds,
        "": "too few" if summary.too_few else "",
    }


def _injections(scored: ScoredRun) -> None:
    judged = scored.auxiliary_table("judged")
    samples = 0 if judged is None else int((judged["injections"].to_numpy() > 0).sum())
    if not samples:
        return
    st.warning(
        f"In {count(samples, 'sample')} some text tries to instruct the judge. The judge is told to "
        "report such text and not to follow it; read these cases before trusting their verdicts."
    )
    if st.button(f"Open the {count(samples, 'case')}", key="judge_injections"):
        open_cases(cohort="injection")


@st.cache_resource(max_entries=16, show_spinner=False)
def _variance(path: Path) -> list[Variance]:
    return judge_variance(path)


def _variance_table(variances: list[Variance]) -> None:
    st.markdown("**The judge's agreement with itself**")
    rows = [
        {
            "Metric": title_of(variance.metric),
            "Samples evaluated several times": variance.samples,
            "Evaluations each": f"{variance.evaluations:.1f}",
            "Standard deviation within a sample": number(variance.deviation, 3),
            "Share of samples with the same value every time": number(variance.same_share),
        }
        for variance in variances
    ]
    show_table(rows, "How far repeated evaluations of the same sample differ")
    facts(
        [
            "repeated evaluations of the same sample, judged",
            "a difference between versions below this is noise",
        ]
    )
