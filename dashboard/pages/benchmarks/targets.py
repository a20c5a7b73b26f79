"""This run on the bands of a scale: tracks, the claims behind them, what is missing to the next band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from ragtriage.dashboard.charts.benchmarks import Track, TrackPoint, band_tracks, claim_shares
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.benchmarks import BandStanding, standings_of
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.pages.benchmarks.tables import measured
from ragtriage.dashboard.present.page_html.blocks import Strip
from ragtriage.dashboard.present.page_html.rows import MissingRow, missing_rows
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import clicked, draw, facts
from ragtriage.dashboard.shell.session import View, keep, open_cases
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.data.comparison.published_results import PublishedRow, PublishedTable
from ragtriage.data.diagnosis.run_checks import uncomputed_metrics
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.bands import BandScale
from ragtriage.metrics.metric_registry import declared, is_share, title_of
from ragtriage.metrics.number_text import NOT_MEASURED, count, number, percent
from ragtriage.metrics.sanity.rule import Finding

MOST_VERSIONS = 5  # drawn beside the run on display
CLAIMS = ("faithfulness", "hallucination")
SLIGHT = 0.005


def errors_of(view: View) -> list[Finding]:
    """Return the findings that say of the means of the run that they cannot be right."""
    return [finding for finding in view.findings(view.run) if finding.severity == "error"]


def standings_on(view: View, scale: BandScale) -> list[BandStanding]:
    """Return where the means of the run lie on a scale, the furthest off first."""
    doubted = frozenset(name for finding in errors_of(view) for name in finding.metrics)
    return standings_of(measured(view, view.run), dict(scale.bands), doubted)


def state_of(standing: BandStanding) -> State:
    """Return how a mean stands on its bands: "?" where a check doubts it or its interval spans the edge."""
    if standing.doubted:
        return "doubted"
    if standing.below:
        return "bad"
    return "good" if standing.good or len(standing.reached) == 1 else "cannot tell"


def tracks_section(
    view: View, standings: Sequence[BandStanding], tables: Sequence[PublishedTable], against: PublishedRow
) -> None:
    """Draw a track a target; a click opens the cases, or shows the version that was clicked."""
    shown = [standing for standing in standings if is_share(standing.metric) and not standing.impossible]
    if not shown:
        st.info("None of the measured targets is on a scale from 0 to 1; their bands are in the table below.")
        return
    rows = [row for table in tables for row in table.rows if against in table.rows]
    others = [run for run in view.runs if run != view.run][-MOST_VERSIONS:]
    tracks = [
        _track(view, standing, rows, [(run.run_id, measured(view, run)) for run in others])
        for standing in shown
    ]
    figure = band_tracks(tracks, against.name, THEMES[current_theme()])
    alt = "Our means on their target bands beside published ones; the numbers are in the tables below"
    point = clicked(figure, "tracks", alt, theme=None)
    left_out = len(view.runs) - 1 - len(others)
    facts(
        [
            "outlined: below the first threshold; darker bands are better",
            "◇ published, on other questions",
            "○ other versions" if others else "",
            f"{count(left_out, 'older version')} not drawn" if left_out > 0 else "",
            "right is better",
            f"{len(standings) - len(shown)} not on a scale from 0 to 1: in the table"
            if len(standings) > len(shown)
            else "",
            "click ours for its cases" if view.run.n else "",
        ]
    )
    if point is not None:
        _open(view, str(point[0]), str(point[1]))


def _open(view: View, metric: str, run_id: str) -> None:
    if run_id and run_id != view.run.run_id:
        keep(run=run_id)
        st.rerun()
    elif view.run.n:
        declaration = declared(metric)
        lower_is_better = declaration is not None and declaration.higher_is_better is False
        open_cases(sort=metric, descending=lower_is_better)  # the worst case first


def _track(
    view: View,
    standing: BandStanding,
    published: Sequence[PublishedRow],
    others: Sequence[tuple[str, Mapping[str, MetricSummary]]],
) -> Track:
    metric = standing.metric
    summary = measured(view, view.run)[metric]
    earlier = tuple(
        TrackPoint(view.labels[run_id], means[metric].mean or 0.0, run_id)
        for run_id, means in others
        if metric in means
    )
    by_id = {run.run_id: run for run in view.runs}
    not_computed = tuple(
        view.labels[run_id]
        for run_id, _ in others
        if metric in uncomputed_metrics(view.scored(by_id[run_id]))
    )
    return Track(
        metric,
        TrackPoint(view.labels[view.run.run_id], standing.mean, view.run.run_id),
        summary.low,
        summary.high,
        state_of(standing),
        standing.bands,
        earlier,
        tuple(TrackPoint(row.name, row.values[metric]) for row in published if metric in row.values),
        not_computed,
    )


def claims_section(view: View) -> None:
    """Draw where the claims of the answers come from, and what of them is unaccounted for."""
    means = {name: summary.mean for name, summary in measured(view, view.run).items()}
    faithful, hallucinated = (means.get(name) for name in CLAIMS)
    if faithful is None or hallucinated is None:
        return
    rest = max(0.0, 1.0 - faithful - hallucinated)
    precision, own = means.get("answer_precision"), means.get("self_knowledge")
    most = own if own is not None else min(rest, precision if precision is not None else rest)
    known = max(0.0, min(rest, most))
    unaccounted = rest - known if rest - known > SLIGHT else 0.0
    name = markdown_text(shorten(view.labels[view.run.run_id], 28))
    st.markdown(f"##### The claims of {name} {'do not add up' if unaccounted else 'by where they come from'}")
    at_most = "own knowledge" if own is not None else "own knowledge, at most"
    parts = [
        ("faithful", faithful, "good"),
        ("hallucinated", hallucinated, "bad"),
        (at_most, known, "alive"),
        *([("unaccounted for", unaccounted, "open")] if unaccounted else []),
    ]
    figure = claim_shares(parts, THEMES[current_theme()])
    draw(
        figure,
        "claims",
        "Shares of the claims: " + ", ".join(f"{n} {percent(s, 1)}" for n, s, _ in parts),
        theme=None,
    )
    facts([f"{part} {percent(share, 1)}" for part, share, _ in parts])


def missing_section(standings: Sequence[BandStanding], errors: Sequence[Finding]) -> None:
    """Draw what to clear up first, and how far each mean is from its next band."""
    for finding in errors:
        st.warning(markdown_text(finding.message), title=f"First: {markdown_text(finding.clause)}")
    st.markdown("##### Points to the next band")
    st.html(missing_rows([_missing(standing) for standing in standings]))


def _missing(standing: BandStanding) -> MissingRow:
    bands, metric = standing.bands, standing.metric
    if standing.impossible:
        label = f"{title_of(metric)}: impossible value"
        title = capital(title_of(metric))
        return MissingRow(title, "impossible value", NOT_MEASURED, "doubted", Strip(None, label=label))
    sign = -1.0 if bands.edges[0] > bands.edges[-1] else 1.0
    at = bands.names.index(bands.at(standing.mean))
    edge = bands.edges[at] if at < len(bands.edges) else None
    factor = 100.0 if is_share(metric) else 1.0
    gap = None if edge is None else abs(factor * (edge - standing.mean))
    state = state_of(standing)
    return MissingRow(
        capital(title_of(metric)),
        f"{bands.names[at]} now"
        if edge is None
        else f"{bands.names[at + 1]} {'from' if sign > 0 else 'at most'} "
        f"{number(factor * edge, 0 if factor > 1 else 2)}",
        "reached" if gap is None else f"+{number(gap, 1)}",
        state,
        Strip(
            standing.mean if is_share(metric) else None,
            gate=edge,
            state=state,
            label=f"{title_of(metric)} {number(standing.mean)}",
            higher_is_better=sign > 0,
        ),
    )
