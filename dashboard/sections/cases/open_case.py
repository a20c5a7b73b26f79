"""The pieces of the Cases page: the list and the open case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from dashboard.case_html.case import (
    STYLE,
    CaseHighlights,
    answer_html,
    context_html,
    conversation_html,
    highlights_of,
)
from dashboard.sections.cases.filters import filtered_rows
from dashboard.shell.components import facts, metric_title, show_table
from dashboard.shell.session import View, current_selection, keep
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import NOT_MEASURED, count, number
from data.cases.cases import CasePage
from data.diagnosis.diagnosis import Diagnosis, row_of
from data.scoring.batch_inputs import batch_of
from data.scoring.scored_run import ScoredRun
from data.store.judge_replies import EVALUATION
from data.store.judge_results import judge_of
from metrics.diagnosis.explanations import evidence_sentence
from metrics.diagnosis.patterns import PATTERNS
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import compute, ordered
from metrics.schema.scores import IntArray, Source, Status

__all__ = [
    "case_list",
    "case_name",
    "judge_line",
    "listed",
    "open_case",
    "pager",
    "position_of",
]

LABELS = {
    "addresses": "addresses the question",
    "complete": "complete",
    "agrees": "agrees with the reference",
}
LONGEST_QUOTE = 300


def judge_line(view: View, sample: Mapping[str, Any]) -> None:
    """Write the judge's labels under the answer; the reason where it has no verdict."""
    scored = view.scored(view.run)
    path = scored.judge_result_path(EVALUATION)
    if path is None:
        return
    said = sample.get("judged")
    if said is None:
        told = scored.auxiliary_table("judged")
        reason = "" if told is None else str(told["reason"][int(sample["row"])].as_py() or "")
        facts([f"no verdict: {markdown_text(reason)}" if reason else ""])
        return
    parts = [f"{title}: **{said[name]}**" for name, title in LABELS.items() if said[name] is not None]
    if said["contradicts_itself"]:
        parts.append("**contradicts itself**")
    cut = said.get("parts", 1)
    split = f"read in {cut} parts: completeness rests on the first" if cut > 1 else ""
    facts([*parts, split, f"judged by {markdown_text(judge_of(path))}"])
    for one in said["injections"]:
        st.warning(
            f"{markdown_text(one['where'])}: {markdown_text(shorten(one['quote'], LONGEST_QUOTE))}",
            title="Text that tries to instruct the judge",
        )


HEADLINES = ("context_precision", "context_recall", "faithfulness", "answer_relevancy", "answer_correctness")


def case_list(page: CasePage, diagnosis: Diagnosis, current: int | None) -> None:
    """Draw one page of the list; a click opens the case beside it."""
    rows = [_list_row(case, diagnosis, case["row"] == current) for case in page.cases]
    key = f"cases_{page.page}_{current}_{len(page.cases)}"
    at = next((place for place, case in enumerate(page.cases) if case["row"] == current), None)
    st.dataframe(
        rows,
        hide_index=True,
        key=key,
        on_select=lambda: _take_case(key, page.cases),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [] if at is None else [at]}},
        height=min(38 + 35 * max(len(rows), 1), 760),
        column_config={
            "": st.column_config.TextColumn(width=30),
            "Question": st.column_config.TextColumn(width="medium"),
        },
        alt="Cases that the filters leave",
    )


def _list_row(case: dict[str, Any], diagnosis: Diagnosis, open_: bool) -> dict[str, str]:
    row = case["row"]
    stage = int(diagnosis.stages.stage[row])
    labels = diagnosis.human_labels.labels.get(row, ())
    verdicts = " ".join({"pass": "✓", "fail": "✗", None: "✎"}[one.verdict] for one in labels)
    state = STAGES[stage].title if stage >= 0 else PATTERNS[int(diagnosis.pattern[row])].title
    return {
        "": "▸" if open_ else ("●" if diagnosis.bad.bad[row] else "○"),
        "Question": shorten(case["question"], 110),
        "State": state,
        "Label": verdicts,
        **(
            {"Repeat": str(case["repeat"])} if diagnosis.scored.n > len(diagnosis.scored.question_ids) else {}
        ),
    }


def _take_case(key: str, cases: Sequence[dict[str, Any]]) -> None:
    chosen = st.session_state[key]["selection"]["rows"]
    if chosen and chosen[0] < len(cases):
        case = cases[chosen[0]]
        keep(case=f"{case['question_id']}~{case['repeat']}")


def position_of(diagnosis: Diagnosis, rows: IntArray) -> int | None:
    """Find the open case among the listed rows; the first one when none is open or it is filtered away."""
    if not len(rows):
        return None
    question, _, repeat = current_selection().case.rpartition("~")
    row = row_of(diagnosis.scored, question, int(repeat)) if question and repeat.isdecimal() else None
    found = np.flatnonzero(rows == (-1 if row is None else row))
    return int(found[0]) if len(found) else 0


def case_name(scored: ScoredRun, row: int) -> str:
    """Name a case as the URL does."""
    return f"{scored.question_ids[scored.question[row]]}~{scored.repeats[row]}"


def pager(page: CasePage, rows: IntArray, scored: ScoredRun, size: int) -> None:
    """Draw the pages of the list; turning one opens its first case."""
    key = f"pager_{page.page}_{page.pages}"
    st.pagination(page.pages, default=page.page, key=key, on_change=_turn, args=(rows, scored, size, key))


def _turn(rows: IntArray, scored: ScoredRun, size: int, key: str) -> None:
    keep(case=case_name(scored, int(rows[(st.session_state[key] - 1) * size])))


def open_case(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """Write out one case."""
    row = int(sample["row"])
    st.html(STYLE)
    st.html(conversation_html(sample))
    _diagnosis_line(diagnosis, row)
    evidence = highlights_of(sample)
    st.markdown("**Answer**")
    st.html(answer_html(sample, evidence))
    judge_line(view, sample)
    if not sample["claims"] and evidence.attribution is not None:
        facts(
            ["green underlined: words found in the context, orange dashed: not found", "estimated, no judge"]
        )
    if sample["reference_answer"]:
        with st.expander("Reference answer", expanded=False):
            st.text(sample["reference_answer"])
    documents = sample["retrieved"] or ()
    gold = _gold_named(sample, evidence)
    st.markdown(
        f"**Context, in rank order** :gray[{len(documents)} documents · {gold}"
        f" · use {evidence.used_how or 'unknown'}]"
    )
    st.html(context_html(sample, evidence))
    with st.expander("Scores of this case, with source and reason", expanded=True):
        _score_table(view, diagnosis, sample)
    with st.expander("The same question in the other runs"):
        _history(view, str(sample["question_id"]))
    _facts_of(sample)


def _gold_named(sample: Mapping[str, Any], evidence: CaseHighlights) -> str:
    if evidence.gold:
        return f"gold named: {len(evidence.gold)}"
    spans = sample["relevant_spans"] or ()
    return f"gold text: {count(len(spans), 'span')}" if spans else "no gold named"


def _diagnosis_line(diagnosis: Diagnosis, row: int) -> None:
    stage = int(diagnosis.stages.stage[row])
    entry = PATTERNS[int(diagnosis.pattern[row])]
    parts = [f":gray-badge[pattern: {entry.title}]"]
    if stage >= 0:
        parts.append(f":red-badge[bad: {STAGES[stage].title}]")
    elif diagnosis.measured[row]:
        parts.append(":green-badge[good]")
    refused = diagnosis.scored.stage_features["refused"][row]
    if refused == 1:
        how = Source(int(diagnosis.scored.stage_features["refused_source"][row])).label
        parts.append(f":violet-badge[refusal, {how}]")
    st.markdown(" ".join(parts))
    facts(
        [
            _headline(diagnosis, name, row)
            for name in (diagnosis.context_metric, "faithfulness", "answer_relevancy")
            if name
        ]
    )
    if stage >= 0:
        known = {name: float(diagnosis.features.known(name)[row]) for name in EVIDENCE_NAMES}
        sentence = evidence_sentence(STAGES[stage].key, known)
        if sentence:
            facts([f"evidence: {sentence}"])


def _headline(diagnosis: Diagnosis, name: str, row: int) -> str:
    column = diagnosis.scored.column(name)
    if column is None or column.status[row] != Status.SCORED:
        return f"{metric_title(name)} {NOT_MEASURED}"
    return f"{metric_title(name)} **{number(column.values[row])}** ({Source(int(column.source[row])).label})"


EVIDENCE_NAMES = (
    "refused", "answerable", "gold_in_candidates", "gold_in_context", "has_candidates", "noise_sensitivity",
    "format_failed", "contradicts_itself", "faithfulness", "context_utilization", "omission",
    "answer_relevancy", "correctness", "context",
)  # fmt: skip


def _score_table(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """List the scores of the case; those without a value stand apart, with the reason."""
    rows = [_score_row(name, diagnosis, sample) for name in _shown_metrics(diagnosis)]
    scored = [one for one in rows if one["Value"] != NOT_MEASURED]
    show_table([{key: one[key] for key in one if key != "key"} for one in scored], "Scores of this case")
    people = [
        {
            "Person": one["annotator"],
            "Metric": one["metric"],
            "Value": number(one["value"]),
            "Note": one["note"],
        }
        for one in sample["human"] or ()
    ]
    if people:
        show_table(people, "Labels of people in the imported file, on the scale they used")
    absent = [one for one in rows if one["Value"] == NOT_MEASURED]
    if absent and st.toggle(f"Show the {len(absent)} without a value, and why", key="absent_scores"):
        reasons = _reasons(sample, view)
        show_table(
            [
                {
                    "Metric": one["Metric"],
                    "Status": one["Obtained"],
                    "Why": one["Reason"] or reasons.get(one["key"], ""),
                }
                for one in absent
            ],
            "Metrics without a value for this case",
        )


def _shown_metrics(diagnosis: Diagnosis) -> list[str]:
    names = ordered(diagnosis.scored.metrics)
    return [name for name in names if "@" not in name or name.endswith("@5")]


def _score_row(name: str, diagnosis: Diagnosis, sample: dict[str, Any]) -> dict[str, str]:
    row, column = int(sample["row"]), diagnosis.scored.column(name)
    status = Status.NOT_RUN if column is None else Status(int(column.status[row]))
    scored = column is not None and status == Status.SCORED
    reasons = {one["metric"]: one["reason"] for one in sample["scores"] or ()}
    return {
        "key": name,
        "Metric": metric_title(name),
        "Value": number(column.values[row]) if column is not None and scored else NOT_MEASURED,
        "Obtained": Source(int(column.source[row])).label if column is not None and scored else status.label,
        "Reason": reasons.get(name) or "",
    }


def _reasons(sample: dict[str, Any], view: View) -> dict[str, str]:
    import pyarrow as pa

    from data.store.sample_schema import SCHEMA

    batch = batch_of(pa.Table.from_pylist([sample], schema=SCHEMA), view.options.match)
    found = compute(batch, view.options.ks, view.options.convention)
    return {name: str(scores.reason[0]) for name, scores in found.items()}


def _history(view: View, question: str) -> None:
    rows = []
    for run in view.runs:
        scored = view.scored(run)
        at = int(np.searchsorted(scored.question_ids, question))
        if at >= len(scored.question_ids) or scored.question_ids[at] != question:
            continue
        mine = scored.question == at
        diagnosis = view.diagnosis(run)
        measured = diagnosis.measured[mine]
        bad = (
            f"{int(diagnosis.bad.bad[mine].sum())} of {int(mine.sum())} bad"
            if measured.any()
            else NOT_MEASURED
        )
        values = {
            metric_title(name): _mean(scored.values(name)[mine])
            for name in HEADLINES
            if name in scored.sources
        }
        rows.append({"Run": view.labels[run.run_id], "Cases": bad, **values})
    show_table(rows, "The same question in every run of the project")


def _mean(values: Any) -> str:
    known = values[np.isfinite(values)]
    return number(float(known.mean())) if len(known) else NOT_MEASURED


def _facts_of(sample: dict[str, Any]) -> None:
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


def listed(view: View, diagnosis: Diagnosis) -> IntArray:
    """Give the rows that the filters leave, in order."""
    return filtered_rows(view, diagnosis)
