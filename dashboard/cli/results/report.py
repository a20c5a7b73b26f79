"""The report command: a story about runs as HTML, slides or PDF."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from ragtriage.dashboard.cli.options import BASELINE, JSON, RUNS
from ragtriage.dashboard.cli.terminal import write_file
from ragtriage.dashboard.present.export.formats import FORMATS, export_report
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import default_sections, render_section
from ragtriage.dashboard.present.stories.story import AUDIENCES, Audience, Story, story_from_json
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.store.stories import story_of


@click.command()
@RUNS
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="File to write: .html, .pptx, .pdf or .zip."
)
@BASELINE
@click.option(
    "--audience",
    type=click.Choice(AUDIENCES),
    default="stakeholder",
    show_default=True,
    help="Who reads it; decides which sections it has.",
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
    file_format = Path(output).suffix.removeprefix(".").lower()
    if file_format not in FORMATS:
        accepted = ", ".join(f".{name}" for name in FORMATS)
        ending = f"a .{file_format} file" if file_format else "a file without an ending"
        raise DataError(f"output {output}: {ending} is not a report; accepted: {accepted}")
    store = open_store(workspace)
    runs = [store.find(name).with_samples() for name in run_names]
    views = [StoryView(store, run, baseline_of(store, run, baseline or "").run) for run in runs]
    if story_id is not None:
        stored = story_of(store.ledger, story_id)
        if stored is None:
            raise DataError(
                f"story {story_id}: there is no deck of this number; accepted: a number of the Present page"
            )
        story = story_from_json(stored.body)
    else:
        base_id = views[0].baseline.run_id if views[0].baseline else ""
        sections = default_sections(audience, views[0].run)
        story = Story(title or views[0].name, views[0].run.run_id, base_id, audience, sections)
    rendered = []
    for view in views:
        for section in story.sections:
            drawn = render_section(view, section)
            heading = f"{view.name}: {drawn.heading}" if len(views) > 1 else drawn.heading
            rendered.append(replace(drawn, heading=heading))
    content = export_report(views[0], story, rendered, file_format)
    write_file(output, content)
    if as_json:
        run_ids = [view.run.run_id for view in views]
        answer = {"file": output, "bytes": len(content), "points": len(rendered), "runs": run_ids}
        click.echo(json.dumps(answer))
    else:
        click.echo(f"Wrote {output}: {len(rendered)} sections, {len(content):,} bytes.")
