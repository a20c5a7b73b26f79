"""The numbers of a comparison, and how questions moved between failure stages: tabs of the Compare page."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.comparison import stage_flow
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.compare.choices import Compared
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import CHART, facts, show_table
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.tables.comparison import difference_table, version_table
from ragtriage.dashboard.wording.comparisons import not_compared_text, tested_text, undirected_text
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.metrics.number_text import count


def draw_numbers(compared: Compared) -> None:
    """Draw all metrics of all versions, and all numbers of the version in detail."""
    _metrics_table(compared)
    if any(row.difference.n_pairs for row in compared.comparisons[compared.other].differences):
        run_id = _in_detail(compared)
        comparison = compared.comparisons[run_id]
        show_table(difference_table(comparison, compared.names[run_id]))
        method = next(row.difference.method for row in comparison.differences if row.difference.n_pairs)
        facts([method, "paired on question, repeats averaged"])


def _in_detail(compared: Compared) -> str:
    """Draw the choice of the version in detail; return its id."""
    return choose(
        "In detail",
        "other",
        list(compared.versions),
        compared.names,
        {"case": ""},
        shown=compared.other,
        width=320,
    )


def draw_flow(compared: Compared) -> None:
    """Draw how the questions moved between failure stages from the baseline to the version in detail."""
    run_id = _in_detail(compared)
    flow = compared.view.flow(compared.base, compared.versions[run_id])
    if not flow:
        st.info("The runs share no question.")
        return
    figure = stage_flow(flow, compared.base_name, compared.names[run_id], THEMES[current_theme()])
    st.plotly_chart(
        figure, theme=None, key="flow", config=CHART, alt="How questions moved between failure stages"
    )
    n = count(sum(flow.values()), "shared question")
    facts([f"n = {n}", "off the diagonal: moved", "a question counts for the stage of most of its repeats"])


def _metrics_table(compared: Compared) -> None:
    """Draw the table of metrics by version: mean, difference to the baseline, and its outcome."""
    names, versions = compared.names, list(compared.versions)
    comparisons = list(compared.comparisons.values())
    table = version_table(compared.comparisons, names, compared.base_name)
    narrow = {  # right of their version; with its name they would be wider than their numbers
        f"{what}, {names[run_id]}": st.column_config.TextColumn(title, width=width)
        for run_id in versions
        for what, title, width in (("Interval of the verdict", "Interval", 118), ("n", "n", 55))
    }
    width = 135 if f"{compared.base_name} (baseline)" in table.rows[0] else 175
    named = {names[run_id]: st.column_config.TextColumn(width=width) for run_id in versions}
    show_table(table, {**narrow, **named})
    tested = next((each for each in comparisons if not not_compared_text(each)), comparisons[0])
    pairs = [len(comparison.matched.base) for comparison in comparisons]
    facts(
        [
            "▲ better, ▼ worse, · cannot tell (interval includes 0), = no question changed, ? no direction",
            tested_text(tested),
            f"{min(pairs):,} to {max(pairs):,} shared questions"
            if min(pairs) != max(pairs)
            else count(pairs[0], "shared question"),
            "n: those of them with a value in both runs; both means and the difference are over these",
        ]
    )
    undirected = undirected_text(tested)
    if undirected:
        st.info(markdown_text(undirected))
