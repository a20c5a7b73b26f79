"""The section on check suites: how each one does, in words, with a chart of routes or of attacks."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.dashboard.charts.chart import Chart, Heatmap
from ragtriage.dashboard.charts.checks.attacks import attack_rates
from ragtriage.dashboard.charts.checks.confusion import confusion_map
from ragtriage.dashboard.headlines.checks import checks_headline
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.dashboard.tables.suites import suite_table
from ragtriage.data.suites.detail import SuiteDetail
from ragtriage.data.suites.registry import suite_detail
from ragtriage.data.suites.router_detail import RouterDetail
from ragtriage.data.suites.safety import SafetyDetail
from ragtriage.data.suites.summary import suite_summaries
from ragtriage.metrics.result_table import text_rows

HEADING = "Which checks fail?"


def suite_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return the check suites of the run; `chosen` may name one suite."""
    wanted = chosen.get("suite", "")
    summaries = [summary for summary in suite_summaries(view.scored) if wanted in ("", summary.key)]
    if not summaries:
        which = f"no check of the suite {wanted[:40]}" if wanted else "no checks"
        return RenderedSection("suites", HEADING, f"The run records {which}.", measured=False)
    told = checks_headline(view.names[view.run.run_id], summaries)
    details = {summary.title: suite_detail(view.scored, summary.key) for summary in summaries}
    sentences = [f"{title}: {one.statement}" for title, one in details.items() if one and one.statement]
    chart, alt, legend = next(
        (drawn for one in details.values() if one is not None and (drawn := _drawn(one))), (None, "", "")
    )
    return RenderedSection(
        "suites",
        HEADING,
        " ".join([told.text, *sentences]),
        chart=chart,
        rows=text_rows(suite_table(summaries)),
        facts=[
            "pass rate: mean over questions, 95 % interval",
            "a check that is not measured is neither passed nor failed",
            legend,
        ],
        alt=alt,
    )


def _drawn(detail: SuiteDetail) -> tuple[Chart | Heatmap, str, str] | None:
    """Return the chart of a suite that has one, what it shows, and how its colours read."""
    if isinstance(detail, RouterDetail):
        return (
            confusion_map(detail.main.decisions),
            "How many questions of each expected route took each route",
            "orange: wrong routes, by share of the row",
        )
    if isinstance(detail, SafetyDetail):
        return (
            attack_rates(detail.types),
            "Share of attacks of each type that did not succeed",
            "orange: types of which an attack succeeded; exact 95 % intervals",
        )
    return None
