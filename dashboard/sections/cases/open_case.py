"""The open case: conversation, diagnosis, answer, context, scores, and the same question in other runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from dashboard.case_html.case import STYLE, answer_html, context_html, conversation_html, highlights_of
from dashboard.case_html.checks import check_rows
from dashboard.shell.components import facts, metric_title, show_table
from dashboard.shell.session import View
from dashboard.wording.diagnosis import case_conclusion, doubted_by
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import NOT_MEASURED, count, number
from data.cases.checks import failed_checks_text
from data.diagnosis.context import GOLD_IN_CONTEXT
from data.diagnosis.diagnosis import Diagnosis
from data.diagnosis.doubts import case_doubts
from data.scoring.batch_inputs import batch_of
from data.store.judge_replies import EVALUATION
from data.store.judge_results import judge_of
from metrics.diagnosis.explanations import evidence_sentence
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import compute, ordered
from metrics.sanity.rule import Finding
from metrics.schema.scores import Status
from metrics.schema.source import Source

__all__ = ["open_case"]

JUDGED_LABELS = {
    "addresses": "addresses the question",
    "complete": "complete",
    "agrees": "agrees with the reference",
}
LONGEST_QUOTE = 300
MOST_QUOTES = 3
HEADLINES = ("context_precision", "context_recall", "faithfulness", "answer_relevancy", "answer_correctness")
EVIDENCE_NAMES = (
    "refused", "answerable", "gold_in_candidates", "gold_in_context", "has_candidates", "noise_sensitivity",
    "format_failed", "contradicts_itself", "contradicts_context", "faithfulness", "context_utilization",
    "omission", "answer_relevancy", "correctness", "context",
)  # fmt: skip


def open_case(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """Draw one case."""
    st.html(STYLE)
    st.html(conversation_html(sample))
    _diagnosis_badges(diagnosis, sample, view.findings(view.run))
    _check_table(sample)
    highlights = highlights_of(sample)
    st.markdown("**Answer**")
    st.html(answer_html(sample, highlights))
    _judge_labels(diagnosis, sample)
    if not sample["claims"] and highlights.attribution is not None:
        facts(
            ["green underlined: words found in the context, orange dashed: not found", "estimated, no judge"]
        )
    if sample["reference_answer"]:
        with st.expander("Reference answer", expanded=False):
            st.text(sample["reference_answer"])
    if highlights.gold:
        gold = f"gold named: {len(highlights.gold)}"
    else:
        spans = sample["relevant_spans"] or ()
        gold = f"gold text: {count(len(spans), 'span')}" if spans else "no gold named"
    documents = count(len(sample["retrieved"] or ()), "document")
    use = highlights.used_how or "unknown"
    st.markdown(f"**Context, in rank order** :gray[{documents} · {gold} · use {use}]")
    st.html(context_html(sample, highlights))
    with st.expander("Scores of this case, with source and reason", expanded=True):
        _score_tables(view, diagnosis, sample)
    with st.expander("The same question in the other runs"):
        _other_runs(view, str(sample["question_id"]))
    _sample_facts(sample)


def _check_table(sample: Mapping[str, Any]) -> None:
    """List the checks of a case with what they expect and what they got, failed ones first."""
    rows = check_rows(sample)
    if rows:
        show_table(rows, "Checks of this case, failed ones first")


def _diagnosis_badges(diagnosis: Diagnosis, sample: Mapping[str, Any], findings: Sequence[Finding]) -> None:
    """Show the conclusion on a case, whether it is a refusal, the metrics behind it, evidence, doubts."""
    row = int(sample["row"])
    stage = int(diagnosis.stages.stage[row])
    conclusion, doubts = case_conclusion(diagnosis, row), case_doubts(diagnosis, findings, row)
    if stage >= 0:
        badges = [f":red-badge[bad: {conclusion}{' (doubted)' if doubts else ''}]"]
    else:
        badges = [":green-badge[good]"] if diagnosis.measured[row] else []
        badges.append(f":gray-badge[{conclusion}]")
    features = diagnosis.scored.stage_features
    if features["refused"][row] == 1:
        badges.append(f":violet-badge[refusal, {Source(int(features['refused_source'][row])).label}]")
    st.markdown(" ".join(badges))
    values = []
    context = diagnosis.context.metric_at(row)
    for name in (context, "faithfulness", "answer_relevancy"):
        column = diagnosis.scored.column(name) if name else None
        if name == GOLD_IN_CONTEXT:
            values.append(
                f"{metric_title(name)} **{number(diagnosis.context.values[row])}** (oracle context)"
            )
        elif name and (column is None or column.status[row] != Status.SCORED):
            values.append(f"{metric_title(name)} {NOT_MEASURED}")
        elif name and column is not None:
            source = Source(int(column.source[row])).label
            values.append(f"{metric_title(name)} **{number(column.values[row])}** ({source})")
    facts(values)
    if stage >= 0:
        evidence: dict[str, float | str | None] = {
            name: float(diagnosis.features.known(name)[row]) for name in EVIDENCE_NAMES
        }
        evidence["failed_checks"] = failed_checks_text(sample)
        evidence["context_signal"] = metric_title(context) if context else None
        sentence = evidence_sentence(STAGES[stage].key, evidence)
        facts([f"what to try: {STAGES[stage].advice}" if not doubts else ""])
        facts(
            [
                f"evidence: {markdown_text(sentence)}" if sentence else "",
                f"⚠ {markdown_text(doubted_by(doubts))}" if doubts else "",
            ]
        )


def _judge_labels(diagnosis: Diagnosis, sample: Mapping[str, Any]) -> None:
    """Show the judge's labels of the answer, or why it gave none."""
    path = diagnosis.scored.judge_result_path(EVALUATION)
    if path is None:
        return
    judged = sample.get("judged")
    if judged is None:
        reasons = diagnosis.scored.auxiliary_table("judged")
        reason = "" if reasons is None else str(reasons["reason"][int(sample["row"])].as_py() or "")
        facts([f"no verdict: {markdown_text(reason)}" if reason else ""])
        return
    labels = [
        f"{title}: **{judged[name].replace('_', ' ')}**"
        for name, title in JUDGED_LABELS.items()
        if judged[name] is not None
    ]
    if judged["contradicts_itself"]:
        labels.append("**contradicts itself**")
    chunks = judged.get("parts", 1)
    rests = (
        "completeness is judged from the first" if judged["complete"] else "support across them is not seen"
    )
    split = f"read in {chunks} parts: {rests}" if chunks > 1 else ""
    table = diagnosis.scored.auxiliary_table("judged")
    times = 1 if table is None else int(table["evaluations"][int(sample["row"])].as_py())
    averaged = f"scores: means over {times} evaluations; labels: those of the first" if times > 1 else ""
    facts([*labels, split, averaged, f"judged by {markdown_text(judge_of(path))}"])
    _void_quotes(judged)
    for injection in judged["injections"]:
        quote = shorten(injection["quote"], LONGEST_QUOTE)
        st.warning(
            f"{markdown_text(injection['where'])}: {markdown_text(quote)}",
            title="Text that tries to instruct the judge",
        )


def _void_quotes(judged: Mapping[str, Any]) -> None:
    """Show the judge's quotes that are not in the documents they name."""
    claims = [*judged["claims"], *judged["statements"]]
    void = [item for claim in claims for item in claim.get("evidence", ()) if not item["found"]]
    if not void:
        return
    listed = "; ".join(
        f"document {item['rank']}: {markdown_text(shorten(item['quote'], LONGEST_QUOTE))}"
        for item in void[:MOST_QUOTES]
    )
    st.warning(listed, title="Quotes that are not in the document: the support that rests on them is void")


def _score_tables(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """List the scores, the human labels of the file, and on request the metrics without a value."""
    row = int(sample["row"])
    reasons = {score["metric"]: score["reason"] for score in sample["scores"] or ()}
    scored, absent = [], []
    for name in ordered(diagnosis.scored.metrics):
        column = diagnosis.scored.column(name)
        if column is None or ("@" in name and not name.endswith("@5")):
            continue
        title, reason, status = metric_title(name), reasons.get(name) or "", Status(int(column.status[row]))
        if status == Status.SCORED and np.isfinite(column.values[row]):
            source = Source(int(column.source[row])).label
            scored.append(
                {"Metric": title, "Value": number(column.values[row]), "Obtained": source, "Reason": reason}
            )
        else:
            absent.append((name, {"Metric": title, "Status": status.label, "Why": reason}))
    show_table(scored, "Scores of this case")
    ratings = [
        {
            "Person": rating["annotator"],
            "Metric": rating["metric"],
            "Value": number(rating["value"]),
            "Note": rating["note"],
        }
        for rating in sample["human"] or ()
    ]
    if ratings:
        show_table(ratings, "Human labels in the imported file, on their own scale")
    if absent and st.toggle(f"Show the {len(absent)} without a value, and why", key="absent_scores"):
        computed = _computed_reasons(sample, view)
        rows = [{**cells, "Why": cells["Why"] or computed.get(name, "")} for name, cells in absent]
        show_table(rows, "Metrics without a value for this case")


def _computed_reasons(sample: dict[str, Any], view: View) -> dict[str, str]:
    """Compute the metrics of one sample again for the reasons, which are not stored."""
    import pyarrow as pa

    from data.store.sample_schema import SCHEMA

    batch = batch_of(pa.Table.from_pylist([sample], schema=SCHEMA), view.options.match)
    scores_by_name = compute(batch, view.options.ks, view.options.convention)
    return {name: str(scores.reason[0]) for name, scores in scores_by_name.items()}


def _other_runs(view: View, question: str) -> None:
    rows = []
    for run in view.runs:
        scored = view.scored(run)
        at = int(np.searchsorted(scored.question_ids, question))
        if at >= len(scored.question_ids) or scored.question_ids[at] != question:
            continue
        samples = scored.question == at
        diagnosis = view.diagnosis(run)
        bad = f"{int(diagnosis.bad.bad[samples].sum())} of {int(samples.sum())} bad"
        means = {
            metric_title(name): _mean(scored.values(name)[samples])
            for name in HEADLINES
            if name in scored.sources
        }
        measured = diagnosis.measured[samples].any()
        rows.append({"Run": view.labels[run.run_id], "Cases": bad if measured else NOT_MEASURED, **means})
    show_table(rows, "The same question in every run of the project")


def _mean(values: Any) -> str:
    finite = values[np.isfinite(values)]
    return number(float(finite.mean())) if len(finite) else NOT_MEASURED


def _sample_facts(sample: dict[str, Any]) -> None:
    parts = [f"question id {markdown_text(str(sample['question_id']))}", f"repeat {sample['repeat']}"]
    if sample["latency_ms"] is not None:
        parts.append(f"latency {sample['latency_ms']:,.0f} ms")
    if sample["cost_usd"] is not None:
        parts.append(f"cost {sample['cost_usd']:.4f} USD")
    parts += [
        f"{markdown_text(tag['key'])}: {markdown_text(shorten(tag['value'], 60))}"
        for tag in sample["tags"] or ()
    ]
    facts(parts)
