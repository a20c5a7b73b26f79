"""The report command: a story about runs as HTML, slides or PDF."""

import json

import click

from ragtriage.dashboard.cli.options import BASELINE, JSON, RUNS, with_default
from ragtriage.dashboard.present.export.formats import write_report
from ragtriage.dashboard.present.stories.story import AUDIENCES, Audience
from ragtriage.data.api import open_store


@click.command()
@RUNS
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="File to write: .html, .pptx, .pdf or .zip."
)
@BASELINE
@with_default(
    "--audience", "stakeholder", "Who reads it; decides which sections it has.", type=click.Choice(AUDIENCES)
)
@click.option(
    "--story", "story_id", type=int, help="Number of a deck on the Present page, instead of a new one."
)
@click.option("--title", default="", help="Title of the report; by default the run's name.")
@JSON
@click.pass_obj
def report(
    workspace: str | None,
    run_names: tuple[str, ...],
    output: str,
    baseline: str | None,
    audience: Audience,
    story_id: int | None,
    title: str,
    as_json: bool,
) -> None:
    """Write a report for readers without the tool: one HTML file, slides or PDF."""
    answer = write_report(open_store(workspace), run_names, output, baseline or "", audience, title, story_id)
    if as_json:
        click.echo(json.dumps(answer))
    else:
        click.echo(f"Wrote {output}: {answer['points']} sections, {answer['bytes']:,} bytes.")
