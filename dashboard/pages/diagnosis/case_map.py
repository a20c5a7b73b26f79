"""Where the cases lie by context metric and faithfulness, with the thresholds: a section of the page."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.stages.diagnosis import MAP_HEIGHT, Bubble, case_bubbles
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import CHART, metric_title
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.widgets import choose, slide
from ragtriage.dashboard.wording.diagnosis import context_metric_text, unused_context_metrics
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.diagnosis_cohorts import map_cell_key, map_cells
from ragtriage.data.diagnosis.context import context_choice, context_metrics_of
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.number_text import count


@kept
def _bubbles(diagnosis: Diagnosis) -> list[Bubble]:
    x = map_cells(diagnosis.features.known("context"))
    y = map_cells(diagnosis.features.known("faithfulness"))
    both = (x >= 0) & (y >= 0)
    metric = diagnosis.settings.context_metric or ""
    bubbles = []
    for cell in np.unique(10 * x[both] + y[both]):
        at_x, at_y = divmod(int(cell), 10)
        mine = (x == at_x) & (y == at_y)
        counts = diagnosis.stage_counts(mine)
        top = max(STAGES, key=lambda stage: counts[stage.key])
        stages = [stage.count(counts[stage.key]) for stage in STAGES if counts[stage.key]]
        n = int(mine.sum())
        details = f"{count(n, 'case')}{': ' if stages else ', none bad'}{', '.join(stages)}"
        owner = top.owner if counts[top.key] else None
        bubbles.append(Bubble(at_x, at_y, n, owner, details, map_cell_key(metric, at_x, at_y)))
    return bubbles


def map_section(diagnosis: Diagnosis) -> None:
    """Draw the map; a bubble opens its cases."""
    bubbles = _bubbles(diagnosis) if diagnosis.context_metric else []
    if not bubbles:
        with st.container(height=MAP_HEIGHT, border=False):
            st.info("This map needs a context metric and faithfulness; the run does not have both.")
        return
    thresholds = diagnosis.settings.thresholds
    figure = case_bubbles(
        bubbles,
        (thresholds.context, thresholds.faithfulness),
        context_metric_text(diagnosis),
        THEMES[current_theme()],
    )
    event = st.plotly_chart(
        figure,
        key="case_map",
        theme=None,
        config=CHART,
        alt="Number of cases by context metric and faithfulness, with the thresholds",
        on_select="rerun",
        selection_mode="points",
    )
    n = sum(bubble.n for bubble in bubbles)
    st.caption(
        f"n = {n:,} of {count(diagnosis.scored.n, 'case')} with both values; click a bubble for its cases"
    )
    for point in event["selection"]["points"]:
        if point.get("customdata"):
            open_cases(cohort=str(point["customdata"][0]))


def threshold_controls(view: View, diagnosis: Diagnosis) -> None:
    """Draw the context metric and the case thresholds; they move the rows, never the gates."""
    left, right = st.columns(2, gap="medium")
    with left:
        slide("Context threshold", "context", "Below this, the context lacks what the question needs.")
        slide(
            "Answer relevancy threshold", "relevancy", "Below this, the answer does not address the question."
        )
    with right:
        slide(
            "Faithfulness threshold",
            "faithfulness",
            "Below this, the answer makes claims that its context does not support.",
        )
        _context_metric_picker(view)
    for sentence in unused_context_metrics(diagnosis):
        st.caption(f"⚠ {markdown_text(sentence)}")


def _context_metric_picker(view: View) -> None:
    scored = view.scored(view.run)
    metrics = context_metrics_of(scored)
    if not metrics:
        st.caption("Context metric: none recorded")
        return
    titles = {name: metric_title(name) for name in metrics}
    options = metrics
    if len(context_choice(scored).metrics) == 1:
        titles[metrics[0]] += " (default)"
    else:
        titles[""], options = "by what each question has (default)", ["", *metrics]
    choose("Context metric", "context_metric", options, titles, shown=options[0])
