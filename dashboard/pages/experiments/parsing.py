"""Parsing: the means of each parser, and the two ways to make one number of them."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.experiments.robustness import parser_dots
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import draw, facts, show_table
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.experiments.parsed_pages import PAGE_SCORES
from ragtriage.data.experiments.parsing import ParsingFindings
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.number_text import NOT_MEASURED, interval_text, number


def parsing_section(view: View, summary: ExperimentSummary) -> None:
    """Draw text and table cells of each parser, list all scores, and lead to the worst pages."""
    findings: ParsingFindings = summary.findings
    st.markdown("##### Text and table cells kept")
    draw(
        plotly_figure(parser_dots(findings)), "parser_dots", "Text similarity and table cells of each parser"
    )
    facts(
        [
            "text: NID, 1 less the characters to delete and insert; tables are part of the text",
            "table cells: found with the same row header, column header and value",
            "bars: 95 %, bootstrap over pages",
        ]
    )
    st.markdown("##### All scores")
    shown = [name for name in PAGE_SCORES if any(name in each.means for each in findings.parsers.values())]
    show_table([_row(findings, score) for score in shown], "Scores of the parsers")
    facts(["computed; in brackets 95 %, then the pages where the score applies"])
    _overall(findings)
    _worst_pages(view, summary, findings)


def _row(findings: ParsingFindings, score: str) -> dict[str, str]:
    row = {"Score": PAGE_SCORES[score]}
    for parser, entry in findings.parsers.items():
        mean = entry.means.get(score)
        row[parser] = (
            f"{number(mean.mean, 3)} {interval_text(mean.low, mean.high)}, n {mean.n_scored:,}"
            if mean is not None and mean.n_scored
            else NOT_MEASURED
        )
    return row


def _overall(findings: ParsingFindings) -> None:
    st.markdown("##### One number, two denominators")
    rows = [
        {
            "Parser": parser,
            "Mean over pages": number(entry.by_page.mean, 3),
            "Mean of three means": number(entry.by_score, 3),
        }
        for parser, entry in findings.parsers.items()
    ]
    show_table(rows, "Overall numbers of the parsers")
    facts(
        [
            "over pages: of text, tables and headings, each page counts what it has; a page of text alone is "
            "its text",
            "of three means: NID, TEDS and MHS weigh a third each",
            "they rank these parsers differently" if findings.order_differs else "",
        ]
    )


def _worst_pages(view: View, summary: ExperimentSummary, findings: ParsingFindings) -> None:
    with st.container(horizontal=True):
        for result in summary.arms:
            parser = str(result.arm.levels["parser"])
            means = findings.parsers[parser].means if parser in findings.parsers else {}
            score = "cell_recall" if "cell_recall" in means and means["cell_recall"].n_scored else "nid"
            label = f"Worst pages of {markdown_text(parser)}"
            if result.arm.run_id and st.button(label, key=f"worst_{result.arm.key}"):
                open_cases(run=result.arm.run_id, project=view.project, sort=score, descending=False)
