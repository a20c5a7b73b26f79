"""The list of the cases that the filters keep, and which of them is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from dashboard.shell.session import current_selection, keep
from dashboard.wording.diagnosis import case_conclusion
from dashboard.wording.escaping import shorten
from data.cases.cases import CasePage
from data.diagnosis.diagnosis import Diagnosis, row_of
from data.scoring.scored_run import ScoredRun
from metrics.schema.scores import IntArray
from metrics.schema.whole_number import whole_number

__all__ = ["case_list", "case_name", "pager", "position_of"]

MARKS = {"pass": "✓", "fail": "✗", None: "✎"}  # of human labels


def case_list(page: CasePage, diagnosis: Diagnosis, current: int | None) -> None:
    """Draw one page of the list; a click opens a case."""
    key = f"cases_{page.page}_{current}_{len(page.cases)}"
    listed_rows = [case["row"] for case in page.cases]
    st.dataframe(
        [_list_row(case, diagnosis, case["row"] == current) for case in page.cases],
        hide_index=True,
        key=key,
        on_select=lambda: _open_selected(key, page.cases),
        selection_mode="single-row",
        selection_default={
            "selection": {"rows": [listed_rows.index(current)] if current in listed_rows else []}
        },
        height=min(38 + 35 * max(len(page.cases), 1), 760),
        column_config={
            "": st.column_config.TextColumn(width=30),
            "Question": st.column_config.TextColumn(width=165),
            "State": st.column_config.TextColumn(width=125),
            "Label": st.column_config.TextColumn(width=44),
        },
        alt="Cases that the filters keep",
    )


def _list_row(case: dict[str, Any], diagnosis: Diagnosis, is_open: bool) -> dict[str, str]:
    row = case["row"]
    labels = diagnosis.human_labels.labels.get(row, ())
    cells = {
        "": "▸" if is_open else "●" if diagnosis.bad.bad[row] else "○" if diagnosis.measured[row] else "–",
        "Question": shorten(case["question"], 110),
        "State": case_conclusion(diagnosis, row),
        "Label": " ".join(MARKS[label.verdict] for label in labels),
    }
    if diagnosis.scored.n > len(diagnosis.scored.question_ids):
        cells["Repeat"] = str(case["repeat"])
    return cells


def _open_selected(key: str, cases: Sequence[dict[str, Any]]) -> None:
    selected = st.session_state[key]["selection"]["rows"]
    if selected and selected[0] < len(cases):
        case = cases[selected[0]]
        keep(case=f"{case['question_id']}~{case['repeat']}")


def position_of(diagnosis: Diagnosis, rows: IntArray) -> int | None:
    """Return the position of the open case among the listed rows; the first where none of them is open."""
    if not len(rows):
        return None
    question, _, repeat = current_selection().case.rpartition("~")
    number = whole_number(repeat)
    row = row_of(diagnosis.scored, question, number) if question and number is not None else None
    positions = np.flatnonzero(rows == (-1 if row is None else row))
    return int(positions[0]) if len(positions) else 0


def case_name(scored: ScoredRun, row: int) -> str:
    """Return the name of a case in the URL."""
    return f"{scored.question_ids[scored.question[row]]}~{scored.repeats[row]}"


def pager(page: CasePage, rows: IntArray, scored: ScoredRun, size: int) -> None:
    """Draw the page numbers of the list; turning a page opens its first case."""
    key = f"pager_{page.page}_{page.pages}"

    def turn() -> None:
        keep(case=case_name(scored, int(rows[(st.session_state[key] - 1) * size])))

    st.pagination(page.pages, default=page.page, key=key, on_change=turn)
