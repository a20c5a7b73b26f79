"""The picture that opens the Compare page: changes with intervals, and questions better and worse."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ragtriage.dashboard.charts.comparison import QuestionCounts, forest, forest_height, question_bars
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.compare import compare_headline, metric_doubts_of
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.pages.compare.choices import Compared, direction
from ragtriage.dashboard.present.page_html.rows import bars_legend, forest_legend
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import CHART, metric_title
from ragtriage.dashboard.shell.session import keep, open_cases
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.comparison_cohorts import changed_cohort_key
from ragtriage.metrics.number_text import count

WIDTHS = (57, 43)


def page_headline(compared: Compared) -> Headline:
    """Conclude what changed from the baseline to the version that the page is about."""
    view = compared.view
    sides = [
        (run.name, view.diagnosis(run), view.findings(run))
        for run in (compared.versions[compared.subject], compared.base)
    ]
    doubts = {metric: metric_doubts_of(sides, metric) for metric in compared.drawn_metrics}
    run, base, names, base_name = compared.versions[compared.subject], compared.base, compared.names, ""
    if run.name != base.name:  # the header above names both in full
        names, base_name = {**names, run.run_id: run.name}, base.name
    return compare_headline(
        compared.subject,
        compared.comparisons,
        names,
        base_name or compared.base_name,
        compared.drawn_metrics,
        doubts,
    )


def draw_hero(compared: Compared) -> None:
    """Draw the forest plot beside the bars of questions; nothing where no metric can be drawn."""
    if not compared.drawn_metrics:
        return
    height = max(
        forest_height(len(compared.drawn_metrics), len(compared.drawn)), 30 + 22 * len(compared.versions)
    )
    left, right = st.columns(WIDTHS, gap="medium")
    with left:
        _forest(compared)
    with right:
        _question_bars(compared, height)


def _forest(compared: Compared) -> None:
    tokens = THEMES[current_theme()]
    st.subheader(f"Difference to {markdown_text(compared.base_name)}, 95 % intervals", anchor=False)
    rows = [
        (
            run_id,
            compared.names[run_id],
            {row.metric: row for row in compared.comparisons[run_id].differences},
        )
        for run_id in compared.drawn
    ]
    key = "forest"
    st.plotly_chart(
        forest(rows, compared.drawn_metrics, tokens),
        height=forest_height(len(compared.drawn_metrics), len(compared.drawn)),
        theme=None,
        key=key,
        config=CHART,
        on_select=lambda: _show_point(key),
        selection_mode="points",
        alt=f"Differences of each version to {compared.base_name}; the numbers are in the tab Numbers",
    )
    st.html(forest_legend([compared.names[run_id] for run_id in compared.drawn], tokens, _left_out(compared)))


def _show_point(key: str) -> None:
    """Show the version and metric of a clicked point in the question lists."""
    event: Any = st.session_state[key]
    for point in event["selection"]["points"]:
        if point.get("customdata"):
            run_id, metric = point["customdata"]
            keep(other=run_id, metric=metric)


def _left_out(compared: Compared) -> str:
    """Return what is not drawn and where it stands."""
    metrics = len(compared.comparisons[compared.subject].differences)
    parts = []
    if len(compared.drawn) < len(compared.versions):
        parts.append(
            f"{len(compared.drawn)} of {count(len(compared.versions), 'version')}, all in Leaderboard"
        )
    if len(compared.drawn_metrics) < metrics:
        parts.append(f"{len(compared.drawn_metrics)} of {count(metrics, 'metric')}, all in Numbers")
    return "; ".join(parts)


def _question_bars(compared: Compared, height: int) -> None:
    metric, base = compared.metric, compared.base_name
    higher = direction(metric)
    title = f"{metric_title(metric)} per question against {base}"
    st.subheader(markdown_text(title), anchor=False)
    counts = [_counts(compared, run_id, metric) for run_id in compared.versions]
    figure = question_bars(counts, THEMES[current_theme()], height, higher is not None)
    event: Any = st.plotly_chart(
        figure,
        height=height,
        theme=None,
        key="question_bars",
        config=CHART,
        on_select="rerun",
        selection_mode="points",
        alt=f"{title}: " + "; ".join(f"{at.name} {at.worse} worse, {at.better} better" for at in counts),
    )
    st.html(bars_legend(base, higher is not None))
    for point in event["selection"]["points"]:
        if point.get("customdata"):
            run_id, outcome = point["customdata"]
            sign = {"worse": -1, "same": 0, "better": 1}[outcome] * (-1 if higher is False else 1)
            cohort = changed_cohort_key(sign, compared.base.run_id, metric)
            open_cases(run=run_id, cohort=cohort)


def _counts(compared: Compared, run_id: str, metric: str) -> QuestionCounts:
    """Count the questions of a version by their change in a metric of the comparison."""
    rows = {row.metric: row.difference for row in compared.comparisons[run_id].differences}
    found = rows.get(metric)
    name = compared.names[run_id]
    if found is None:
        return QuestionCounts(run_id, name, 0, 0, 0)
    return QuestionCounts(run_id, name, found.worse, found.same, found.better)
