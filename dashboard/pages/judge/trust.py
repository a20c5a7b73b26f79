"""How far the judge can be trusted, quantity by quantity: what the headline of the page rests on."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.judge_trust import trust_height, trust_strips
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import CHART
from ragtriage.dashboard.shell.kept_results import kept, kept_with_spinner
from ragtriage.dashboard.shell.session import View
from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement_report import MetricAgreement, agreement_rows
from ragtriage.data.labels.human_ratings import UNANSWERABLE, human_ratings, rated_dimensions
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.schema.source import Source


def judged_agreements(view: View) -> list[MetricAgreement]:
    """Return how far each judged metric agrees with the human labels of its quantity; one row a quantity."""
    return _agreements(view.store, view.scored(view.run), view.store.ledger)


@kept_with_spinner("Comparing the judge with people")
def _agreements(store: RunStore, scored: ScoredRun, ledger: Ledger) -> list[MetricAgreement]:
    rated = _by_people(scored, ledger)
    if not rated or not _judged(scored):
        return []
    try:
        rows = agreement_rows(store, scored.run, rated)
    except DataError:  # nothing judged of what was rated
        return []
    first = {row.dimension: row for row in reversed(rows) if row.metric.source == Source.JUDGED}
    return [row for row in rows if first.get(row.dimension) is row]


def _by_people(scored: ScoredRun, ledger: Ledger) -> list[str]:
    """List what people rated; which questions can be answered is declared by the test set, not rated."""
    return [dimension for dimension in rated_dimensions(scored, ledger) if dimension != UNANSWERABLE]


def judged_cases(view: View) -> int:
    """Count the cases with a judged score."""
    scored = view.scored(view.run)
    judged = _judged(scored)
    return (
        int(np.isfinite(np.array([scored.values(name) for name in judged])).any(axis=0).sum())
        if judged
        else 0
    )


def _judged(scored: ScoredRun) -> list[str]:
    return [name for name, sources in scored.sources.items() if Source.JUDGED in sources]


def rated_cases(view: View) -> int:
    """Count the cases with a human rating, labelled here or from the file."""
    return _rated(view.scored(view.run), view.store.ledger)


@kept
def _rated(scored: ScoredRun, ledger: Ledger) -> int:
    return max((human_ratings(scored, ledger, one).n for one in _by_people(scored, ledger)), default=0)


def trust_section(agreements: list[MetricAgreement]) -> None:
    """Draw the judge and one person on the same ruler, a row a quantity."""
    if not agreements:
        return
    st.markdown("### How far to trust the judge")
    st.plotly_chart(
        trust_strips(agreements, THEMES[current_theme()]),
        key="judge_trust",
        theme=None,
        height=trust_height(len(agreements)),
        config={**CHART, "displayModeBar": False},
        alt=f"Rank correlation of the judge with people on {len(agreements)} rated quantities",
    )
    st.caption(
        "Spearman's rank correlation with the mean of the annotators, 95 % bootstrap over questions or "
        "conversations. ◇ one annotator against the mean of the others. Filled: above 0 beyond chance."
    )
