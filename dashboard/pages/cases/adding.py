"""Putting the questions of the listed cases into a dataset."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ragtriage.dashboard.shell.regressions import forget_said, into_dataset
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.shell.user import may_write
from ragtriage.data.cases.cases import read_cases
from ragtriage.data.cases.export import native_record
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.text.tokens import folded_question
from ragtriage.metrics.number_text import count
from ragtriage.metrics.schema.scores import IntArray

MOST_ADDED = 2_000  # cases whose questions are added at once


def add_menu(view: View, diagnosis: Diagnosis, rows: IntArray) -> None:
    """Offer to put the questions on the list into a dataset; nothing where the workspace is only read."""
    if not may_write() or not len(rows):
        return
    scored = diagnosis.scored
    with st.popover(
        "Add to…",
        icon=":material/playlist_add:",
        type="tertiary",
        on_change="rerun",
        key="add_cases",
        help="Put the questions of these cases into a dataset",
    ) as box:
        if box.open:
            questions = scored.samples.read(rows[:MOST_ADDED].tolist(), ("question",))
            first = {folded_question(each["question"]): at for at, each in enumerate(reversed(questions))}
            chosen = rows[np.sort(len(questions) - 1 - np.array([*first.values()], dtype=np.int64))]
            st.markdown(f"**{count(len(chosen), 'question')}** of {count(len(questions), 'case')}, each once")
            into_dataset(
                "cases",
                list(first),
                view.project,
                f"{view.project}, {view.labels[view.run.run_id]}",
                lambda: [native_record(sample) for sample in read_cases(scored, chosen)],
            )
        else:
            forget_said("cases")
