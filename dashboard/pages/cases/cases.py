"""Cases: the list of them beside the open one."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.pages.cases.adding import add_menu
from ragtriage.dashboard.pages.cases.case_list import (
    case_list,
    case_name,
    export_menu,
    filter_bar,
    list_headline,
    listed_rows,
    order_text,
    pager,
    position_of,
)
from ragtriage.dashboard.pages.cases.labelling import attack_bar, label_buttons, label_list, step_buttons
from ragtriage.dashboard.pages.cases.labelling_queue import labelling_queue, queue_form, queue_reminder
from ragtriage.dashboard.pages.cases.open_case import open_case
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.components import current_theme, open_page, run_facts
from ragtriage.dashboard.shell.session import current_view
from ragtriage.data.cases.cases import page_of, read_case
from ragtriage.metrics.number_text import count

SIZE = 25
LIST, CASE = 46, 54  # widths in percent
CASE_HEIGHT = 980  # pixels of a case that is long
LONG, PER_DOCUMENT = 1_000, 120  # characters of an answer from which on it is, and what a document adds
view = current_view()
run = view.run
diagnosis = view.diagnosis(run)
scored = diagnosis.scored

st.html(page_style("cases", current_theme()))
if labelling_queue(view, diagnosis):
    st.stop()
candidates, rows = listed_rows(view, diagnosis)
at = position_of(diagnosis, rows)
open_page(list_headline(view, diagnosis, rows), run_facts(view))
queue_reminder(view, diagnosis)
listing, detail = st.columns([LIST, CASE], gap="medium")

with listing:
    filter_bar(diagnosis, candidates)
    if at is not None:
        page = page_of(scored, rows, at // SIZE + 1, SIZE)
        case_list(page, diagnosis, int(rows[at]))
        if page.pages > 1:
            pager(page, rows, scored, SIZE)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{count(len(rows), 'case')}** of {run.n:,}, {order_text()}", width="content")
        st.space("stretch")
        export_menu(view, diagnosis, rows)
        add_menu(view, diagnosis, rows)
        queue_form(view, diagnosis)

if at is not None:
    row = int(rows[at])
    neighbours = {step: int(rows[at + step]) for step in (-1, 1) if 0 <= at + step < len(rows)}
    names = {step: case_name(scored, other) for step, other in neighbours.items()}
    with detail:
        sample = read_case(scored, row)
        case = (run.run_id, sample["question_id"], sample["repeat"])
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="case_bar"):
            step_buttons(view, case, names.get(-1), names.get(1))
            st.markdown(f"{at + 1:,} of {len(rows):,}", width="content")
            st.space("stretch")
            label_buttons(view, case, names.get(1))
        label_list(diagnosis.human_labels.labels.get(row, ()))
        attack_bar(view, case, sample, names.get(1))
        # a long case scrolls beside the list, so that list and labels stay in sight
        n_characters = len(sample["answer"] or "") + PER_DOCUMENT * len(sample["retrieved"] or ())
        with st.container(height=CASE_HEIGHT if n_characters > LONG else "content", border=False):
            open_case(view, diagnosis, sample)
