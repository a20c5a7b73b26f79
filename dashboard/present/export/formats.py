"""The files of a report: HTML, slides, PDF, or its tables and pictures in a ZIP."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence

from ragtriage.dashboard.charts.chart import chart_rows
from ragtriage.dashboard.present.export.chart_images import chart_image
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import RenderedSection, Story
from ragtriage.dashboard.wording.table_files import export_table
from ragtriage.data.errors import DataError

FORMATS = {
    "html": ("Page", "text/html"),
    "pptx": ("Slides", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "pdf": ("PDF", "application/pdf"),
    "zip": ("Data and pictures", "application/zip"),
}


def export_report(
    view: StoryView, story: Story, sections: Sequence[RenderedSection], format_name: str
) -> bytes:
    """Return a story, with its rendered sections, in one of FORMATS."""
    if format_name == "zip":
        from ragtriage.dashboard.present.export.formats import report_files

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
