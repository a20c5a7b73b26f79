"""What to fix first, on the Triage page: the stages by what they own, and how sure that is."""

from __future__ import annotations

import streamlit as st

from dashboard.charts import fix_first_bars
from dashboard.diagnosis_words import inferred_words, no_bad_case, ownership
from dashboard.drawing import draw
from dashboard.rounding import percent
from dashboard.session import View, open_cases
from dashboard.text import markdown_text
from data.diagnoses import Diagnosis
from metrics.priorities import UNEXPLAINED, FixFirst

__all__ = ["fix_first_section"]


def fix_first_section(view: View, diagnosis: Diagnosis) -> None:
    """Draw the stages by their bad cases, say what the first one rests on, and lead to the cases."""
    entries = diagnosis.fix_first
    if not entries:
        _nothing_to_fix(diagnosis)
        return
    draw(fix_first_bars(entries), "fix_first", "Failure stages by number of bad cases")
    st.markdown(_first(entries[0], diagnosis))
    doubt = inferred_words(diagnosis, entries[0], view.findings(view.run))
    if doubt:
        st.caption(f"⚠ {markdown_text(doubt)}")
    titles = {entry.key: f"{entry.title} ({entry.n_bad:,})" for entry in entries}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Failure stage", list(titles), format_func=titles.__getitem__, key="triage_stage"
        )
        if st.button("Open these cases", type="primary", key="open_stage"):
            open_cases(stage=chosen)


def _nothing_to_fix(diagnosis: Diagnosis) -> None:
    said = markdown_text(no_bad_case(diagnosis))
    if diagnosis.measured.any():
        st.success(said, title="Nothing to fix at these cut-offs")
    else:
        st.info(said, title="Nothing measured yet")


def _first(top: FixFirst, diagnosis: Diagnosis) -> str:
    owned = ownership(top, int(diagnosis.bad.bad.sum()))
    if top.key == UNEXPLAINED:
        return f"**{owned}.** Read some of them; gold documents, claims or a judge's labels would tell more."
    return (
        f"**{top.title}** {owned}. If that stage were perfect, the pass rate would be "
        f"**at most {percent(top.pass_rate_if_perfect)}** (now {percent(diagnosis.pass_rate.mean)}): "
        "an upper bound, since a repaired case may still fail later."
    )
