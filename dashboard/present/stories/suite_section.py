"""The section on check suites: how each one does, in words, with a chart of routes or of attacks."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import RenderedSection, unmeasured
from ragtriage.dashboard.suites.headline import checks_headline
from ragtriage.dashboard.suites.registry import shown_suite
from ragtriage.dashboard.suites.summary import suite_table
from ragtriage.data.suites.summary import suite_summaries
from ragtriage.metrics.result_table import text_rows

HEADING = "Which checks fail?"


def suite_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return the check suites of the run; `chosen` may name one suite."""
    wanted = chosen.get("suite", "")
    summaries = [summary for summary in suite_summaries(view.scored) if wanted in ("", summary.key)]
    if not summaries:
        which = f"no check of the suite {wanted[:40]}" if wanted else "no checks"
        return unmeasured("suites", HEADING, f"The run records {which}.")
    told = checks_headline(view.names[view.run.run_id], summaries)
    shown = {summary.title: shown_suite(view.scored, summary.key) for summary in summaries}
    sentences = [f"{title}: {suite.statement}" for title, suite in shown.items() if suite and suite.statement]
    drawn = next((suite.chart for suite in shown.values() if suite and suite.chart), None)
    return RenderedSection(
        "suites",
        HEADING,
        " ".join([told.text, *sentences]),
        chart=None if drawn is None else drawn.chart,
        rows=text_rows(suite_table(summaries)),
        facts=[
            "pass rate: mean over questions, 95 % interval",
            "a check that is not measured is neither passed nor failed",
            "" if drawn is None else drawn.legend,
        ],
        alt="" if drawn is None else drawn.alt,
    )
