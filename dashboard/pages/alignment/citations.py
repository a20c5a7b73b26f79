"""The citations of a run: how many support their sentence, and the cases of those that do not."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import open_cases
from ragtriage.dashboard.tables.citations import citation_table
from ragtriage.dashboard.wording.citations import NOT_CITED, citation_facts, citations_sentence
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.analysis.citations import RunCitations, citations_of_run
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.number_text import count


@kept
def _citations(scored: ScoredRun) -> RunCitations | None:
    return citations_of_run(scored)


def citation_section(scored: ScoredRun) -> None:
    """Draw the shares of a run's citations with a button for the cases that fall short of each."""
    st.subheader("Do the citations support what they stand behind?")
    citations = _citations(scored)
    if citations is None:
        st.caption(NOT_CITED)
        return
    st.markdown(citations_sentence(citations))
    show_table(citation_table(citations))
    facts(citation_facts(citations))
    with st.container(horizontal=True):
        for share in citations.shares:
            label = f"{capital(share.cohort_title)}: {count(share.n_cohort, 'case')}"
            if share.n_cohort and st.button(label, key=f"citations_{share.key}"):
                open_cases(cohort=share.cohort)
