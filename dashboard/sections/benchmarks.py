"""The pieces of the Benchmarks page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard.charts.benchmarks import VersionPoint, dot_plot, progress
from dashboard.shell.components import clicked, draw, facts, finding_list, show_table
from dashboard.shell.session import View, open_cases
from dashboard.shell.widgets import choose
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import (
    NOT_MEASURED,
    count,
    interval_text,
    metric_label,
    number,
    signed,
    source_text,
)
from data.comparison.published_results import (
    BAND_NAMES,
    Band,
    Published,
    PublishedRow,
    PublishedTable,
    band_of,
    read_published,
)
from data.scoring.sanity import means_of
from data.scoring.summaries import MetricSummary
from data.store.workspace import Run
from metrics.metric_registry import declared, is_share
from metrics.sanity.means import check_means, looks_uncomputed

__all__ = [
    "against_section",
    "band_rows",
    "band_section",
    "difference_rows",
    "finding_section",
    "matrix_rows",
    "progress_section",
    "published_in",
    "table_picker",
]


def difference_rows(
    ours: Mapping[str, MetricSummary], shared: Sequence[str], against: PublishedRow
) -> list[dict[str, str]]:
    """Hold our means against a published row, metric by metric."""
    rows = []
    for name in shared:
        one, theirs = ours[name], against.values.get(name)
        rows.append(
            {
                "Metric": metric_label(name),
                "Ours": _level(name, one.mean),
                **_sureness(name, one),
                "Obtained": source_text(one) if one.n_scored else "imported mean",
                _column(against): _level(name, theirs),
                "Difference, + is better": NOT_MEASURED
                if theirs is None
                else _difference(name, (one.mean or 0.0) - theirs),
            }
        )
    return rows


def _sureness(name: str, one: MetricSummary | None) -> dict[str, str]:
    """Write how sure our own mean is."""
    if one is None:
        return {"95 % interval": NOT_MEASURED, "n": NOT_MEASURED}
    return {
        "95 % interval": interval_text(_shown(name, one.low), _shown(name, one.high), _digits(name)),
        "n": f"{one.n_scored:,}" if one.n_scored else "not stated",
    }


def _column(row: PublishedRow) -> str:
    """Head the column of a published row, so that no name of one stands for ours."""
    return f"Published: {row.name}"


def _difference(metric: str, value: float) -> str:
    """Write a difference turned so that plus is better, and say so in words; by the number alone."""
    found = declared(metric)
    shown, digits = _shown(metric, value) or 0.0, _digits(metric)
    if found is None or found.higher_is_better is None:
        return f"{signed(shown, digits)} (no direction)"
    turned = shown if found.higher_is_better else -shown
    if abs(turned) < 0.5 * 10.0**-digits:
        return "= the same"
    return f"{signed(turned, digits)} {'▲ better' if turned > 0 else '▼ worse'} by the number"


def matrix_rows(
    name: str, ours: Mapping[str, MetricSummary], table: PublishedTable, shared: Sequence[str]
) -> list[dict[str, str]]:
    """List every system with its means, the best of each metric marked; name is that of our run."""
    systems = [(f"{name} (ours)", {one: ours[one].mean for one in shared})]
    systems += [(row.name, {one: row.values.get(one) for one in shared}) for row in table.rows]
    best = {one: _best(one, [values[one] for _, values in systems]) for one in shared}
    return [
        {
            "System": system,
            **{
                metric_label(one): f"{_level(one, values[one])}{_star(values[one], best[one])}"
                for one in shared
            },
        }
        for system, values in systems
    ]


def _star(value: float | None, best: float | None) -> str:
    return " ★" if best is not None and value == best else ""


def _best(metric: str, values: Sequence[float | None]) -> float | None:
    """Give the best of the values that are there; None where the metric has no direction."""
    found = declared(metric)
    known = [value for value in values if value is not None]
    if not known or found is None or found.higher_is_better is None:
        return None
    return max(known) if found.higher_is_better else min(known)


def _level(metric: str, value: float | None) -> str:
    """Write a value: a share in percent, anything else on its own scale."""
    return number(_shown(metric, value), _digits(metric))


def _shown(metric: str, value: float | None) -> float | None:
    return 100 * value if value is not None and is_share(metric) else value


def _digits(metric: str) -> int:
    return 1 if is_share(metric) else 3


def band_rows(
    ours: Mapping[str, MetricSummary], bands: Mapping[str, Band], against: PublishedRow
) -> list[dict[str, str]]:
    """List the bands, each with our mean and the published one in it."""
    rows = []
    for name, band in bands.items():
        one, theirs = ours.get(name), against.values.get(name)
        edges = zip(BAND_NAMES[1:], (band.minimum, band.good, band.excellent), strict=True)
        rows.append(
            {
                "Metric": metric_label(name),
                "Ours": _banded(band, one.mean if one else None),
                **_sureness(name, one),
                _column(against): _banded(band, theirs),
                **{title: f"{_shown(name, edge):g}" for title, edge in edges},
            }
        )
    return rows


def _banded(band: Band, value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{_level(band.metric, value)} · {band_of(band, value)}"


def published_in(view: View) -> Published:
    """Give published results and target bands; a file of the user that cannot be read is told on the page."""
    found = read_published(view.store.workspace)
    for error in found.errors:
        st.error(markdown_text(str(error)), title="A file of published results or targets cannot be read")
    return found


def measured(view: View, run: Run) -> dict[str, MetricSummary]:
    """Give the means of a run that are measured; a 0 that looks uncomputed is not."""
    gone = uncomputed(run)
    return {name: one for name, one in view.summary(run).items() if one.mean is not None and name not in gone}


def uncomputed(run: Run) -> list[str]:
    """Name the means of a version that look like 0 written for what was not computed."""
    return looks_uncomputed(means_of(run)) if run.means else []


def table_picker(tables: Sequence[PublishedTable]) -> tuple[PublishedTable, PublishedRow]:
    """Let a person choose the published row to be compared with."""
    rows = {row.key: (table, row) for table in tables for row in table.rows}
    titles = {key: f"{table.title}: {row.name}" for key, (table, row) in rows.items()}
    shown = Counter(titles.values())
    titles = {key: f"{title} ({key})" if shown[title] > 1 else title for key, title in titles.items()}
    return rows[choose("Against", "against", list(rows), titles, {}, width=420)]


def against_section(view: View, table: PublishedTable, against: PublishedRow) -> None:
    """Show ours against every row of a table, with the difference to the chosen one."""
    ours = measured(view, view.run)
    shared = [name for name in ours if any(name in row.values for row in table.rows)]
    if not shared:
        needed = ", ".join(metric_label(name) for name in table.rows[0].values)
        st.info(
            f"This run has none of the metrics of {markdown_text(table.title)}: "
            f"{markdown_text(needed)}. They need "
            "the claims of answers and references with their labels, as RAGChecker writes them, or a judge."
        )
        return
    name = view.labels[view.run.run_id]
    shares = {one: ours[one] for one in shared if is_share(one)}
    alt = "Our means with intervals beside the published ones; the numbers are in the tables below"
    hit = clicked(dot_plot(shares, name, table.rows), "dots", alt) if shares else None
    facts(
        [
            _ours_n(ours, shared),
            f"{markdown_text(table.source)}, {markdown_text(table.date)}",
            "shares in percent",
            "click ours for its cases" if view.run.n else "",
        ]
    )
    st.warning(
        "A published row was measured on other questions and perhaps by another judge. Differences are shown "
        "without a claim of significance: they cannot tell which system is better."
    )
    show_table(difference_rows(ours, shared, against), f"Ours against {against.name}")
    with st.expander("Every published row, the best of each column marked ★"):
        show_table(matrix_rows(name, ours, table, shared), "All systems by metric")
    if hit is not None and view.run.n:
        _open_worst(str(hit[0]))


def _open_worst(metric: str) -> None:
    found = declared(metric)
    falling = found is not None and found.higher_is_better is False
    open_cases(sort=metric, descending=falling)


def _ours_n(ours: Mapping[str, MetricSummary], shared: Sequence[str]) -> str:
    sizes = sorted({ours[name].n_scored for name in shared})
    if sizes == [0]:
        return "ours: means without samples"
    span = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"ours: n = {span} questions"


def band_section(view: View, bands: Mapping[str, Band], against: PublishedRow) -> None:
    """Show the target bands with ours and the chosen row in them."""
    st.subheader("Target bands")
    rows = band_rows(measured(view, view.run), bands, against)
    show_table(rows, "Target bands with ours and the published row")
    origins = dict.fromkeys(
        f"{markdown_text(band.title)} ({markdown_text(band.source)})" for band in bands.values()
    )
    facts([*origins, "shares in percent", "means decide the band, intervals do not"])


def progress_section(view: View, bands: Mapping[str, Band]) -> None:
    """Draw one metric over the versions of the project, those known by their means among them."""
    names = _history_metrics(view)
    if len(view.runs) < 2 or not names:
        return
    st.subheader("Progress over versions")
    metric = choose(
        "Metric", "shown_metric", names, {name: metric_label(name) for name in names}, {}, width=320
    )
    points = [
        VersionPoint(view.labels[run.run_id], _of(view, run, metric), metric in uncomputed(run))
        for run in view.runs
    ]
    band = bands.get(metric)
    draw(
        progress(points, metric, band.good if band else None),
        "progress",
        f"{metric_label(metric)} over versions",
    )
    have = [point for point in points if point.summary is not None and not point.uncomputed]
    facts(
        [
            f"{count(len(have), 'version')} of {len(points)} measured it",
            "means without samples have no interval" if any(run.means for run in view.runs) else "",
            "a gap is not measured, and not 0",
        ]
    )


def _of(view: View, run: Run, metric: str) -> MetricSummary | None:
    one = view.summary(run).get(metric)
    return one if one is not None and one.mean is not None else None


def _history_metrics(view: View) -> list[str]:
    names = dict.fromkeys(
        name
        for run in view.runs
        for name, one in view.summary(run).items()
        if one.mean is not None and ("@" not in name or name.endswith("@5")) and is_share(name)
    )
    first = [one for one in ("answer_f1", "faithfulness") if one in names]
    return [*first, *(one for one in names if one not in first)]


def finding_section(view: View, tables: Sequence[PublishedTable]) -> None:
    """Write what the checks find in the history and in the published rows."""
    st.subheader("What is wrong with these figures")
    nothing = True
    for run in view.runs:
        found = view.findings(run) if run.means else []
        if found:
            st.markdown(f"**{markdown_text(view.labels[run.run_id])}**")
            finding_list(found)
            nothing = False
    for table in tables:
        for row in table.rows:
            found = check_means(row.means)
            if found:
                st.markdown(f"**{markdown_text(table.title)}: {markdown_text(row.name)}**")
                finding_list(found)
                nothing = False
    if nothing:
        st.write("The figures agree with each other.")
