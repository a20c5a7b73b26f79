"""The report command: a story about runs as HTML, slides or PDF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from dashboard.cli.commands import open_workspace
from dashboard.export.formats import FORMS, export_report
from dashboard.stories.context import StoryView
from dashboard.stories.points import default_sections, render_section
from dashboard.stories.story import Audience, RenderedSection, Story, story_from_json
from data.errors import DataError
from data.scoring.run_store import RunStore
from data.store.stories import story_of
from data.store.workspace import Run

__all__ = ["ReportOptions", "run"]


@dataclass(frozen=True)
class ReportOptions:
    """What the command line asked for.

    Attributes:
        output: file to write; its ending says the form.
        baseline: run that the first one is compared with.
        audience: whom it is for.
        story: number of a story of the Present page, in place of a fresh one.
        title: of the report.
    """

    output: str
    baseline: str | None
    audience: Audience
    story: int | None
    title: str


def run(workspace: str | None, wanted: Sequence[str], given: ReportOptions, as_json: bool) -> int:
    """Write a report; gives the exit code."""
    form = Path(given.output).suffix.removeprefix(".").lower()
    if form not in FORMS:
        accepted = ", ".join(f".{one}" for one in FORMS)
        raise DataError(f"output {given.output}: ending {form!r}; accepted: {accepted}")
    store = open_workspace(workspace)
    views = _views(store, wanted, given)
    story = _story(store, views[0], given)
    made = [one for view in views for one in _made(view, story, several=len(views) > 1)]
    content = export_report(views[0], story, made, form)
    _write(Path(given.output), content)
    answer = {
        "file": given.output,
        "bytes": len(content),
        "points": len(made),
        "runs": [v.run.run_id for v in views],
    }
    click.echo(
        json.dumps(answer)
        if as_json
        else f"Wrote {given.output}: {len(made)} points, {len(content):,} bytes."
    )
    return 0


def _views(store: RunStore, wanted: Sequence[str], given: ReportOptions) -> list[StoryView]:
    runs = [store.find(one) for one in wanted]
    for one in runs:
        if one.means:
            raise DataError(f"run {one.run_id}: known by its means alone; accepted: runs with samples")
    return [StoryView(store, one, _baseline(store, one, given)) for one in runs]


def _baseline(store: RunStore, run: Run, given: ReportOptions) -> Run | None:
    if given.baseline is not None:
        return store.find(given.baseline)
    chosen = store.ledger.baselines().get(run.project)
    by_id = {one.run_id: one for one in store.runs(run.project)}
    return by_id.get(chosen or "") if chosen != run.run_id else None


def _story(store: RunStore, view: StoryView, given: ReportOptions) -> Story:
    if given.story is not None:
        stored = story_of(store.ledger, given.story)
        if stored is None:
            raise DataError(f"story {given.story}: there is none; accepted: a number of the Present page")
        return story_from_json(stored.body)
    base = view.baseline.run_id if view.baseline else ""
    title = given.title or view.name
    return Story(title, view.run.run_id, base, given.audience, default_sections(given.audience))


def _made(view: StoryView, story: Story, several: bool) -> list[RenderedSection]:
    made = [render_section(view, piece) for piece in story.sections]
    return [replace(one, heading=f"{view.name}: {one.heading}") for one in made] if several else made


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); accepted: a file in a writable folder"
        ) from error
