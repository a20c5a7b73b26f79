"""What the Trend page concludes from its headline metrics, and these metrics over versions, small."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.charts.version_lines import small_trend
from ragtriage.dashboard.headlines.compare import pair_headline
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.headlines.trend import TrendFacts
from ragtriage.dashboard.pages.trend.versions import Trend, compared_with, levels_of
from ragtriage.dashboard.shell.components import WITHOUT_BAR, current_theme, draw, metric_title
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, keep
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.compare import Comparison
from ragtriage.data.comparison.trend import Versions, later_than
from ragtriage.data.store.versions import releases_of
from ragtriage.data.store.workspace import Run

MOST_SMALL = 6
STATES: Mapping[str, str] = {"better": "good", "worse": "bad"}


class NewestComparison(NamedTuple):
    """The newest version beside the baseline, the one reference of the whole page."""

    run: Run  # the newest version that has the metric
    base_name: str  # label of the baseline
    comparison: Comparison


def newest_comparison(view: View, trend: Trend) -> NewestComparison | None:
    """Compare the newest version that has the metric with the baseline; None where there is none."""
    base = trend.baseline
    if base is None:
        return None
    later = [run for run in later_than(trend.versions.runs, base) if run.run_id in trend.changes]
    if not later:
        return None
    return NewestComparison(later[-1], view.labels[base.run_id], compared_with(view, base, later[-1]))


def trend_facts(view: View, trend: Trend, compared: NewestComparison | None) -> TrendFacts:
    """Return what the headline of the page rests on."""
    pair = None
    if compared is not None and trend.baseline is not None:
        guarded = view.guardrails(trend.baseline, compared.run)
        pair = _pair_headline(
            view, compared.run, trend.baseline, replace(compared.comparison, guardrails=guarded)
        )
    return TrendFacts(len(trend.versions.runs), trend.measured, trend.metric, pair)


def _pair_headline(view: View, run: Run, base: Run, comparison: Comparison) -> Headline:
    """Return what Compare says of a run against another."""
    pair = (run, base)
    names = tuple(each.name if run.name != base.name else view.labels[each.run_id] for each in pair)
    sides = [(each.name, view.diagnosis(each), view.findings(each)) for each in pair]
    return pair_headline(comparison, (names[0], names[1]), sides)


def since_release(view: View, trend: Trend, compared: NewestComparison | None) -> str:
    """Return what changed since the last release, where that is later than the baseline; else ""."""
    releases = releases_of(view.store.ledger, view.project)
    if compared is None or trend.baseline is None:
        return ""
    later = later_than(trend.versions.runs, trend.baseline)
    released = [run for run in later[: later.index(compared.run)] if run.run_id in releases]
    if not released:
        return ""
    base = released[-1]
    headline = _pair_headline(view, compared.run, base, compared_with(view, base, compared.run))
    name = markdown_text(releases[base.run_id].name)
    return f"**Since release {name}**: {markdown_text(headline.statement)}."


def small_metrics(metrics: Sequence[str], chosen: str, compared: NewestComparison | None) -> list[str]:
    """Return the metrics that are drawn small: those that changed first, without the one drawn large."""
    differences = () if compared is None else compared.comparison.differences
    moved = [row.metric for row in differences if row.verdict in STATES]
    others = [name for name in metrics if name != chosen]
    return [*(name for name in others if name in moved), *(name for name in others if name not in moved)][
        :MOST_SMALL
    ]


def show_small_charts(
    view: View, versions: Versions, metrics: Sequence[str], compared: NewestComparison | None
) -> None:
    """Draw metrics over the versions, small; a click on one draws it large."""
    verdicts = (
        {} if compared is None else {row.metric: row.verdict for row in compared.comparison.differences}
    )
    labels = [view.labels[run.run_id] for run in versions.runs]
    grid = st.grid(2, min_column_width=150)
    for metric in metrics:
        title = metric_title(metric) or "(unnamed)"
        levels = levels_of(view, versions, metric)
        state = STATES.get(verdicts.get(metric, ""), "muted")
        figure = _small_figure(
            [levels[run.run_id] for run in versions.runs], labels, metric, state, THEMES[current_theme()]
        )
        with grid.container(gap=None):
            mark = {"good": "▲ ", "bad": "▼ "}.get(state, "")
            st.button(
                f"{mark}{markdown_text(title)}",
                key=f"small_{metric}",
                type="tertiary",
                help="Draw it large",
                on_click=keep,
                kwargs={"metric": metric},
            )
            draw(
                figure,
                f"small_chart_{metric}",
                f"{title} over the versions; draw it large for its numbers",
                theme=None,
                on_click=lambda point: keep(metric=str(point[0])),
                config=WITHOUT_BAR,
            )


_small_figure = kept(small_trend)
