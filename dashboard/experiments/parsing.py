"""Parsing: the means of each parser, and the two ways to make one number of them."""

from collections.abc import Sequence

from ragtriage.dashboard.charts.experiments import parser_dots
from ragtriage.dashboard.experiments.view import (
    LONGEST_NAME,
    ExperimentView,
    Opening,
    Part,
    ShownEffect,
    joined,
)
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.experiments.parsed_pages import PAGE_SCORES
from ragtriage.data.experiments.parsing import PARSING, ParsingFindings
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.metrics.number_text import count, interval_text, number, percent
from ragtriage.metrics.result_table import Cell, Number, ResultTable, Row


def _headline(_summary: ExperimentSummary, findings: ParsingFindings) -> Headline:
    text = findings.parsers[findings.best_text].means["nid"]
    parsers = count(len(findings.parsers), "parser")
    without = [
        name
        for name, entry in findings.parsers.items()
        if "teds" in entry.means and entry.means["teds"].n_scored and entry.means["teds"].mean == 0
    ]
    details = [f"Text similarity (NID) {number(text.mean)} over {count(text.n_scored, 'page')}"]
    if findings.best_tables:
        cells = findings.parsers[findings.best_tables].means["cell_recall"]
        details.append(
            f"Most table cells with both headers: {shorten(findings.best_tables, LONGEST_NAME)}, "
            f"{percent(cells.mean)} over {count(cells.n_scored, 'page')} with tables"
        )
    if without:
        details.append(f"No table found by {', '.join(shorten(name, 20) for name in without)}")
    return Headline(
        "bad" if findings.best_tables and len(without) == len(findings.parsers) else "good",
        f"{shorten(findings.best_text, LONGEST_NAME)} keeps the most text of {parsers}",
        ". ".join(details),
    )


def _parts(summary: ExperimentSummary, findings: ParsingFindings) -> Sequence[Part]:
    chart = Part(
        "Text and table cells kept",
        parser_dots(findings),
        "Text similarity and table cells of each parser",
        "parser_dots",
        facts=[
            "text: NID, 1 less the characters to delete and insert; tables are part of the text",
            "table cells: found with the same row header, column header and value",
            "bars: 95 %, bootstrap over pages",
        ],
    )
    shown = [name for name in PAGE_SCORES if any(name in each.means for each in findings.parsers.values())]
    scores = Part(
        "All scores",
        table=ResultTable(
            "Scores of the parsers",
            tuple(_score_row(findings, score) for score in shown),
            "computed; in brackets 95 %, then the pages where the score applies",
        ),
    )
    return [chart, scores, _overall(summary, findings)]


def _score_row(findings: ParsingFindings, score: str) -> dict[str, Cell]:
    row: dict[str, Cell] = {"Score": PAGE_SCORES[score]}
    for parser, entry in findings.parsers.items():
        mean = entry.means.get(score)
        row[parser] = (
            f"{number(mean.mean, 3)} {interval_text(mean.low, mean.high)}, n {mean.n_scored:,}"
            if mean is not None and mean.n_scored
            else None
        )
    return row


def _overall(summary: ExperimentSummary, findings: ParsingFindings) -> Part:
    """Return the two overall numbers of each parser, and its worst pages."""
    rows: tuple[Row, ...] = tuple(
        {
            "Parser": name,
            "Mean over pages": Number(entry.by_page.mean),
            "Mean of three means": Number(entry.by_score),
        }
        for name, entry in findings.parsers.items()
    )
    notes = (
        "over pages: of text, tables and headings, each page counts what it has; a page of text alone is its "
        "text",
        "of three means: NID, TEDS and MHS weigh a third each",
        "they rank these parsers differently" if findings.order_differs else "",
    )
    worst = []
    for result in summary.arms:
        parser = str(result.arm.levels["parser"])
        means = findings.parsers[parser].means if parser in findings.parsers else {}
        score = "cell_recall" if "cell_recall" in means and means["cell_recall"].n_scored else "nid"
        if result.arm.run_id:
            order = {"run": result.arm.run_id, "sort": score, "descending": False}
            worst.append(Opening(f"Worst pages of {parser}", order))
    table = ResultTable("Overall numbers of the parsers", rows, joined(notes))
    return Part("One number, two denominators", table=table, openings=worst)


def _effect(_: ExperimentSummary, findings: ParsingFindings) -> ShownEffect | None:
    means = {name: entry.by_page.mean for name, entry in findings.parsers.items()}
    best, *others = sorted(means.items(), key=lambda item: -item[1])
    if not others:
        return None
    return ShownEffect(f"{best[0]} vs the next best", best[1] - others[0][1], follows=f"Parse with {best[0]}")


VIEW = ExperimentView(PARSING, _headline, _parts, _effect)
