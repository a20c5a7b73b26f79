"""The open case: conclusion, question, answer with its claims, reference, scores, and the context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from ragtriage.dashboard.present.case_html.case import (
    answer_html,
    citations_html,
    context_cards_html,
    highlights_of,
    trace_html,
    trace_id,
)
from ragtriage.dashboard.present.case_html.report_case import check_rows
from ragtriage.dashboard.present.page_html.blocks import (
    CaseHead,
    CaseScore,
    Chip,
    case_head,
    case_reference,
    case_scores,
)
from ragtriage.dashboard.shell.components import draw_html, facts, metric_title, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.shell.widgets import draw_folded
from ragtriage.dashboard.wording.diagnosis import case_conclusion, doubted_by, stage_evidence
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.data.diagnosis.context import GOLD_IN_CONTEXT
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import case_doubts
from ragtriage.data.diagnosis.good_case import ANSWERABILITY, LABEL, PART_TITLES, CasePart, case_parts
from ragtriage.data.exports.feedback import IDS
from ragtriage.data.scoring.batch_inputs import batch_of
from ragtriage.data.store.judge_results import EVALUATION, judge_of
from ragtriage.data.suites.citations import citation_style
from ragtriage.data.text.shown_case import cuts_told, shown_case
from ragtriage.metrics.definitions.answer_text import NOT_DECIDED, RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.metric_registry import compute, ordered, title_of
from ragtriage.metrics.number_text import NOT_MEASURED, count, number
from ragtriage.metrics.result_table import Number, ResultTable
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import Source, Status

JUDGED_LABELS = {
    "addresses": "addresses the question",
    "complete": "complete",
    "agrees": "agrees with the reference",
}
LINE_LENGTH = 95  # characters of a line of an answer in a wide window
LONGEST_QUOTE = 300
MOST_QUOTES = 3
LONGEST_OPEN_REFERENCE = 320  # characters; a longer one is folded at first, so that the scores stay in view
SCORES_SHOWN = (
    "context_precision", "context_recall", "faithfulness", "answer_relevancy", *CORRECTNESS,
    "answer_f1", "answer_precision", "answer_recall",
)  # fmt: skip
MOST_SCORES = 6
_USUAL = {"right": RIGHT_BY_TEXT, "grounded": "faithfulness", "on_question": "answer_relevancy"}
COMPARED_SCORES = (
    "context_precision",
    "context_recall",
    "faithfulness",
    "answer_relevancy",
    *CORRECTNESS,
)


def open_case(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """Draw one case."""
    row, findings = int(sample["row"]), view.findings(view.run)
    shown = shown_case(sample)
    highlights = highlights_of(shown)
    if diagnosis.scored.stage_features["refused"][row] == 1:  # a refusal claims nothing to be supported
        highlights = replace(highlights, attribution=None)
    head = head_of(shown, case_chips(diagnosis, findings, row))
    # how the run on display cites; None for not at all
    # a height in pixels that question and answer fill in a wide window
    answer, question = str(shown.get("answer") or ""), str(shown.get("question") or "")
    least_height = 90 + 22 * (len(question) // LINE_LENGTH) + 20 * (len(answer) // LINE_LENGTH)
    # the reference answer, open where it is short and no claims need the room
    text = shown["reference_answer"] or ""
    estimated = not shown["claims"] and highlights.attribution is not None
    reference = case_reference(text, not shown["claims"] and len(text) <= LONGEST_OPEN_REFERENCE, estimated)
    draw_html(
        case_head(head)
        + answer_html(shown, highlights)
        + citations_html(
            shown, citation_style(view.store.workspace.samples_path(view.run.run_id), view.options.citations)
        )
        + reference,
        least_height,
    )
    if cuts := cuts_told(shown):
        facts(cuts)
    _judge_labels(diagnosis, sample)
    checks = check_rows(sample)
    if checks:
        show_table(ResultTable("Checks of this case, failed ones first", tuple(checks)))
    doubts = [finding.title for finding in read_first(findings) if not finding.rows or row in finding.rows]
    st.html(
        case_scores(scores_with_thresholds(diagnosis, sample), notes(diagnosis, findings, sample))
        + context_cards_html(shown, highlights, "; ".join(doubts))
    )
    case_details(view, diagnosis, sample)


def head_of(sample: Mapping[str, Any], chips: list[Chip]) -> CaseHead:
    """Return what stands above the answer of a sample."""
    turns = [(turn["role"] or "", turn["text"] or "") for turn in sample["history"] or ()]
    return CaseHead(chips, turns, sample["question"] or "")


def _judge_labels(diagnosis: Diagnosis, sample: Mapping[str, Any]) -> None:
    """Show the judge's labels of the answer, or why it gave none."""
    path = diagnosis.scored.judge_result_path(EVALUATION)
    if path is None:
        return
    judged = sample.get("judged")
    if judged is None:
        reasons = diagnosis.scored.auxiliary_table("judged")
        reason = "" if reasons is None else str(reasons["reason"][int(sample["row"])].as_py() or "")
        facts(f"no verdict: {markdown_text(reason)}" if reason else "")
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
    facts(*labels, split, averaged, f"judged by {markdown_text(judge_of(path))}")
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


def case_chips(diagnosis: Diagnosis, findings: Sequence[Finding], row: int) -> list[Chip]:
    """Return the conclusion on a case, what it rests on, and whether the answer is a refusal."""
    stage, conclusion = int(diagnosis.stages.stage[row]), case_conclusion(diagnosis, row)
    doubts = case_doubts(diagnosis, findings, row)
    if stage >= 0:
        chips = [Chip(conclusion, owner=STAGES[stage].owner, help=STAGES[stage].meaning)]
        if diagnosis.stages.inferred[row]:
            chips.append(Chip("inferred: no gold recorded", help="Inferred from the context metric."))
    elif diagnosis.measured[row]:
        chips = [Chip("✓ Good", "good"), Chip(conclusion)]
    else:
        chips = [Chip(f"– {conclusion}", "unmeasured")]
    if doubts:
        chips.append(Chip("! doubted", "unclear", help=capital(doubted_by(doubts))))
    features = diagnosis.scored.stage_features
    if features["refused"][row] == 1 and (stage < 0 or STAGES[stage].owner != "refusal"):
        chips.append(Chip(f"refusal, {Source(int(features['refused_source'][row])).label}"))
    return chips


def scores_with_thresholds(diagnosis: Diagnosis, sample: Mapping[str, Any]) -> list[CaseScore]:
    """Return the four parts of a good case, measured or not, then the other scores that it has."""
    row = int(sample["row"])
    reasons = {score["metric"]: score["reason"] or "" for score in sample["scores"] or ()}
    if diagnosis.right.undecided[row]:
        reasons.setdefault(RIGHT_BY_TEXT, NOT_DECIDED)
    parts = case_parts(diagnosis, row)
    scores, shown = (
        [_part_score(diagnosis, part, reasons, row) for part in parts],
        {part.metric for part in parts},
    )
    for name in SCORES_SHOWN:
        column = None if name in shown else diagnosis.scored.column(name)
        if column is not None and column.status[row] == Status.SCORED:
            source = Source(int(column.source[row])).label
            title = metric_title(name)
            scores.append(_score(title, float(column.values[row]), source, reasons.get(name, "")))
    return scores[:MOST_SCORES]


def _part_score(diagnosis: Diagnosis, part: CasePart, reasons: Mapping[str, str], row: int) -> CaseScore:
    """Return one of the four parts of a good case, named with what it is taken from.

    At a k beyond the documents of its context a metric is one of all of these.
    """
    usual = diagnosis.context_metric if part.key == "found" else _USUAL[part.key]
    metric = part.metric or usual or ""
    name = "label" if metric == LABEL else metric_title(metric)
    k, documents = whole_number(metric.rpartition("@")[2]), diagnosis.scored.stage_features["documents"][row]
    if part.key == "found" and k is not None and 0 < documents < k:
        name = f"{title_of(metric).removesuffix(f'@{k}')}, {count(int(documents), 'document')}"
    known, why = part.value is not None, reasons.get(metric, "")
    named = known or part.key != "right"  # what is not known to be right could be so by any of its sources
    title = f"{PART_TITLES[part.key]}: {name}" if named and name else PART_TITLES[part.key]
    if part.value is None:
        return CaseScore(title, NOT_MEASURED, None, part.threshold, help=why or "not measured for this case")
    source = "oracle context" if metric == GOLD_IN_CONTEXT else part.source
    if metric in (LABEL, ANSWERABILITY):
        if metric == ANSWERABILITY:
            title = f"Right to {'answer' if diagnosis.refusals.answered[row] else 'refuse'}"
        score = _score(title, part.value, source, why, part.threshold)
        return replace(score, value="yes" if part.value else "no")
    return _score(title, part.value, source, why, part.threshold)


def _score(title: str, value: float, source: str, reason: str, threshold: float | None = None) -> CaseScore:
    how = ". ".join(text for text in (capital(source), reason) if text)
    return CaseScore(title, number(value), min(1.0, max(0.0, value)), threshold, source, how)


def notes(diagnosis: Diagnosis, findings: Sequence[Finding], sample: Mapping[str, Any]) -> list[str]:
    """Return the evidence for the failure stage of a bad case and, unless it is doubted, what to try."""
    row = int(sample["row"])
    stage = int(diagnosis.stages.stage[row])
    if stage < 0:
        return []
    sentence = stage_evidence(diagnosis, sample)
    advice = "" if case_doubts(diagnosis, findings, row) else f"What to try: {STAGES[stage].advice}"
    return [f"Evidence: {sentence}" if sentence else "", advice]


def case_details(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """Draw what is open on request alone; closed parts compute nothing."""
    draw_folded(
        "Every score, with source and reason",
        "case_all_scores",
        lambda: _score_tables(view, diagnosis, sample),
    )
    draw_folded(
        "The same question in the other runs",
        "case_other_runs",
        lambda: _other_runs(view, str(sample["question_id"])),
    )
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
            for name in COMPARED_SCORES
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
    facts(*parts)
    link, trace = trace_html(sample), trace_id(sample)
    if link:
        st.html(link)
    if trace:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("trace id", width="content")
            st.code(trace, language=None, width="content")
