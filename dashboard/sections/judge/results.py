"""What a judge said of a run: who judged, what became of each sample, the metrics, its own variance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from dashboard.charts.judge import status_chart
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
from metrics.schema.scores import Source

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
    """Give the reading that stands for the run on display."""
    listed = judge_results_of(view.store.ledger, view.run.run_id)
    digest = view.scored(view.run).judge_results.get(EVALUATION)
    return next((one for one in listed if one.kind == EVALUATION and one.digest == digest), None)


def verdict_section(view: View, made: JudgeResult) -> None:
    """Show what the judge said."""
    scored = view.scored(view.run)
    st.subheader("What the judge says")
    facts(
        [
            f"{markdown_text(made.model)}, prompt {markdown_text(made.prompt)}, {markdown_text(made.sdk)}",
            f"{markdown_text(made.at)} UTC",
            f"{made.scored:,} of {count(scored.n, 'sample')} have a verdict",
        ]
    )
    _statuses(scored)
    _metrics(scored)
    _injections(scored)
    path = scored.judge_result_path(EVALUATION)
    variance = _variance(str(path), scored) if path else []
    if variance:
        _variance_table(variance)


def _statuses(scored: ScoredRun) -> None:
    said = scored.auxiliary_table("judged")
    if said is None:
        return
    words, counts = np.unique(np.array(said["status"].to_pylist(), dtype=object), return_counts=True)
    found = {str(word): int(n) for word, n in zip(words, counts, strict=True)}
    shown = {word: found[word] for word in STATUS_TITLES if word in found}
    if set(shown) == {"scored"}:
        return
    st.markdown("**What became of each sample**")
    draw(status_chart(shown), "judge_statuses", f"Samples by what became of them: {shown}")
    with st.container(horizontal=True):
        for word in shown:
            if word != "scored" and st.button(
                f"{STATUS_TITLES[word].capitalize()} ({shown[word]:,})", key=f"judged_{word}"
            ):
                open_cases(cohort=f"judging:{word}")
    reasons = [
        str(reason) for reason in said["reason"].to_pylist() if reason and str(reason).startswith("judge: ")
    ]
    kinds, often = np.unique(reasons, return_counts=True)
    order = np.argsort(-often)[:8]
    if len(order):
        rows = [{"Reason": str(kinds[at]).removeprefix("judge: "), "Samples": int(often[at])} for at in order]
        show_table(rows, "Reasons of the samples without a verdict")


def _metrics(scored: ScoredRun) -> None:
    found = _judged(scored)
    if not found:
        st.info("No sample has a verdict yet.")
        return
    show_table([_row(name, found[name]) for name in FIRST if name in found], "Metrics by the judge's labels")
    facts(
        [
            "computed from the judge's labels, judged",
            "95 % interval over questions",
            "bounds: if all that failed had been as bad, or as good, as can be",
        ]
    )
    others = sorted(name for name in found if name not in FIRST)
    if others and st.toggle(f"Show the {len(others)} other metrics of this reading", key="judge_others"):
        show_table([_row(name, found[name]) for name in others], "Further metrics by the judge's labels")


@st.cache_resource(max_entries=32, show_spinner=False)
def _summary(_scored: ScoredRun, scores: str) -> dict[str, MetricSummary]:  # noqa: ARG001 -- cache key
    names = [name for name, sources in _scored.sources.items() if Source.JUDGED in sources and _plain(name)]
    return summarise(_scored, names, source=Source.JUDGED)


def _plain(name: str) -> bool:
    return "@" not in name or name.endswith("@5")


def _judged(scored: ScoredRun) -> dict[str, MetricSummary]:
    return _summary(scored, scored.scores_path.as_posix())


def _row(name: str, one: MetricSummary) -> dict[str, str]:
    bounds = NOT_MEASURED if one.worst is None else f"{number(one.worst)} to {number(one.best)}"
    return {
        "Metric": title_of(name),
        "Mean": number(one.mean),
        "95 % interval": interval_text(one.low, one.high),
        "Questions": f"{one.n_scored:,} of {one.n_applicable:,}",
        "Failed": f"{one.n_failed:,}",
        "Bounds": bounds,
        "": "too few" if one.too_few else "",
    }


def _injections(scored: ScoredRun) -> None:
    said = scored.auxiliary_table("judged")
    tried = 0 if said is None else int((said["injections"].to_numpy() > 0).sum())
    if not tried:
        return
    st.warning(
        f"In {count(tried, 'sample')} some text tries to instruct the judge. The judge is told to "
        f"report such "
        "text and not to follow it; read these cases before trusting their verdicts."
    )
    if st.button(f"Open the {count(tried, 'case')}", key="judge_injections"):
        open_cases(cohort="injection")


@st.cache_resource(max_entries=16, show_spinner=False)
def _variance(path: str, _scored: ScoredRun) -> list[Variance]:
    return judge_variance(Path(path))


def _variance_table(found: list[Variance]) -> None:
    st.markdown("**The judge against itself**")
    rows = [
        {
            "Metric": title_of(one.metric),
            "Samples read several times": one.samples,
            "Readings each": f"{one.evaluations:.1f}",
            "Standard deviation within a sample": number(one.deviation, 3),
            "Share of samples with the same value every time": number(one.same_share),
        }
        for one in found
    ]
    show_table(rows, "How far repeated readings of the same sample differ")
    facts(
        ["repeated readings of the same sample, judged", "a difference between versions below this is noise"]
    )
