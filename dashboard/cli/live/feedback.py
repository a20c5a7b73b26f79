"""The feedback command: what users say of the answers, and who comes back."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, result_text, wrapped
from ragtriage.dashboard.headlines.feedback import feedback_headline
from ragtriage.dashboard.tables.user_feedback import cohort_table, feedback_table, joined_text
from ragtriage.data.live.calls import Calls, listed, live_projects
from ragtriage.data.live.feedback.joining import rows_of_calls
from ragtriage.data.live.feedback.records import read_feedback
from ragtriage.data.live.feedback.results import feedback_report, rows_of_answers
from ragtriage.data.live.feedback.sending import keep_feedback, live_project
from ragtriage.data.scoring.run_store import open_store
from ragtriage.data.store.workspace import Workspace


@click.command()
@click.argument("file", required=False)
@click.option("--project", help="Project with live traffic; FILE is stored there, and its calls are shown.")
@click.option(
    "--by", metavar="NAME", help="release, system_type, month, or a column; the first with several."
)
@JSON
@click.pass_obj
def feedback(
    workspace: str | None, file: str | None, project: str | None, by: str | None, as_json: bool
) -> None:
    """Show what users say: satisfaction, completion, NPS, thumbs, response times, and who comes back.

    FILE is a CSV, TSV or JSONL file with a row for each answer. Columns such as trace_id, user_id, query,
    system_type, timestamp, satisfaction_score, task_completed, nps_score, response_time, thumb, stars and
    comment are known by name. Without --project the file alone is shown, and nothing is stored. Without FILE
    the feedback of a project is shown; the same file twice is stored once.
    """
    joined = None
    if file is not None and project is None:
        rows = rows_of_answers(read_feedback(file))
    else:
        folder = Workspace.open(workspace, create=file is not None)
        project = live_project(folder, project)
        is_new = file is not None and project not in (
            *live_projects(folder),
            *open_store(workspace).projects(),
        )
        if file is not None:
            if is_new:
                click.echo(f"New project {listed([project])}: it had neither runs nor traffic.", err=True)
            stored = keep_feedback(folder, project, read_feedback(file))
            click.echo(
                f"{stored.new:,} of {stored.answers:,} answers are new in {listed([project])}.", err=True
            )
        rows, joined = rows_of_calls(Calls.of(folder, project))
    report = feedback_report(rows, by)
    headline = feedback_headline(report)
    if as_json:
        answers = {} if joined is None else {"joined": joined.to_dict()}
        print_json({**report.to_dict(), **answers, "sentence": headline.text})
        return
    tables = [table for table in (feedback_table(report), cohort_table(report)) if table is not None]
    parts = [wrapped(plain(headline.text)), *map(result_text, tables if report.results else [])]
    click.echo("\n\n".join([*parts, *([] if joined is None else [wrapped(joined_text(joined))])]))
