"""The formats of a report, each written by a module that is imported only when it is needed."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import RenderedSection, Story

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
        from ragtriage.dashboard.present.export.bundle import report_files

        return report_files(sections)
    from ragtriage.dashboard.present.stories.report import report_of

    report = report_of(view, story, sections)
    if format_name == "html":
        from ragtriage.dashboard.present.export.html_report import html_report

        return html_report(report).encode("utf-8")
    if format_name == "pptx":
        from ragtriage.dashboard.present.export.pptx.report import pptx_report

        return pptx_report(report)
    from ragtriage.dashboard.present.export.pdf import pdf_report

    return pdf_report(report)
