"""A metric over the versions of a project: the large chart of the Trend page, and its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.charts.version_lines import TrendMark, trend_lines
from ragtriage.dashboard.shell.components import (
    current_theme,
    draw,
    export_menu,
    facts,
    metric_title,
    show_table,
)
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, go_to_page, keep
from ragtriage.dashboard.wording.comparisons import outcome_label, paired_method_text
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.answered import Answered, answered_of
from ragtriage.data.comparison.compare import Comparison
from ragtriage.data.comparison.compared_metrics import pair_metrics
from ragtriage.data.comparison.trend import (
    Change,
    Level,
    Versions,
    change_since,
    later_than,
    level_of_mean,
    level_of_rate,
    trend_metrics,
    versions_of,
    with_baseline,
)
from ragtriage.data.diagnosis.run_checks import uncomputed_metrics
from ragtriage.data.store.versions import releases_of
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, signed
from ragtriage.metrics.result_table import Count, Number, Of, PValue, ResultTable, Row, ends_of, text_rows
from ragtriage.metrics.statistics.intervals import METHODS
from ragtriage.metrics.statistics.max_t import Outcome
from ragtriage.metrics.statistics.paired import MARGIN

STANDINGS = {
    "no shared question": "no shared question",
    "baseline": "baseline",
    "before the baseline": "before the baseline",
    "no baseline": "no baseline",
    "mean only": "mean only, cannot be compared",
}
MOST_NAMED = 3


_COUNTED: Mapping[Outcome, str] = {
    "worse": "worse",
    "better": "better",
    "no worse": f"no worse (margin {MARGIN:g})",
    "equal": "equal",
    "cannot tell": "without a clear difference",
    "no direction": "neither better nor worse, as no direction is declared",
    "estimated": "estimated from words",
}


def tally(changes: Mapping[str, Change], left_out: int = 0) -> str:
    """Return how many of the later versions got worse, got better, or show no clear difference.

    Args:
        changes: run id -> its difference to the baseline.
        left_out: older versions that are neither drawn nor compared.
    """
    rows = [change.row for change in changes.values() if change.row.difference.n_pairs]
    if not rows:
        return ""
    outcomes = [row.verdict for row in rows]
    numbers = {outcome: outcomes.count(outcome) for outcome in _COUNTED}
    counts = "; ".join(f"{n:,} {_COUNTED[key]}" for key, n in numbers.items() if n or key == "worse")
    newest = f"the {len(outcomes):,} newest versions" if left_out else count(len(outcomes), "version")
    rest = f" ({count(left_out, 'version')} before them not compared)" if left_out else ""
    metric = metric_title(rows[0].metric) or "(unnamed)"
    return f"**{markdown_text(metric)}** of {newest} after the baseline{rest}: {counts}."


def comparability_warnings(changes: Mapping[str, Change], labels: Mapping[str, str]) -> list[str]:
    """List what differs between the baseline's evaluation and that of later versions, a line per difference.

    Args:
        changes: run id -> its difference to the baseline.
        labels: name of each run by id; outside text, which the caller escapes with the rest.
    """
    names_by_warning: dict[str, list[str]] = {}
    for run_id, change in changes.items():
        for warning in change.warnings:
            names_by_warning.setdefault(warning, []).append(labels[run_id])
    lines = []
    for warning, names in names_by_warning.items():
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        lines.append(f"{', '.join(names[:MOST_NAMED])}{more}: {warning}")
    return lines


CHART_KEY, TABLE_KEY = "trend", "trend_numbers"


@dataclass(frozen=True)
class Trend:
    """A metric over the versions of a project."""

    versions: Versions  # the runs shown, and how many are left out
    metric: str  # full name, or the pass rate
    levels: Mapping[str, Level]  # run id -> the metric in it
    baseline: Run | None  # what later runs are compared with; None where no run has samples
    chosen: bool  # whether the baseline was chosen; otherwise it is the oldest run that has the metric
    # run id -> its difference to the baseline, for later runs that have the metric
    changes: Mapping[str, Change]
    # run id -> how many questions of the test set it answered, for runs with samples
    answered: Mapping[str, Answered]

    @property
    def measured(self) -> int:
        """Number of runs that have the metric."""
        return sum(level.mean is not None for level in self.levels.values())


def versions_shown(view: View) -> Versions:
    """Return the versions of the project that the page shows."""
    return versions_of(view.runs, [*_wanted_baselines(view), view.run.run_id])


def metrics_of(view: View, versions: Versions) -> list[str]:
    """List what can be drawn: the pass rate, and the headline metrics that some version has."""
    metrics = trend_metrics([view.summary(run) for run in versions.runs], current_selection().metric)
    rates = [GOOD_SHARE] if any(not run.means for run in versions.runs) else []
    return [*rates, *(name for name in metrics if name != GOOD_SHARE)]


def trend_of(view: View, versions: Versions, metric: str) -> Trend:
    """Return the metric in every version, and the differences of later versions to the baseline."""
    by_id = {run.run_id: run for run in versions.runs if not run.means}
    chosen = next((by_id[run_id] for run_id in _wanted_baselines(view) if run_id in by_id), None)
    base = chosen or _oldest_measured(view, metric)
    versions = versions if base is None else with_baseline(versions, base)
    levels = levels_of(view, versions, metric)
    later: list[Run] = []
    if base is not None and levels[base.run_id].mean is not None:
        later = [run for run in later_than(versions.runs, base) if levels[run.run_id].mean is not None]
    with st.spinner("Comparing versions with the baseline"):
        changes = {} if base is None else _changes(view, base, later, metric)
    answered = _answered([view.scored(run) for run in versions.runs if not run.means])
    return Trend(versions, metric, levels, base, chosen is not None, changes, answered)


_answered = kept(answered_of)


def unanswered_text(trend: Trend, labels: Mapping[str, str]) -> str:
    """Return which of the measured versions left questions unanswered, as plain text; "" where none did."""
    short = [
        f"{labels[run_id]} answered {answered.answered:,} of {answered.asked:,} questions"
        for run_id, answered in trend.answered.items()
        if not answered.complete and trend.levels[run_id].mean is not None
    ]
    more = f"; and {len(short) - MOST_NAMED:,} more, in the table" if len(short) > MOST_NAMED else ""
    return f"{'; '.join(short[:MOST_NAMED])}{more}" if short else ""


def _oldest_measured(view: View, metric: str) -> Run | None:
    """Return the oldest version of the project with the metric, drawn or not: new ones do not move it."""
    for run in view.sampled:
        if not run.config.get("generated_from"):
            level = levels_of(view, Versions((run,), 0, 0), metric)[run.run_id]
            if level.mean is not None:
                return run
    return None


def levels_of(view: View, versions: Versions, metric: str) -> dict[str, Level]:
    """Return a metric in each version by run id."""
    if metric != GOOD_SHARE:
        return {run.run_id: _level(view, run, metric) for run in versions.runs}
    return {
        run.run_id: Level(None) if run.means else level_of_rate(view.diagnosis(run).pass_rate)
        for run in versions.runs
    }


def _level(view: View, run: Run, metric: str) -> Level:
    """Return a metric in a run; a reported 0 that looks uncomputed is not measured."""
    if run.means and metric in uncomputed_metrics(view.scored(run)):
        return Level(None)
    return level_of_mean(view.summary(run).get(metric), bool(run.means))


def compared_with(view: View, base: Run, run: Run, metric: str = GOOD_SHARE) -> Comparison:
    """Compare a version with the baseline; by itself on a metric that their family does not have.

    What is on display changes no other test.
    """
    family = pair_metrics(view.scored(base), view.scored(run))
    beyond = metric not in (GOOD_SHARE, view.primary, *family)
    return view.comparison(base, run, [metric] if beyond else family)


def _changes(view: View, base: Run, later: Sequence[Run], metric: str) -> dict[str, Change]:
    return {
        run.run_id: change_since(
            view.diagnosis(base), view.diagnosis(run), compared_with(view, base, run, metric), metric
        )
        for run in later
    }


def _wanted_baselines(view: View) -> list[str]:
    """List the ids of the baseline chosen in the sidebar and of the project's baseline, where set."""
    of_project = view.store.ledger.baselines().get(view.project, "")
    return [run_id for run_id in (view.selection.baseline, of_project) if run_id]


def show_chart(view: View, trend: Trend, title: str) -> None:
    """Draw the chart; a click on a point shows its run."""
    by_time = current_selection().axis == "time"
    base = None if trend.baseline is None else trend.levels[trend.baseline.run_id].mean
    figure = _figure(_marks(view, trend), title, base, THEMES[current_theme()], by_time)
    draw(
        figure,
        CHART_KEY,
        f"{title} over the versions with 95 % intervals; the numbers are in the table below",
        theme=None,
        on_click=lambda point: keep(run=str(point[0]), page=1, case=""),
    )


_figure = kept(trend_lines)


def _marks(view: View, trend: Trend) -> list[TrendMark]:
    releases = releases_of(view.store.ledger, view.project)
    marks = []
    for run in trend.versions.runs:
        if trend.levels[run.run_id].mean is None and run.run_id not in releases:
            continue
        change, release = trend.changes.get(run.run_id), releases.get(run.run_id)
        marks.append(
            TrendMark(
                run.run_id,
                view.labels[run.run_id],
                run.created_at,
                trend.levels[run.run_id],
                status_of(trend, run),
                "" if change is None else _change_text(change),
                change is not None and bool(change.warnings),
                run.run_id == view.run.run_id,
                "" if release is None else release.name,
            )
        )
    return marks


def status_of(trend: Trend, run: Run) -> str:
    """Return where a run stands relative to the baseline: a verdict, or a key of STANDINGS."""
    change = trend.changes.get(run.run_id)
    if run.means:
        return "mean only"
    if trend.baseline is None or trend.levels[trend.baseline.run_id].mean is None:
        return "no baseline"
    if run.run_id == trend.baseline.run_id:
        return "baseline"
    if change is None:
        return "before the baseline"
    return change.row.verdict if change.row.difference.n_pairs else "no shared question"


def _change_text(change: Change) -> str:
    difference = change.row.difference
    if not difference.n_pairs:
        return "shares no scored question with the baseline"
    interval = interval_text(change.row.low, change.row.high, 3)
    return (
        f"{signed(difference.difference, 3)} {interval} to the baseline over "
        f"{count(difference.n_pairs, 'shared question')}, {outcome_label(change.row)}"
    )


def methods_of(trend: Trend) -> str:
    """Return how the intervals of the chart were computed."""
    levels = [level for level in trend.levels.values() if level.low is not None]
    if not levels:
        return ""
    interval_methods = dict.fromkeys(METHODS.get(level.method, level.method) for level in levels)
    few = "; few: too few questions for a reliable interval" if any(level.too_few for level in levels) else ""
    return f"bars are 95 % intervals: {', '.join(interval_methods)}{few}"


def _take_row(ids: Sequence[str]) -> None:
    rows = st.session_state[TABLE_KEY]["selection"]["rows"]
    if rows and rows[0] < len(ids):
        keep(run=ids[rows[0]], page=1, case="")


def show_numbers(view: View, trend: Trend) -> None:
    """List the versions with all their numbers, the newest first; choosing a row shows its run."""
    runs = list(reversed(trend.versions.runs))
    rows = text_rows(ResultTable("Versions over time", tuple(_row(view, trend, run) for run in runs)))
    st.dataframe(
        rows,
        hide_index=True,
        key=TABLE_KEY,
        on_select=partial(_take_row, [run.run_id for run in runs]),
        selection_mode="single-row",
        height="content" if len(runs) <= 15 else 38 + 35 * 15,
        placeholder=NOT_MEASURED,
        alt="Versions with value, interval, number of questions and difference to the baseline",
    )
    export_menu(rows, "Versions over time")
    differing = [change for change in trend.changes.values() if change.row.difference.n_pairs]
    facts(
        "paired on question, repeats averaged" if differing else "",
        paired_method_text(differing[0].row.difference.method) if differing else "",
        _correction(trend),
        "choose a row or click a point to show that version",
    )
    _links(view, trend)


def show_releases(view: View, trend: Trend) -> None:
    """List the releases among the versions, the newest first, with the metric in each."""
    releases = releases_of(view.store.ledger, view.project)
    runs = [run for run in reversed(trend.versions.runs) if run.run_id in releases]
    if not runs:
        st.caption(
            "No version is marked as a release. Mark one on the Runs page, or with `ragtriage release`."
        )
        return
    rows: list[Row] = []
    for run in runs:
        release, row = releases[run.run_id], _row(view, trend, run)
        marked = f"{release.at[:10]}{f' by {release.who}' if release.who else ''}"
        rows.append({"Release": release.name, "Marked": marked, **{name: row[name] for name in row if name}})
    show_table(ResultTable("Releases with their numbers", tuple(rows)))


def _row(view: View, trend: Trend, run: Run) -> Row:
    level, change = trend.levels[run.run_id], trend.changes.get(run.run_id)
    difference = None if change is None or not change.row.difference.n_pairs else change.row.difference
    few = " few" if level.too_few and level.mean is not None else ""
    answered = trend.answered.get(run.run_id)
    obtained = "reported" if level.reported else level.source
    return {
        "": "▸" if run.run_id == view.run.run_id else "",
        "Version": view.labels[run.run_id],
        "Created": f"{run.created_at:%Y-%m-%d %H:%M}",
        "Value": Number(level.mean),
        "95 % interval": f"{ends_of(level)}{few}",
        "n": Count(level.n) if level.n else None,
        "Answered": Of(answered.answered, answered.asked) if answered else None,
        "Difference": signed(difference.difference, 3) if difference else None,
        "Corrected interval": ends_of(change.row if change and difference else None),
        "Unadjusted 95 %": ends_of(difference),
        "Shared": Count(difference.n_pairs) if difference else None,
        "p (corrected)": PValue(change.row.adjusted_p if change else None),
        "Verdict": "not measured" if level.mean is None else _standing(trend, run),
        "Obtained": None if level.mean is None else obtained,
        **({"Caution": " ".join(change.warnings)} if change and change.warnings else {}),
    }


def _standing(trend: Trend, run: Run) -> str:
    status = status_of(trend, run)
    return STANDINGS[status] if status in STANDINGS else outcome_label(trend.changes[run.run_id].row)


def _correction(trend: Trend) -> str:
    """Return how the metric is tested in each pair of versions."""
    primary = {change.row.primary for change in trend.changes.values()}
    if not primary:
        return ""
    if primary == {True}:
        return "each version is compared with the baseline by itself: the primary metric is tested alone"
    return "each version is compared with the baseline by itself, corrected over the headline metrics"


def _links(view: View, trend: Trend) -> None:
    """Draw the buttons that open the run on display on Compare and on Triage."""
    base, name = trend.baseline, markdown_text(view.labels[view.run.run_id])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Selected: **{name}**")
        if base is not None and base.run_id != view.run.run_id and not view.run.means:
            base_name = markdown_text(view.labels[base.run_id])
            if st.button(f"Compare with {base_name}", key="trend_compare"):
                versions = (view.run.run_id,)
                keep(baseline=base.run_id, versions=versions, other=view.run.run_id, case="")
                go_to_page("compare")
        if st.button("Open on Triage", key="trend_triage"):
            go_to_page("triage")
