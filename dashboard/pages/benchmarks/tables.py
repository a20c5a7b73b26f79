"""This run against published results and target bands in numbers: the tabs of the Benchmarks page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from ragtriage.dashboard.charts.benchmarks import VersionPoint, dot_plot, progress
from ragtriage.dashboard.shell.components import clicked, draw, facts, finding_list, show_table
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.tables.benchmarks import (
    band_table,
    published_table,
    source_table,
    step_table,
    system_table,
)
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.formatting import metric_label
from ragtriage.data.comparison.published_results import (
    Published,
    PublishedRow,
    PublishedTable,
    read_published,
)
from ragtriage.data.comparison.trend import best_published
from ragtriage.data.diagnosis.run_checks import uncomputed_metrics
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.analysis.bands import BandScale
from ragtriage.metrics.metric_registry import declared, imported_declarations, is_share
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.means import check_means

MOST_DIGITS = 2  # of a value that is not rounded


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
    name = view.labels[view.run.run_id]
    shares = {metric: ours[metric] for metric in shared if is_share(metric)}
    alt = "Our means with intervals beside the published ones; the numbers are in the tables below"
    point = clicked(dot_plot(shares, name, table.rows), "dots", alt) if shares else None
    facts(
        [
            _sample_sizes(ours, shared),
            f"{markdown_text(table.source)}, {markdown_text(table.date)}",
            "shares in percent",
            "click ours for its cases" if view.run.n else "",
        ]
    )
    st.warning(
        "Published results were measured on other questions and perhaps by another judge. Differences are "
        "shown without a claim of significance: they do not tell which system is better."
    )
    show_table(published_table(ours, shared, against))
    with st.expander("All published rows, the best of each column marked ★"):
        show_table(system_table(name, ours, table, shared))
    if point is not None and view.run.n:
        metric = str(point[0])
        declaration = declared(metric)
        lower_is_better = declaration is not None and declaration.higher_is_better is False
        open_cases(sort=metric, descending=lower_is_better)  # the worst case first


def _sample_sizes(ours: Mapping[str, MetricSummary], shared: Sequence[str]) -> str:
    sizes = sorted({ours[name].n_scored for name in shared})
    if sizes == [0]:
        return "ours: reported means without samples"
    span = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"ours: n = {span} questions"


def band_section(view: View, scale: BandScale, against: PublishedRow) -> None:
    """Show in which bands of a scale our means and the chosen row are."""
    show_table(band_table(measured(view, view.run), scale, against))
    facts(
        [
            "an edge belongs to the better band",
            "shares in percent",
            "the band is that of the mean, whatever its interval; the headline goes by the interval",
        ]
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
            _measured_summary(view, run, metric),
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
        [
            f"{count(len(measured_points), 'version')} of {len(points)} measured it",
            "reported means have no interval" if any(run.means for run in view.runs) else "",
            "a gap means not measured, not 0",
        ]
    )
    steps = [_last_digit(run, metric) for run in view.runs]
    show_table(step_table(points, steps, metric, best))
    facts(
        [
            "differences of means, in percentage points" if is_share(metric) else "differences of means",
            "nothing is paired or tested here: Compare and Trend do that for runs with samples",
            "previous: the version before it that measured the metric",
            f"published: {markdown_text(best.name)}, the best published row, on other questions"
            if best
            else "",
        ]
    )


def _last_digit(run: Run, metric: str) -> float:
    """Return the last digit that is known of a mean of the run; 0.0 where it is not rounded."""
    step = run.config.get("step") if run.means and is_share(metric) else None
    return float(step) if isinstance(step, int | float) else 0.0


def _measured_summary(view: View, run: Run, metric: str) -> MetricSummary | None:
    summary = view.summary(run).get(metric)
    return summary if summary is not None and summary.mean is not None else None


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
