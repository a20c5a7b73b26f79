"""Noise and counterfact: the curve over noise, refusals without gold, and what altered gold leads to."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.experiments.curves import noise_curve, outcome_bars
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import draw, facts, metric_title, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.noise import NoiseFindings
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.experiments.noise import NoiseEffect
from ragtriage.metrics.number_text import NOT_MEASURED, interval_text, number, p_value, percent, signed
from ragtriage.metrics.statistics.intervals import Interval
from ragtriage.metrics.statistics.repeated_measures import PairTest

OUTCOMES = {
    "context": "follows the altered document",
    "own knowledge": "gives the right answer, from its own knowledge",
    "both": "names both",
    "refused": "declines",
    "neither": "says something else",
}


def noise_section(_: View, summary: ExperimentSummary) -> None:
    """Draw quality over the share of noise, refusals, and what answers from altered documents follow."""
    findings: NoiseFindings = summary.findings
    left, right = st.columns([1.5, 1], gap="medium")
    with left:
        if findings.effect is not None:
            _noise(findings.effect, metric_title(summary.quality))
    with right:
        if findings.followed:
            st.markdown("##### From an altered document, the answer ...")
            shares = {OUTCOMES[name]: share for name, share in findings.followed.items()}
            draw(
                plotly_figure(outcome_bars(shares)), "outcomes", "What answers from altered documents follow"
            )
            n = next(iter(shares.values())).n_scored
            facts(
                [f"n = {n:,} questions", "by the words of the answer: right answer, altered answer, refusal"]
            )
    _refusals(findings)


def _noise(effect: NoiseEffect, title: str) -> None:
    st.markdown("##### Quality by the share of noise")
    draw(plotly_figure(noise_curve(effect, title)), "noise_curve", f"{title} by the share of noise")
    facts(
        [
            f"n = {effect.test.n:,} questions measured at every share",
            "bars: 95 %, Wilson or exact",
            f"{effect.test.method}, p {p_value(effect.test.p)}"
            if effect.test.n_varying
            else "no answer varies with it",
            "with a fixed number of gold passages more noise also makes the context longer",
        ]
    )
    with st.expander("Each share of noise against the least"):
        show_table([_row(effect, pair) for pair in effect.pairs], "Shares of noise against the least")
        facts(["exact McNemar test", "p corrected by Holm over these pairs", "paired on the question"])


def _row(effect: NoiseEffect, pair: PairTest) -> dict[str, str]:
    return {
        "Noise": percent(effect.levels[pair.second]),
        "Difference": signed(pair.difference, 3),
        "95 % interval": interval_text(pair.low, pair.high, 3),
        "p": p_value(pair.p),
        "p, Holm": p_value(pair.adjusted_p),
        "n": f"{pair.n:,}" if pair.n else NOT_MEASURED,
    }


def _refusals(findings: NoiseFindings) -> None:
    rows = [
        ("Gold document there", "answer", findings.refused_with_gold),
        ("Gold document removed", "decline", findings.refused_without),
    ]
    known = [(context, wanted, share) for context, wanted, share in rows if share is not None]
    if not known:
        return
    st.markdown("##### Does it decline when the answer is not there?")
    show_table([_refusal_row(*entry) for entry in known], "Refusals with and without the gold document")
    right = findings.known
    facts(
        [
            "declining told by its words",
            f"right answers without the gold document: {percent(right.mean)} of {right.n_scored:,} "
            f"({span(right)}): own knowledge, or luck"
            if right is not None and right.n_scored
            else "",
        ]
    )


def _refusal_row(context: str, wanted: str, share: Interval) -> dict[str, str]:
    declined = round(share.mean * share.n_scored) if share.n_scored else 0
    return {
        "Context": context,
        "It should": wanted,
        "Declines": f"{declined:,} of {share.n_scored:,}",
        "Answers": f"{share.n_scored - declined:,} of {share.n_scored:,}",
        "Share declined": number(share.mean, 3),
        "95 % interval": interval_text(share.low, share.high, 3),
    }
