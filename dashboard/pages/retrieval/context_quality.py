"""The quality of the context beyond relevance: coverage, redundancy, diversity, consistency."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.pages.retrieval.curves import case_buttons
from ragtriage.dashboard.shell.components import show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.tables.retrieval import context_table
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.context_cohorts import CONTEXT_COHORTS
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.definitions.context_quality import LOCAL_MODEL_METRICS, METRICS

SHOWN = tuple(
    metric.key
    for metric in (*METRICS, *LOCAL_MODEL_METRICS)
    if metric.component == "retrieval" and not metric.per_k
)
BY_MODEL = (
    "Estimated by comparing words. `ragtriage score RUN --embedding MODEL --nli MODEL` adds the same kind of "
    "metrics from an embedding and an NLI model. Diversity is no virtue by itself: noise raises it."
)


def has_context_quality(view: View) -> bool:
    """Return whether the run has any of these metrics."""
    return bool(_summaries(view))


def _summaries(view: View) -> dict[str, MetricSummary]:
    found = view.summary(view.run)
    return {name: found[name] for name in SHOWN if name in found and found[name].n_scored}


def context_section(view: View) -> None:
    """Draw the metrics of the context with the cases behind them."""
    summaries = _summaries(view)
    if not summaries:
        st.info("The quality of the context needs the texts of the retrieved documents; the run has none.")
        return
    show_table(context_table(summaries))
    scored = view.scored(view.run)
    entries = []
    for key in CONTEXT_COHORTS:
        try:
            entries.append((cohort_title(key), key, int(cohort_rows(scored, key).sum())))
        except DataError:  # the run has none of its metrics
            continue
    case_buttons("context_quality", entries)
    st.caption(BY_MODEL)
