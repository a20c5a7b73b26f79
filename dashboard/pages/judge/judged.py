"""The judge's results on a run: the status of each sample, the metrics, the judge's variance and bias."""

import numpy as np
import pyarrow.compute as pc
import streamlit as st

from ragtriage.dashboard.charts.agreement import status_chart
from ragtriage.dashboard.shell.components import draw, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept, kept_with_spinner
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.tables.judged import (
    judged_table,
    length_table,
    order_table,
    position_table,
    variance_table,
)
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.judge_cohorts import STATUS_TITLES
from ragtriage.data.judge.bias import JudgeBias, judge_bias, judge_variance
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary, summarise
from ragtriage.data.store.judge_results import EVALUATION, JudgeResult, judge_results_of
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import ResultTable, Row
from ragtriage.metrics.schema.scores import Source
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS

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
STRONG = 0.3  # a rank correlation with length from which on it is pointed at
_bias = kept_with_spinner("Looking for bias")(judge_bias)


def current_result(view: View) -> JudgeResult | None:
    """Return the current evaluation of the run on display."""
    listed = judge_results_of(view.store.ledger, view.run.run_id)
    digest = view.scored(view.run).judge_results.get(EVALUATION)
    return next((result for result in listed if result.kind == EVALUATION and result.digest == digest), None)


def verdict_section(view: View, judge_result: JudgeResult) -> None:
    """Show the judge's results."""
    scored = view.scored(view.run)
    st.subheader("The judge's results")
    client = "recorded replies" if judge_result.origin else judge_result.sdk
    facts(
        ", ".join(map(markdown_text, (judge_result.model, f"prompt {judge_result.prompt}", client))),
        f"{markdown_text(judge_result.at)} UTC",
        f"{judge_result.scored:,} of {count(scored.n, 'sample')} have a verdict",
    )
    if judge_result.origin:
        st.caption(f"These replies are a recorded set: {markdown_text(judge_result.origin)}")
    _statuses(scored)
    _metrics(scored)
    _injections(scored)
    _quotes(scored)
    path = scored.judge_result_path(EVALUATION)
    variances = _variance(path) if path else []
    if variances:
        st.markdown("**The judge's agreement with itself**")
        show_table(variance_table(variances))
        facts(
            "repeated evaluations of the same sample, judged",
            "noise: what the judge's variation alone explains (95 %) of a difference of the means of two "
            "versions, each over n samples judged as often; differences between questions come on top",
        )
    bias_section(view)


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
        for word, count in shown.items():
            if word != "scored" and st.button(
                f"{STATUS_TITLES[word].capitalize()} ({count:,})", key=f"judged_{word}"
            ):
                open_cases(cohort=f"judging:{word}")
    reasons = [
        str(reason) for reason in judged["reason"].to_pylist() if reason and str(reason).startswith("judge: ")
    ]
    texts, frequency = np.unique(reasons, return_counts=True)
    order = np.argsort(-frequency)[:8]
    if len(order):
        rows: list[Row] = [
            {"Reason": str(texts[at]).removeprefix("judge: "), "Samples": int(frequency[at])} for at in order
        ]
        show_table(ResultTable("Reasons of the samples without a verdict", tuple(rows)))


@kept
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
    first = {name: summaries[name] for name in FIRST if name in summaries}
    show_table(
        judged_table(first, "Metrics by the judge's labels"),
        None,
        "Computed from the judge's labels, judged; repeated evaluations of a sample averaged",
        "95 % interval over questions",
        "Bounds: if all failed samples had the worst, or the best, possible value",
        f"With caution: fewer than {FEW_CLUSTERS} questions, or values that do not vary",
    )
    others = sorted(name for name in summaries if name not in FIRST)
    if others and st.toggle(f"Show the {len(others)} other metrics of this evaluation", key="judge_others"):
        further = {name: summaries[name] for name in others}
        show_table(judged_table(further, "Further metrics by the judge's labels"))


def _injections(scored: ScoredRun) -> None:
    judged = scored.auxiliary_table("judged")
    samples = 0 if judged is None else int((judged["injections"].to_numpy() > 0).sum())
    if not samples:
        return
    st.warning(
        f"In {count(samples, 'sample')} some text tries to instruct the judge. Its prompt says to "
        "report such text, not to follow it; read these cases before trusting their verdicts."
    )
    if st.button(f"Open the {count(samples, 'case')}", key="judge_injections"):
        open_cases(cohort="injection")


def _quotes(scored: ScoredRun) -> None:
    """Show how many of the judge's quotes stand in the documents they name, and claims supported in part."""
    judged = scored.auxiliary_table("judged")
    if judged is None or "quotes" not in judged.column_names or not pc.sum(judged["quotes"]).as_py():
        return
    quotes, void = (int(pc.sum(judged[name]).as_py()) for name in ("quotes", "void_quotes"))
    partly = int(pc.sum(judged["partly_supported"]).as_py())
    st.markdown("**The judge's evidence**")
    facts(
        f"{quotes:,} quotes looked up in the documents; {void:,} ({percent(void / quotes, 1)}) are not "
        "there, and the support that rests on them is void",
        f"{count(partly, 'claim')} supported in part, each counts a half",
    )
    with st.container(horizontal=True):
        for cohort, title, n in (
            ("void_quote", "with a quote that is not there", void),
            ("partly_supported", "with a claim supported in part", partly),
        ):
            if n and st.button(f"Open the cases {title}", key=f"judge_{cohort}"):
                open_cases(cohort=cohort)


_variance = kept(judge_variance)


def bias_section(view: View) -> None:
    """Draw what is known of the biases of the judge of the run on display."""
    bias = _bias(view.scored(view.run), view.store.ledger)
    st.markdown("**Is the judge biased?**")
    if bias.own_model:
        st.warning(f"{markdown_text(bias.own_model[0].upper() + bias.own_model[1:])}.")
    elif not bias.generator:
        st.caption(
            "The run does not name the model that answered, so the judge may be judging its own answers."
        )
    _order(bias, view.run.run_id)
    _length(bias)


def _order(bias: JudgeBias, run_id: str) -> None:
    if not bias.order:
        st.caption(
            "Order of the documents: not measured. A share of the samples judged with their documents in "
            "another order shows whether the judge favours what it sees first: "
            f"`ragtriage judge {run_id} --shuffle 0.2`"
        )
        return
    show_table(order_table(bias.order))
    show_table(position_table(bias.position))
    favoured = [effect.label for effect in bias.position if effect.low > 0]
    if favoured:
        st.warning(f"The judge favours documents that it sees earlier: {', '.join(favoured)}.")
    facts(
        f"{count(bias.shuffled, 'sample')} judged in two orders by one judge",
        "95 % bootstrap intervals over questions or conversations",
        "the judge's own variation is part of these differences",
    )


def _length(bias: JudgeBias) -> None:
    if not bias.length:
        return
    show_table(length_table(bias.length))
    strong = [
        title_of(effect.metric)
        for effect in bias.length
        if abs(effect.judge.value) >= STRONG and not effect.judge.low <= 0 <= effect.judge.high
    ]
    if strong:
        st.caption(
            f"{', '.join(strong)} goes with length. Longer answers may be better or worse: if "
            "there are human labels, look at their correlation with length."
        )
