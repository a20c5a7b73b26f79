"""The list of the cases that the filters keep, and which of them is open."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ragtriage.dashboard.charts.tokens import THEMES, Tokens
from ragtriage.dashboard.pages.cases.counts import short_name
from ragtriage.dashboard.present.page_html.pictures import ScoreBar, score_bars
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.session import View, current_selection, keep
from ragtriage.dashboard.shell.tool_downloads import tool_downloads
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.cases.cases import CasePage
from ragtriage.data.cases.export import export_rows
from ragtriage.data.diagnosis.diagnosis import Diagnosis, row_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.schema.scores import IntArray
from ragtriage.metrics.schema.whole_number import whole_number

MARKS = {"pass": "✓", "fail": "✗", None: "✎"}  # of human labels
KEY = "case_list"
ROW_HEIGHT, HEADER_HEIGHT, LIST_HEIGHT = 34, 34, 478
SCORES = "C F R"
STATE_HELP = "Failure stage of a bad case. What it rests on stands beside the open case."
SCORES_HELP = (
    "Context metric, faithfulness and answer relevancy from 0 to 1. The line across each bar is the case "
    "threshold; a dashed box was not measured."
)


def case_list(page: CasePage, diagnosis: Diagnosis, current: int | None) -> None:
    """Draw one page of the list; a click anywhere on a row opens its case."""
    tokens = THEMES[current_theme()]
    frame = pd.DataFrame([_list_row(case, diagnosis, tokens) for case in page.cases])
    open_row = [case["row"] for case in page.cases].index(current) if current is not None else -1
    colour = f"background-color: {tokens.sequential[1]}"
    # the states on a page with whose each is
    cells = frame["State"]
    owners = {short_name(stage): str(stage.owner) for stage in STAGES}
    names = sorted({name for cell in cells for name in cell})
    states = {name: owners.get(name, "good" if name == "Good" else "") for name in names}
    st.dataframe(
        # A selected row would draw a column of check boxes: the open case is a coloured row instead
        frame.style.apply(lambda row: [colour if row.name == open_row else ""] * len(row), axis=1),
        hide_index=True,
        key=KEY,
        on_select=lambda: _open_selected(page.cases),
        selection_mode="single-cell",
        row_height=ROW_HEIGHT,
        height=min(HEADER_HEIGHT + ROW_HEIGHT * max(len(page.cases), 1) + 2, LIST_HEIGHT),
        column_config={
            "State": st.column_config.MultiselectColumn(
                width=122,
                help=STATE_HELP,
                options=list(states),
                color=[_state_colour(owner, tokens) for owner in states.values()],
            ),
            SCORES: st.column_config.ImageColumn(width=80, help=SCORES_HELP),
            "✎": st.column_config.TextColumn(width=34, help="Human labels"),
            "Question": st.column_config.TextColumn(),
        },
        alt=f"Cases that the filters keep, {page.total:,} in all",
    )


def _list_row(case: dict[str, Any], diagnosis: Diagnosis, tokens: Tokens) -> dict[str, object]:
    row, thresholds = case["row"], diagnosis.settings.thresholds
    features = diagnosis.features
    bars = [
        ScoreBar(float(features.known(name)[row]), threshold)
        for name, threshold in (
            ("context", thresholds.context),
            ("faithfulness", thresholds.faithfulness),
            ("answer_relevancy", thresholds.answer_relevancy),
        )
    ]
    cells: dict[str, object] = {"State": [case_state(diagnosis, row)[0]], SCORES: score_bars(bars, tokens)}
    if diagnosis.human_labels.labels:
        labels = diagnosis.human_labels.labels.get(row, ())
        cells["✎"] = " ".join(MARKS[label.verdict] for label in labels)
    repeated = diagnosis.scored.n > len(diagnosis.scored.question_ids)
    cells["Question"] = shorten(case["question"], 110) + (f"  ({case['repeat']})" if repeated else "")
    return cells


def case_state(diagnosis: Diagnosis, row: int) -> tuple[str, str]:
    """Return the short name of a case's state, and whose it is: an owner of stages, "good" or ""."""
    stage = int(diagnosis.stages.stage[row])
    if stage >= 0:
        return short_name(STAGES[stage]), STAGES[stage].owner
    return ("Good", "good") if diagnosis.measured[row] else ("Not measured", "")


def _state_colour(owner: str, tokens: Tokens) -> str:
    if owner == "good":
        return tokens.good.tint
    colours = {str(key): colour for key, colour in tokens.stages.items()}
    return mixed(colours[owner], tokens.background, 0.2) if owner in colours else tokens.unmeasured.tint


def mixed(colour: str, surface: str, share: float) -> str:
    """Return a colour mixed into a surface, both as #RRGGBB."""
    parts = [(int(colour[at : at + 2], 16), int(surface[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * top + (1 - share) * below):02X}" for top, below in parts)


def _open_selected(cases: Sequence[dict[str, Any]]) -> None:
    cells = st.session_state[KEY]["selection"]["cells"]
    st.session_state[KEY] = {
        "selection": {"rows": [], "columns": [], "cells": []}
    }  # the same can be clicked again
    if cells and cells[0][0] < len(cases):
        case = cases[cells[0][0]]
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


def export_menu(view: View, diagnosis: Diagnosis, rows: IntArray) -> None:
    """Offer the cases on the list as files, written on download."""
    with st.popover(
        "Export", icon=":material/download:", type="tertiary", on_change="rerun", help="These cases as a file"
    ) as box:
        if box.open:
            for form, title in (("jsonl", "JSONL, can be imported again"), ("csv", "CSV for a spreadsheet")):
                st.download_button(
                    title,
                    partial(export_rows, diagnosis, rows, form),
                    file_name=f"{diagnosis.scored.run.run_id}-{len(rows)}-cases.{form}",
                    key=f"export_{form}",
                )
            tool_downloads(diagnosis, view.store.ledger, rows, "export")


def pager(page: CasePage, rows: IntArray, scored: ScoredRun, size: int) -> None:
    """Draw the page numbers of the list; turning a page opens its first case."""
    key = f"pager_{page.page}_{page.pages}"

    def turn() -> None:
        keep(case=case_name(scored, int(rows[(st.session_state[key] - 1) * size])))

    st.pagination(page.pages, default=page.page, max_visible_pages=5, key=key, on_change=turn)
