"""Arms: the effect of each setting, with a link to Compare."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.ablation import effect_forest
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.experiment_effects import effect_method, effect_rows
from ragtriage.dashboard.pages.experiments.arms_table import arm_chart
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import draw, facts, metric_title, show_table
from ragtriage.dashboard.shell.session import View, go_to_page
from ragtriage.data.experiments.arms import ArmsFindings
from ragtriage.data.experiments.summary import ExperimentSummary


def arms_section(_: View, summary: ExperimentSummary) -> None:
    """Draw the effect of each setting on the quality."""
    findings: ArmsFindings = summary.findings
    effects = findings.effects.effects
    title = metric_title(summary.quality)
    arm_chart(summary)
    if not effects:
        return
    st.markdown("##### What each setting does")
    figure = effect_forest(effects, title, THEMES[current_theme()])
    draw(figure, "arm_effects", f"Effects of the settings on {title}", theme=None)
    show_table(effect_rows(summary), "Effects of the settings")
    facts(
        [
            *effect_method(summary),
            "the best arm is chosen on these same questions, so its mean is slightly optimistic",
        ]
    )
    if st.button("Open these effects on Compare", key="arms_compare"):
        first, *others = summary.experiment.run_ids
        go_to_page("compare", run=others[0], baseline=first, versions=tuple(others), other="")
