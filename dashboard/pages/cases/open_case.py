"""The open case: conclusion, question, answer with its claims, reference, scores, and the context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from ragtriage.dashboard.pages.cases.case_details import case_details
from ragtriage.dashboard.pages.cases.case_summary import case_chips, notes, scores_with_thresholds
from ragtriage.dashboard.present.case_html.case import answer_html, context_cards_html, highlights_of
from ragtriage.dashboard.present.case_html.citations import citations_html
from ragtriage.dashboard.present.case_html.report_case import check_rows
from ragtriage.dashboard.present.page_html.case_blocks import (
    CaseHead,
    Chip,
    case_head,
    case_reference,
    case_scores,
)
from ragtriage.dashboard.shell.blocks import draw_html
from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.store.judge_replies import EVALUATION
from ragtriage.data.store.judge_results import judge_of
from ragtriage.data.suites.citations import citation_style
from ragtriage.data.text.shown_case import cuts_told, shown_case
from ragtriage.metrics.result_table import ResultTable
from ragtriage.metrics.sanity.documents import read_first

JUDGED_LABELS = {
    "addresses": "addresses the question",
    "complete": "complete",
    "agrees": "agrees with the reference",
}
LINE_LENGTH = 95  # characters of a line of an answer in a wide window
LONGEST_QUOTE = 300
MOST_QUOTES = 3
LONGEST_OPEN_REFERENCE = 320  # characters; a longer one is folded at first, so that the scores stay in view


def open_case(view: View, diagnosis: Diagnosis, sample: dict[str, Any]) -> None:
    """Draw one case."""
    row, findings = int(sample["row"]), view.findings(view.run)
    shown = shown_case(sample)
    highlights = highlights_of(shown)
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
        facts([cuts])
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
