"""Languages: the matrix of question and passage languages, and whose language pooled results are in."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.experiments.robustness import language_map
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import clicked, facts, metric_title, show_table
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.data.experiments.languages import LanguageFindings, PooledLanguage
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.number_text import interval_text, number, percent


def languages_section(view: View, summary: ExperimentSummary) -> None:
    """Draw the matrix, whose cells lead to their cases, and the results of the pooled passages."""
    findings: LanguageFindings = summary.findings
    if findings.cells:
        _matrix(view, summary, findings)
    if findings.pooled:
        _pooled(findings)


def _matrix(view: View, summary: ExperimentSummary, findings: LanguageFindings) -> None:
    title = metric_title(summary.quality)
    st.markdown(f"##### {title} by the languages of question and passage")
    point = clicked(
        plotly_figure(language_map(findings, title)),
        "language_map",
        f"{title} by the language of the questions and of the passages; the table below has the numbers",
    )
    empty, n = sum(cell.empty for cell in findings.cells), sum(cell.n for cell in findings.cells)
    facts(
        [
            f"same language {number(findings.same)}, crossed {number(findings.crossed)}: transfer "
            f"{number(findings.transfer)}",
            f"{empty:,} of {n:,} lists are empty: nothing was found, which is no low score",
            "click a cell for its cases",
        ]
    )
    runs = {str(result.arm.levels.get("passages")): result.arm.run_id for result in summary.arms}
    if point is not None and runs.get(str(point[1])):
        open_cases(run=runs[str(point[1])], project=view.project, slices={"language": str(point[0])})
    with st.expander("The matrix as a table"):
        rows = [
            {
                "Questions": cell.question_language,
                "Passages": cell.passage_language,
                title: number(cell.quality.mean, 3),
                "95 % interval": interval_text(cell.quality.low, cell.quality.high, 3),
                "MRR@10": number(cell.mrr.mean, 3),
                "Empty lists": f"{cell.empty:,}",
                "n": f"{cell.n:,}",
            }
            for cell in findings.cells
        ]
        show_table(rows, "Languages of question and passage")


def _pooled(findings: LanguageFindings) -> None:
    st.markdown("##### All passages at once")
    show_table([_row(each) for each in findings.pooled], "Results from the passages of all languages")
    facts(
        [
            "mAP@10: every parallel passage is relevant, so a list in one language stays low",
            "own language: share of the top 10 in the language of the question, over lists with any",
            "an unbiased list has the share that the language has among the relevant passages",
        ]
    )


def _row(pooled: PooledLanguage) -> dict[str, str]:
    precision = pooled.average_precision
    return {
        "Questions": pooled.language,
        "mAP@10": number(precision.mean, 3),
        "95 % interval": interval_text(precision.low, precision.high, 3),
        "Own language": percent(pooled.own_share.mean),
        "Its share of the relevant": percent(pooled.own_relevant.mean),
        "Empty lists": f"{pooled.empty:,}",
        "n": f"{pooled.n:,}",
    }
