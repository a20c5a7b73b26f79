"""Lost in the middle: the curve by place, its test, and the questions that closed book fails."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.experiments.curves import position_curve
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import draw, facts, metric_title, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.data.experiments.position import PositionFindings, published_positions
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.experiments.position import PositionEffect
from ragtriage.metrics.number_text import NOT_MEASURED, interval_text, number, p_value, signed
from ragtriage.metrics.statistics.repeated_measures import PairTest


def position_section(_: View, summary: ExperimentSummary) -> None:
    """Draw quality by the place of the gold document beside the published curves."""
    findings: PositionFindings = summary.findings
    title = metric_title(summary.quality)
    published = published_positions()
    st.markdown("##### Quality by the place of the gold document")
    chart = position_curve(
        findings.effect, findings.documents, title, findings.floor, findings.ceiling, published
    )
    draw(plotly_figure(chart), "position_curve", f"{title} by the place of the gold document")
    facts(
        [
            f"n = {findings.effect.test.n:,} questions measured at every place",
            "bars: 95 %, Wilson or exact",
            f"grey: {published.source}; {published.questions}, {published.documents} documents, cited: "
            "another data set and other models, so only the shape compares",
        ]
    )
    _effect_facts("All questions", findings.effect)
    if findings.unknown is not None and findings.n_unknown < findings.effect.test.n:
        _effect_facts(f"The {findings.n_unknown:,} questions that closed book fails", findings.unknown)
    elif findings.n_unknown:
        st.caption(f"Closed book fails {findings.n_unknown:,} of them: none of the effect is own knowledge.")
    with st.expander("Ends against inner places, pair by pair"):
        show_table(
            [_row(findings.effect, pair) for pair in findings.effect.pairs], "Ends against inner places"
        )
        facts(["exact McNemar test", "p corrected by Holm over these pairs", "paired on the question"])


def _effect_facts(who: str, effect: PositionEffect) -> None:
    contrast, fit = effect.contrast, effect.fit
    vertex = ""
    if fit is not None and fit.inside:
        kind = "lowest" if fit.square > 0 else "highest"
        vertex = f"parabola: {kind} at rank {number(fit.vertex, 1)}"
    facts(
        [
            f"**{who}** (n = {effect.test.n:,})",
            f"middle gap {signed(effect.gap)} (mean of the ends less the lowest inner place; above 0 by "
            "chance too)",
            f"inner places less ends {signed(contrast.difference)} "
            f"{interval_text(contrast.low, contrast.high)}, p {p_value(contrast.p)}",
            f"{effect.test.method} {number(effect.test.statistic)}, p {p_value(effect.test.p)}"
            if effect.test.n_varying
            else "no answer varies with the place",
            vertex,
        ]
    )


def _row(effect: PositionEffect, pair: PairTest) -> dict[str, str]:
    return {
        "End": f"rank {effect.ranks[pair.first]}",
        "Inner": f"rank {effect.ranks[pair.second]}",
        "Difference": signed(pair.difference, 3),
        "95 % interval": interval_text(pair.low, pair.high, 3),
        "p": p_value(pair.p),
        "p, Holm": p_value(pair.adjusted_p),
        "n": f"{pair.n:,}" if pair.n else NOT_MEASURED,
    }
