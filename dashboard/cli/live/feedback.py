"""The feedback command: what users say of the answers, and who comes back."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, wrapped
from ragtriage.dashboard.headlines.feedback import feedback_headline
from ragtriage.dashboard.tables.user_feedback import cohort_table, feedback_table
from ragtriage.data.live.feedback import read_feedback
from ragtriage.data.live.feedback_results import FeedbackReport, feedback_report, rows_of_answers


@click.command()
@click.argument("file")
@click.option("--by", metavar="COLUMN", help="system_type, month, or a column; by default system_type.")
@JSON
def feedback(file: str, by: str | None, as_json: bool) -> None:
    """Show what users say: satisfaction, completion, NPS, thumbs, response times, and who comes back.

    FILE is a CSV, TSV or JSONL file with a row for each answer. Columns such as user_id, query, system_type,
    timestamp, satisfaction_score, task_completed, nps_score, response_time, thumb, stars and comment are
    known by name.
    """
    report = feedback_report(rows_of_answers(read_feedback(file)), by)
    print_report(report, as_json)


def print_report(report: FeedbackReport, as_json: bool) -> None:
    """Print the measures of the feedback under its headline, or all of it as JSON."""
    headline = feedback_headline(report)
    if as_json:
        print_json({**report.to_dict(), "sentence": headline.text})
        return
    tables = [table for table in (feedback_table(report), cohort_table(report)) if table is not None]
    click.echo("\n\n".join([wrapped(plain(headline.text)), *map(result_text, tables)]))
