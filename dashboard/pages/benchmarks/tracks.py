"""This run beside target bands and published results: tracks, claims, what is missing, and the tabs."""

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from ragtriage.dashboard.charts.published import (
    Track,
    TrackPoint,
    VersionPoint,
    band_tracks,
    claim_shares,
    dot_plot,
    progress,
)
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.benchmarks import BandStanding, standings_of
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.present.page_html.blocks import MissingRow, Strip, missing_rows
from ragtriage.dashboard.shell.components import clicked, current_theme, draw, facts, finding_list, show_table
from ragtriage.dashboard.shell.session import View, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, draw_folded
from ragtriage.dashboard.tables.published import (
    band_table,
    conditions_table,
    explained_table,
    published_table,
    source_table,
    step_table,
    system_table,
)
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.dashboard.wording.formatting import metric_label
from ragtriage.data.comparison.published_gap import conditions_of, explained_gaps
from ragtriage.data.comparison.published_results import (
    Published,
    PublishedRow,
    PublishedTable,
    read_published,
)
from ragtriage.data.comparison.trend import best_published, versions_of
from ragtriage.data.diagnosis.run_checks import uncomputed_metrics
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.analysis.bands import BandScale
from ragtriage.metrics.metric_registry import declared, imported_declarations, is_share, title_of
from ragtriage.metrics.number_text import NOT_MEASURED, count, number, percent
from ragtriage.metrics.sanity.means import check_means
from ragtriage.metrics.sanity.rule import Finding

LEAST_LANGUAGE = 0.05  # of the questions whose language is known: one in fewer of them is left out
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
    versions = [run for run in versions_of(view.runs).runs if run != view.run]  # trials of a grid are none
    others = versions[-MOST_VERSIONS:]
    tracks = [
        _track(view, standing, rows, [(run.run_id, measured(view, run)) for run in others])
        for standing in shown
    ]
    figure = band_tracks(tracks, against.name, THEMES[current_theme()])
    alt = "Our means on their target bands beside published ones; the numbers are in the tables below"
    point = clicked(figure, "tracks", alt, theme=None)
    left_out = len(versions) - len(others)
    facts(
        "outlined: below the first threshold; darker bands are better",
        "◇ published, on other questions",
        "○ other versions" if others else "",
        f"{count(left_out, 'older version')} not drawn" if left_out > 0 else "",
        "right is better",
        f"{len(standings) - len(shown)} not on a scale from 0 to 1: in the table"
        if len(standings) > len(shown)
        else "",
        "click ours for its cases" if view.run.n else "",
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
    facts(*[f"{part} {percent(share, 1)}" for part, share, _ in parts])


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


def published_in(view: View) -> Published:
    """Return published results and target bands, with an error on the page for each unreadable file."""
    published = read_published(view.store.workspace)
    for error in published.errors:
        st.error(markdown_text(str(error)), title="A file of published results or targets cannot be read")
    return published


def measured(view: View, run: Run) -> dict[str, MetricSummary]:
    """Return the measured means of a run; a 0 that looks uncomputed is left out."""
    not_computed = uncomputed_metrics(view.scored(run))
    return {
        name: summary
        for name, summary in view.summary(run).items()
        if summary.mean is not None and name not in not_computed
    }


def table_picker(tables: Sequence[PublishedTable]) -> tuple[PublishedTable, PublishedRow]:
    """Return the published row to compare with, chosen in a select box, and its table."""
    rows = {row.key: (table, row) for table in tables for row in table.rows}
    titles = {key: f"{table.title}: {row.name}" for key, (table, row) in rows.items()}
    counts = Counter(titles.values())
    titles = {key: f"{title} ({key})" if counts[title] > 1 else title for key, title in titles.items()}
    return rows[choose("Against", "against", list(rows), titles, {}, width=420)]


def against_section(view: View, table: PublishedTable, against: PublishedRow) -> None:
    """Compare our means with every row of a table, and list the differences to the chosen row."""
    ours = measured(view, view.run)
    shared = [name for name in ours if any(name in row.values for row in table.rows)]
    if not shared:
        needed = ", ".join(metric_label(name) for name in table.rows[0].values)
        st.info(
            f"This run has none of the metrics of {markdown_text(table.title)}: {markdown_text(needed)}. "
            "They need the labelled claims of answers and references, as RAGChecker writes them, or a judge."
        )
        return
    conditions = conditions_of(view.run, _languages(view), table, against)
    unlike = [condition.name for condition in conditions if not condition.alike]
    if "questions" in unlike:
        st.markdown(
            ":orange[⚠ **Other questions, so no ranking:** these rows do not show which system is better.]"
        )
    show_table(
        published_table(ours, shared, against, ranked="questions" not in unlike),
        None,
        f"{markdown_text(table.source)}, {markdown_text(table.date)}",
        "Shares in percent",
        "n: our questions that have a value, which differ by metric: a refusal claims nothing, for instance",
    )
    alike = f"{len(unlike)} of {len(conditions)} differ or are not known" if unlike else "all alike"

    def draw_conditions() -> None:
        show_table(conditions_table(conditions, against))
        if unlike:
            gaps = {metric: ours[metric] for metric in shared}
            show_table(explained_table(explained_gaps(gaps, conditions, table, against), against))

    explained = ", and what they explain" if unlike else ""
    with st.container(gap="xsmall"):
        draw_folded("All published rows", "published_all", lambda: _all_rows(view, ours, shared, table))
        draw_folded(f"Test conditions: {alike}{explained}", "published_conditions", draw_conditions)


def _all_rows(
    view: View, ours: Mapping[str, MetricSummary], shared: Sequence[str], table: PublishedTable
) -> None:
    """Draw our means among all rows of a table; a click on one of ours opens its cases, the worst first."""
    name = view.labels[view.run.run_id]
    shares = {metric: ours[metric] for metric in shared if is_share(metric)}
    alt = "Our means with intervals beside the published ones; the numbers are in the table below"
    point = clicked(dot_plot(shares, name, table.rows), "dots", alt) if shares else None
    show_table(system_table(name, ours, table, shared))
    facts("★ best of its column", "click ours for its cases" if view.run.n else "")
    if point is not None and view.run.n:
        _open(view, str(point[0]), "")


def _languages(view: View) -> list[str]:
    """Return the languages of the questions of the run, most first; none where it has no samples."""
    table = view.scored(view.run).auxiliary_table("languages") if view.run.n else None
    known = Counter() if table is None else Counter(table["question"].drop_null().to_pylist())
    return [language for language, n in known.most_common() if n >= LEAST_LANGUAGE * known.total()]


def band_section(view: View, scale: BandScale, against: PublishedRow) -> None:
    """Show in which bands of a scale our means and the chosen row are."""
    show_table(band_table(measured(view, view.run), scale, against))
    facts(
        "an edge belongs to the better band",
        "shares in percent",
        "the band is that of the mean, whatever its interval; the headline goes by the interval",
    )


def progress_section(view: View, published: Published) -> None:
    """Draw one metric over the versions of the project, runs with only reported means included."""
    names = _history_metrics(view)
    if len(view.runs) < 2 or not names:
        st.caption("Progress needs two versions with a shared metric.")
        return
    metric = choose(
        "Metric", "shown_metric", names, {name: metric_label(name) for name in names}, {}, width=320
    )
    points = [
        VersionPoint(
            view.labels[run.run_id],
            summary if (summary := view.summary(run).get(metric)) and summary.mean is not None else None,
            metric in uncomputed_metrics(view.scored(run)),
        )
        for run in view.runs
    ]
    band, best = published.bands.get(metric), best_published(published.tables, metric)
    draw(
        progress(points, metric, band.good if band else None),
        "progress",
        f"{metric_label(metric)} over versions",
    )
    measured_points = [point for point in points if point.summary is not None and not point.uncomputed]
    facts(
        f"{count(len(measured_points), 'version')} of {len(points)} measured it",
        "reported means have no interval" if any(run.means for run in view.runs) else "",
        "a gap means not measured, not 0",
    )
    last_digits = [run.config.get("step") if run.means and is_share(metric) else None for run in view.runs]
    steps = [float(digit) if isinstance(digit, int | float) else 0.0 for digit in last_digits]
    show_table(step_table(points, steps, metric, best))
    facts(
        "differences of means, in percentage points" if is_share(metric) else "differences of means",
        "nothing is paired or tested here: Compare and Trend do that for runs with samples",
        "previous: the version before it that measured the metric",
        f"published: {markdown_text(best.name)}, the best published row, on other questions" if best else "",
    )


def _history_metrics(view: View) -> list[str]:
    names = dict.fromkeys(
        name
        for run in view.runs
        for name, summary in view.summary(run).items()
        if summary.mean is not None
        and ("@" not in name or name.endswith("@5"))
        and (is_share(name) or name in imported_declarations())
    )
    first = [name for name in ("answer_f1", "faithfulness") if name in names]
    return [*first, *(name for name in names if name not in first)]


def finding_section(view: View, tables: Sequence[PublishedTable]) -> None:
    """List what the sanity checks find in reported means and in published rows."""
    findings = [
        (markdown_text(view.labels[run.run_id]), view.findings(run)) for run in view.runs if run.means
    ]
    findings += [
        (f"{markdown_text(table.title)}: {markdown_text(row.name)}", check_means(row.means))
        for table in tables
        for row in table.rows
    ]
    for title, of_means in findings:
        if of_means:
            st.markdown(f"**{title}**")
            finding_list(of_means)
    if not any(of_means for _, of_means in findings):
        st.write("The means agree with each other.")


def sources_section(published: Published) -> None:
    """List where published results and targets come from, and how to add others."""
    show_table(source_table(published))
    st.caption(
        "To add your own results, put JSON files in the folder `benchmarks` of the workspace; "
        "docs/benchmarks.md describes the format."
    )
