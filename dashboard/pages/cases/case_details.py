"""What is read of the open case on request: every score with its reason, other runs, facts of the sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from ragtriage.dashboard.present.case_html.case import trace_html, trace_id
from ragtriage.dashboard.shell.components import facts, metric_title, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.exports.feedback import IDS
from ragtriage.data.scoring.batch_inputs import batch_of
from ragtriage.data.suites.citations import citation_style
from ragtriage.metrics.metric_registry import compute, ordered
from ragtriage.metrics.result_table import Number, ResultTable
from ragtriage.metrics.schema.scores import Status
from ragtriage.metrics.schema.source import Source

HEADLINES = ("context_precision", "context_recall", "faithfulness", "answer_relevancy", "answer_correctness")


def case_details(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """Draw what is open on request alone; closed parts compute nothing."""
    with st.expander("Every score, with source and reason", on_change="rerun", key="case_all_scores") as box:
        if box.open:
            _score_tables(view, diagnosis, sample)
    with st.expander("The same question in the other runs", on_change="rerun", key="case_other_runs") as box:
        if box.open:
            _other_runs(view, str(sample["question_id"]))
    sample_facts(sample)


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
                {
                    "Metric": title,
                    "Value": Number(column.values[row], 2),
                    "Obtained": source,
                    "Reason": reason,
                }
            )
        else:
            absent.append((name, {"Metric": title, "Status": status.label, "Why": reason}))
    show_table(ResultTable("Scores of this case", tuple(scored)))
    ratings = [
        {
            "Person": rating["annotator"],
            "Metric": rating["metric"],
            "Value": Number(rating["value"], 2),
            "Note": rating["note"],
        }
        for rating in sample["human"] or ()
    ]
    if ratings:
        show_table(ResultTable("Human labels in the imported file, on their own scale", tuple(ratings)))
    if absent and st.toggle(f"Show the {len(absent)} without a value, and why", key="absent_scores"):
        computed = _computed_reasons(sample, view)
        rows = [{**cells, "Why": cells["Why"] or computed.get(name, "")} for name, cells in absent]
        show_table(ResultTable("Metrics without a value for this case", tuple(rows)))


def _computed_reasons(sample: dict[str, Any], view: View) -> dict[str, str]:
    """Compute the metrics of one sample again for the reasons, which are not stored."""
    import pyarrow as pa

    from ragtriage.data.store.sample_schema import SCHEMA

    style = citation_style(view.store.workspace.samples_path(view.run.run_id), view.options.citations)
    batch = batch_of(pa.Table.from_pylist([sample], schema=SCHEMA), view.options.match, style=style)
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
        rows.append({"Run": view.labels[run.run_id], "Cases": bad if measured else None, **means})
    show_table(ResultTable("The same question in every run of the project", tuple(rows)))


def _mean(values: Any) -> Number:
    finite = values[np.isfinite(values)]
    return Number(float(finite.mean()) if len(finite) else None, 2)


def sample_facts(sample: dict[str, Any]) -> None:
    """Draw id, repeat, latency, cost and tags of a sample in small print."""
    parts = [f"question id {markdown_text(str(sample['question_id']))}", f"repeat {sample['repeat']}"]
    if sample["latency_ms"] is not None:
        parts.append(f"latency {sample['latency_ms']:,.0f} ms")
    if sample["cost_usd"] is not None:
        parts.append(f"cost {sample['cost_usd']:.4f} USD")
    parts += [
        f"{markdown_text(tag['key'])}: {markdown_text(shorten(tag['value'], 60))}"
        for tag in sample["tags"] or ()
        if tag["key"] not in IDS
    ]
    facts(parts)
    _trace(sample)


def _trace(sample: dict[str, Any]) -> None:
    """Draw the way back to the tool that recorded a sample: a link, and the id of the trace to copy."""
    link, trace = trace_html(sample), trace_id(sample)
    if link:
        st.html(link)
    if trace:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("trace id", width="content")
            st.code(trace, language=None, width="content")
