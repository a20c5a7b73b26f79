"""The numbers of a comparison, and how questions moved between failure stages: tabs of the Compare page."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from ragtriage.dashboard.charts.comparison import stage_flow
from ragtriage.dashboard.charts.style import VERDICT_LABELS
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.compare.choices import Compared
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import CHART, facts, metric_title, show_table
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.wording.comparisons import not_compared_text, tested_text, undirected_text
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, number, p_value, percent, signed


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
    rows = metric_rows(compared.comparisons, names, compared.base_name)
    narrow = {  # right of their version; with its name they would be wider than their numbers
        f"{what}, {names[run_id]}": st.column_config.TextColumn(title, width=width)
        for run_id in versions
        for what, title, width in (("Interval of the verdict", "Interval", 118), ("n", "n", 55))
    }
    width = 135 if f"{compared.base_name} (baseline)" in rows[0] else 175
    named = {names[run_id]: st.column_config.TextColumn(width=width) for run_id in versions}
    show_table(rows, "Metrics by version, with differences to the baseline", {**narrow, **named})
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


def metric_rows(
    comparisons: Mapping[str, Comparison], names: Mapping[str, str], base_name: str
) -> list[dict[str, str]]:
    """Return a row per metric with each version's mean, difference, interval and pairs.

    The baseline has a column where its means are the same for all versions. Where versions share other
    questions with it, they are not, and each version stands beside the baseline's mean over its own pairs.
    """
    found = {
        run_id: {each.metric: each for each in comparison.differences}
        for run_id, comparison in comparisons.items()
    }
    metrics = list(dict.fromkeys(metric for differences in found.values() for metric in differences))
    one_base = all(len(_bases(metric, found)) < 2 for metric in metrics)
    rows = []
    for metric in metrics:
        row = {"Metric": metric_title(metric)}
        if one_base:
            row[f"{base_name} (baseline)"] = next(iter(_bases(metric, found)), NOT_MEASURED)
        for run_id, differences in found.items():
            row |= _version_cells(differences.get(metric), names[run_id], one_base)
        rows.append(row)
    return rows


def _bases(metric: str, found: Mapping[str, Mapping[str, MetricDifference]]) -> set[str]:
    """Return the baseline's means as they are shown, over the pairs of each version that has any."""
    differences = [each[metric] for each in found.values() if metric in each]
    return {_level(metric, each.base) for each in differences if each.difference.n_pairs}


def _version_cells(difference: MetricDifference | None, name: str, one_base: bool) -> dict[str, str]:
    """Return the cells of one version in the row of a metric; dashes where it is not compared."""
    interval, pairs = f"Interval of the verdict, {name}", f"n, {name}"
    if difference is None:
        return {name: NOT_MEASURED, interval: NOT_MEASURED, pairs: "0"}
    span = interval_text(difference.low, difference.high) if difference.difference.n_pairs else NOT_MEASURED
    return {
        name: _cell(difference, one_base),
        interval: span,
        pairs: f"{difference.difference.n_pairs:,}",
    }


def _level(metric: str, value: float) -> str:
    return percent(value) if metric == GOOD_SHARE else number(value)


def _cell(metric: MetricDifference, one_base: bool) -> str:
    if not metric.difference.n_pairs:
        return NOT_MEASURED
    symbol = VERDICT_LABELS[metric.verdict].split(" ")[0]
    base = "" if one_base else f"{_level(metric.metric, metric.base)} → "
    return f"{base}{_level(metric.metric, metric.other)}  ({signed(metric.difference.difference)} {symbol})"


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
