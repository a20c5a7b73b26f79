"""For whom the change helped: the pass rate of the version in each slice of the shared questions."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.pages.compare.choices import Compared
from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.kept_results import kept_with_spinner
from ragtriage.dashboard.shell.session import open_cases
from ragtriage.dashboard.tables.comparison import slice_table, slice_title, slice_verdict
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.question_changes import FEWEST_PAIRS, SliceChange, slice_changes
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.metrics.number_text import count

MOST_SLICES = 20


@kept_with_spinner("Comparing slices")
def _changes(base: Diagnosis, other: Diagnosis) -> list[SliceChange]:
    return slice_changes(base, other)


def draw_slices(compared: Compared) -> None:
    """List the slices by how far the pass rate of the version moved, and open the cases of one."""
    view, subject = compared.view, compared.versions[compared.subject]
    base_name, name = compared.names[compared.base.run_id], compared.names[subject.run_id]
    changes = _changes(view.diagnosis(compared.base), view.diagnosis(subject))
    if not changes:
        st.caption(
            f"No slice (query type, tag, length of the question) has {FEWEST_PAIRS} shared questions with a "
            "verdict in both runs. `query_type` and `tags` of a sample make slices."
        )
        return
    shown = changes[:MOST_SLICES]
    moved = [change for change in changes if slice_verdict(change) in ("better", "worse")]
    sentence = (
        f"{count(len(moved), 'slice')} of {len(changes):,} moved beyond chance"
        if moved
        else f"None of {count(len(changes), 'slice')} moved beyond chance, corrected for testing them all"
    )
    st.markdown(markdown_text(f"{name} against {base_name}: {sentence}."))
    show_table(slice_table(shown, base_name, name))
    facts(
        [
            "pass rate, paired on question; 95 % interval of each slice by itself",
            f"p of a sign-flip test, Holm's correction over {count(len(changes), 'slice')}",
            f"slices of {FEWEST_PAIRS} questions and more",
        ]
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = st.selectbox(
            "Slice", range(len(shown)), format_func=lambda at: slice_title(shown[at]), key="slice_at"
        )
        if st.button(f"Open its cases in {name}", key="open_slice_change"):
            open_cases(slices={shown[at].name: shown[at].value}, run=subject.run_id)
