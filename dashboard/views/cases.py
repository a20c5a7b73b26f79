"""Cases: the list of them beside the open one."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dashboard.headlines.cases import cases_headline
from dashboard.sections.cases.case_list import case_list, case_name, pager, position_of
from dashboard.sections.cases.counts import case_counts, count_doubts
from dashboard.sections.cases.filters import filtered_rows, filters
from dashboard.sections.cases.labelling import label_bar, step_bar
from dashboard.sections.cases.labelling_queue import labelling_queue, queue_or_form
from dashboard.sections.cases.open_case import open_case
from dashboard.shell.blocks import open_page, run_facts
from dashboard.shell.components import facts
from dashboard.shell.session import current_selection, current_view, keep
from dashboard.wording.formatting import NOT_MEASURED, count
from data.cases.cases import page_of, read_case
from data.cases.export import export_rows

SIZE = 25

view = current_view()
run = view.run
diagnosis = view.diagnosis(run)
scored = diagnosis.scored

if labelling_queue(view, diagnosis):
    st.stop()
rows = filtered_rows(view, diagnosis)
at = position_of(diagnosis, rows)
open_page(cases_headline(case_counts(view, diagnosis, rows), count_doubts(view, diagnosis)), run_facts(view))
queue_or_form(view, diagnosis)
filters(view, diagnosis)

with st.container(horizontal=True, vertical_alignment="center"):
    bad = f"{int(diagnosis.bad.bad[rows].sum()):,}" if diagnosis.measured[rows].any() else NOT_MEASURED
    st.markdown(
        f"**{count(len(rows), 'case')}** of {run.n:,}, {bad} bad :gray[● bad ○ not bad – not measured]"
    )
    if current_selection().unfiltered() != current_selection().with_(case=""):
        st.button(
            "Clear filters", key="clear", on_click=lambda: keep(**vars(current_selection().unfiltered()))
        )
    with st.popover("Export these cases", on_change="rerun") as box:
        if box.open:
            for form, title in (("jsonl", "JSONL, can be imported again"), ("csv", "CSV for a spreadsheet")):
                st.download_button(
                    title,
                    partial(export_rows, diagnosis, rows, form),
                    file_name=f"{run.run_id}-{len(rows)}-cases.{form}",
                    key=f"export_{form}",
                )

if at is not None:
    row = int(rows[at])
    page = page_of(scored, rows, at // SIZE + 1, SIZE)
    neighbours = {step: int(rows[at + step]) for step in (-1, 1) if 0 <= at + step < len(rows)}
    names = {step: case_name(scored, other) for step, other in neighbours.items()}
    listing, detail = st.columns([2, 3], gap="medium")
    with listing:
        if page.pages > 1:
            pager(page, rows, scored, SIZE)
        case_list(page, diagnosis, row)
        facts(
            [
                f"page {page.page:,} of {page.pages:,}",
                "keys: P pass and F fail, both open the next; J next, K previous, U undo",
            ]
        )
    with detail:
        sample = read_case(scored, row)
        case = (run.run_id, sample["question_id"], sample["repeat"])
        step_bar(view, case, (at, len(rows)), names.get(-1), names.get(1))
        label_bar(view, case, diagnosis.human_labels.labels.get(row, ()), names.get(1))
        open_case(view, diagnosis, sample)
