"""The rate of ignored first documents on the Alignment page: of this run, and of every version."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.alignment_charts import VersionRate, version_rates
from dashboard.alignment_words import METHODS, methods, narrowed, open_bar, span, with_origin
from dashboard.drawing import clicked, facts, show_table
from dashboard.rounding import count, percent
from dashboard.session import View, open_cases
from dashboard.text import markdown_text
from data.alignments import ALERT, PUBLISHED, Rate, origins_of, rate_of
from data.tables import RunTable
from data.use_tables import ORIGINS, UseOfRun, use_of
from data.workspace import Run

__all__ = ["advice", "rates_of", "version_section"]

LOOK_INTO = (
    ("Chunk size", "chunks that are too small or cut in the wrong place rank first and say too little"),
    ("Embedding model", "one that matches the topic and not the question puts the wrong document first"),
    ("Reranker calibration", "a reranker trained on other questions can lower what answers need"),
)
MOST_VERSIONS = 25


@st.cache_resource(max_entries=128, show_spinner=False)
def _rates(_table: RunTable, scores: str) -> list[Rate]:  # noqa: ARG001 -- cache key
    found = use_of(_table)
    return [] if found is None else [rate_of(_table, found, origin) for origin in origins_of(found)]


def rates_of(table: RunTable) -> list[Rate]:
    """Give the rate of a run under each origin."""
    return _rates(table, table.scores_path.as_posix())


def version_section(view: View) -> None:
    """Draw the rate of every version of the project; a mark or a button opens its cases."""
    rates = [
        VersionRate(view.labels[run.run_id], run.run_id, rate, run.run_id == view.run.run_id)
        for run in _shown(view)
        for rate in rates_of(view.table(run))
    ]
    alt = "Rate of ignored first documents by version, with intervals, the alert line and the published range"
    hit = clicked(version_rates(rates), "version_rates", alt)
    facts(
        [
            f"the alert line is at {percent(ALERT)}",
            f"published {percent(PUBLISHED.low)} to {percent(PUBLISHED.high)} ({PUBLISHED.source}): "
            f"{PUBLISHED.caution}",
            "refusals are left out",
            methods([one.rate.value for one in rates]),
            "click a version for its cases",
        ]
    )
    with st.container(horizontal=True):
        _version_buttons(rates)
    with st.expander("The numbers"):
        show_table([_rate_row(one) for one in rates], "Rates by version with intervals")
    if hit is not None:
        _open_version(view, str(hit[0]), str(hit[3]))


def _version_buttons(rates: Sequence[VersionRate]) -> None:
    with st.popover("Open cases of a version"):
        for one in rates:
            title = f"{one.label} · {ORIGINS[one.rate.origin]} · {percent(one.rate.value.mean)}"
            if st.button(markdown_text(title), key=f"v_{one.run_id}_{one.rate.origin}", width="stretch"):
                several = sum(other.run_id == one.run_id for other in rates) > 1
                open_cases(
                    run=one.run_id, mark=with_origin("ignored_top", one.rate.origin if several else "")
                )


def _open_version(view: View, run_id: str, origin: str) -> None:
    run = next((one for one in view.sampled if one.run_id == run_id), None)
    if run is not None:
        several = len(rates_of(view.table(run))) > 1
        open_cases(run=run_id, mark=with_origin("ignored_top", origin if several else ""))


def _shown(view: View) -> list[Run]:
    """Give the newest versions, the run on display among them."""
    newest = list(reversed(view.sampled))[:MOST_VERSIONS]
    return newest if view.run in newest else [view.run, *newest[:-1]]


def _rate_row(one: VersionRate) -> dict[str, str]:
    value = one.rate.value
    return {
        "Version": one.label,
        "Rate": percent(value.mean),
        "95 % interval": f"{percent(value.low)} to {percent(value.high)}",
        "Interval by": f"{value.method}, few questions" if value.too_few else value.method,
        "n": f"{value.n_scored:,}",
        "Drew on nothing": f"{one.rate.used_nothing:,}",
        "Use": ORIGINS[one.rate.origin],
    }


def advice(found: UseOfRun, rate: Rate) -> None:
    """Say how this run stands to the alert line, what to look into above it, and lead to the cases."""
    value = rate.value
    few = "; few questions: take it as a hint" if value.too_few else ""
    told = (
        f"**{percent(value.mean)}** of the answers pass over the first document ({span(value)}, "
        f"n = {count(value.n_scored, 'question')}, {ORIGINS[rate.origin]}, {METHODS[value.method]}{few})."
    )
    if value.mean <= ALERT:
        st.markdown(f"{told} That is not above the alert line of {percent(ALERT)}.")
    else:
        sure = (
            "the interval lies above it"
            if value.low > ALERT
            else "the interval includes it, so it is not certain"
        )
        st.warning(
            f"{told} That is above the alert line of {percent(ALERT)}; {sure}. What to look into:\n"
            + "\n".join(f"- **{what}**: {why}." for what, why in LOOK_INTO)
        )
    origin = narrowed(found, rate.origin)
    with st.container(horizontal=True):
        if value.mean > 0 and st.button("Cases that pass over it", key="cases_ignored"):
            open_bar("ignored_top", origin)
        nothing = f"Cases that draw on no document ({rate.used_nothing:,})"
        if rate.used_nothing and st.button(nothing, key="cases_nothing"):
            open_bar("used_nothing", origin)
