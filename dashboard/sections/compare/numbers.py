"""The numbers of a comparison, and how questions moved between failure stages: tabs of the Compare page."""

from __future__ import annotations

import streamlit as st

from dashboard.charts.comparison import stage_flow
from dashboard.charts.style import VERDICT_LABELS
from dashboard.charts.tokens import THEMES
from dashboard.sections.compare.choices import Compared
from dashboard.shell.blocks import current_theme
from dashboard.shell.components import CHART, facts, metric_title, show_table
from dashboard.shell.widgets import choose
from dashboard.wording.comparisons import not_compared_text, tested_text, undirected_text
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number, p_value, percent, signed
from data.comparison.compare import GOOD_SHARE, Comparison, MetricDifference

__all__ = ["detail_rows", "draw_flow", "draw_numbers"]


def draw_numbers(compared: Compared) -> None:
    """Draw all metrics of all versions, and all numbers of the version in detail."""
    _metrics_table(compared)
    if any(row.difference.n_pairs for row in compared.comparisons[compared.other].differences):
        run_id = _in_detail(compared)
        comparison = compared.comparisons[run_id]
        show_table(detail_rows(comparison), f"Differences of {compared.names[run_id]} in full")
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
    rows = []
    for at, first in enumerate(comparisons[0].differences):
        row = {
            "Metric": metric_title(first.metric),
            f"{compared.base_name} (baseline)": _level(first.metric, first.base),
        }
        for run_id, comparison in compared.comparisons.items():
            difference = comparison.differences[at]
            row[names[run_id]] = _cell(difference)
            row[f"Interval of the verdict, {names[run_id]}"] = _span(difference)
            row[f"n, {names[run_id]}"] = f"{difference.difference.n_pairs:,}"
        rows.append(row)
    narrow = {  # right of their version; with its name they would be wider than their numbers
        f"{what}, {names[run_id]}": st.column_config.TextColumn(title, width=width)
        for run_id in versions
        for what, title, width in (("Interval of the verdict", "Interval", 118), ("n", "n", 55))
    }
    named = {names[run_id]: st.column_config.TextColumn(width=135) for run_id in versions}
    show_table(rows, "Metrics by version, with differences to the baseline", {**narrow, **named})
    tested = next((each for each in comparisons if not not_compared_text(each)), comparisons[0])
    pairs = [len(comparison.matched.base) for comparison in comparisons]
    facts(
        [
            "▲ better, ▼ worse, · cannot tell (the interval includes 0), = unchanged, ? no direction",
            tested_text(tested),
            f"{min(pairs):,} to {max(pairs):,} shared questions"
            if min(pairs) != max(pairs)
            else count(pairs[0], "shared question"),
            "n, and both means: over those of them with a value in both runs",
        ]
    )
    undirected = undirected_text(tested)
    if undirected:
        st.info(markdown_text(undirected))


def _level(metric: str, value: float) -> str:
    return percent(value) if metric == GOOD_SHARE else number(value)


def _span(metric: MetricDifference) -> str:
    return interval_text(metric.low, metric.high) if metric.difference.n_pairs else NOT_MEASURED


def _cell(metric: MetricDifference) -> str:
    if not metric.difference.n_pairs:
        return NOT_MEASURED
    symbol = VERDICT_LABELS[metric.verdict].split(" ")[0]
    return f"{_level(metric.metric, metric.other)}  ({signed(metric.difference.difference)} {symbol})"


def detail_rows(comparison: Comparison) -> list[dict[str, str]]:
    """Return all numbers of metric comparison, a row per metric."""
    return [
        {
            "Metric": f"{metric_title(metric.metric)}{' (primary)' if metric.primary else ''}",
            "Baseline": number(metric.base),
            "Version": number(metric.other),
            "Difference": signed(metric.difference.difference),
            "Interval": interval_text(metric.low, metric.high),
            "Unadjusted 95 %": interval_text(metric.difference.low, metric.difference.high),
            "p": p_value(metric.difference.p),
            "p (corrected)": p_value(metric.adjusted_p),
            "Pairs": f"{metric.difference.n_pairs:,}",
            "Better / worse / same": _counts(metric),
            "Verdict": VERDICT_LABELS[metric.verdict],
        }
        for metric in comparison.differences
    ]


def _counts(metric: MetricDifference) -> str:
    difference = metric.difference
    rises, falls = (" rose", " fell") if metric.verdict == "no direction" else ("", "")
    return f"{difference.better:,}{rises} / {difference.worse:,}{falls} / {difference.same:,}"
