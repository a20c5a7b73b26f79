"""The files of a report: HTML, slides, PDF, or its tables and pictures in a ZIP."""

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from ragtriage.dashboard.charts.chart import chart_rows
from ragtriage.dashboard.present.export.chart_images import chart_image
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import default_sections, render_section
from ragtriage.dashboard.present.stories.story import (
    AUDIENCES,
    Audience,
    RenderedSection,
    Story,
    story_from_json,
)
from ragtriage.dashboard.wording.table_files import export_table
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stored_file import write_file
from ragtriage.data.store.stories import story_of

FORMATS = {
    "html": ("Page", "text/html"),
    "pptx": ("Slides", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "pdf": ("PDF", "application/pdf"),
    "zip": ("Data and pictures", "application/zip"),
}


def write_report(
    store: RunStore,
    run_names: Sequence[str],
    output: str,
    baseline: str = "",
    audience: Audience = "stakeholder",
    title: str = "",
    story_id: int | None = None,
) -> dict[str, Any]:
    """Write a report about runs to a file, and return what `ragtriage report --json` prints.

    Args:
        store: of the workspace.
        run_names: ids or names; with several, each has every section.
        output: file to write; its ending is one of FORMATS.
        baseline: id or name; the project's baseline when left out.
        audience: who reads it; decides which sections it has.
        title: of the report; the first run's name when left out.
        story_id: number of a deck of the Present page, which has its own title and sections.

    Raises:
        DataError: a run, a deck or the ending is not known, or the file cannot be written.
    """
    file_format = PurePath(output).suffix.removeprefix(".").lower()
    if file_format not in FORMATS:
        accepted = ", ".join(f".{name}" for name in FORMATS)
        ending = f"a .{file_format} file" if file_format else "a file without an ending"
        raise DataError(f"output {output}: {ending} is not a report; accepted: {accepted}")
    if audience not in AUDIENCES:
        raise DataError(f"audience {audience!r}; accepted: {', '.join(AUDIENCES)}")
    runs = [store.find(name).with_samples() for name in run_names]
    story = None if story_id is None else _stored_story(store, story_id)
    if story is not None:
        audience = story.audience
    views = [StoryView(store, run, baseline_of(store, run, baseline).run, audience=audience) for run in runs]
    if story is None:
        base_id = views[0].baseline.run_id if views[0].baseline else ""
        sections = default_sections(audience, runs[0])
        story = Story(title or views[0].name, runs[0].run_id, base_id, audience, sections)
    rendered = []
    for view in views:
        for section in story.sections:
            drawn = render_section(view, section)
            named = len(views) == 1 or drawn.heading.startswith(view.name)
            heading = drawn.heading if named else f"{view.name}: {drawn.heading}"
            rendered.append(replace(drawn, heading=heading))
    content = export_report(views[0], story, rendered, file_format)
    write_file(output, content)
    run_ids = [run.run_id for run in runs]
    return {"file": output, "bytes": len(content), "points": len(rendered), "runs": run_ids}


def _stored_story(store: RunStore, story_id: int) -> Story:
    stored = story_of(store.ledger, story_id)
    if stored is None:
        raise DataError(
            f"story {story_id}: there is no deck of this number; accepted: a number of the Present page"
        )
    return story_from_json(stored.body)


def export_report(
    view: StoryView, story: Story, sections: Sequence[RenderedSection], format_name: str
) -> bytes:
    """Return a story, with its rendered sections, in one of FORMATS."""
    if format_name == "zip":
        return report_files(sections)
    from ragtriage.dashboard.present.stories.report import report_of

    report = report_of(view, story, sections)
    if format_name == "html":
        from ragtriage.dashboard.present.export.html_report import html_report

        return html_report(report).encode("utf-8")
    if format_name == "pptx":
        from ragtriage.dashboard.present.export.pptx.report_slides import pptx_report

        return pptx_report(report)
    from ragtriage.dashboard.present.export.pdf import pdf_report

    return pdf_report(report)


FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # the same report gives the same bytes
TABLES = {"csv": "csv", "parquet": "parquet", "md": "markdown"}
IMAGES = ("png", "svg")


def report_files(sections: Sequence[RenderedSection]) -> bytes:
    """Return a ZIP with the files of every section; MISSING.txt lists charts that could not be drawn."""
    sink, missing = io.BytesIO(), []
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, section in enumerate(sections, start=1):
            heading = re.sub(r"[^\w-]+", "-", section.heading).strip("-")[:50]
            name = f"{number:02d}-{heading or section.kind}"
            chart_data = chart_rows(section.chart) if section.chart else []
            for suffix, rows in (("", section.rows), ("-chart", chart_data)):
                for ending, table_format in TABLES.items() if rows else ():
                    _write(archive, f"{name}{suffix}.{ending}", export_table(rows, table_format))
            try:
                for image_format in IMAGES:
                    if section.chart is not None:
                        _write(archive, f"{name}.{image_format}", chart_image(section.chart, image_format))
            except DataError as error:
                missing.append(f"{name}: {error}")
        if missing:
            _write(archive, "MISSING.txt", "\n".join(missing).encode())
    return sink.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, FIXED_TIME), content, zipfile.ZIP_DEFLATED)
