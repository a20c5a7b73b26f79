"""Export of a story from the page: made when it is asked for, not on each rerun."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.stories.context import StoryView
from dashboard.stories.story import RenderedSection, Story

__all__ = ["FORMATS", "export_report"]

FORMATS = {
    "html": ("HTML", "text/html"),
    "pptx": ("Slides", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "pdf": ("PDF", "application/pdf"),
    "zip": ("Data and pictures", "application/zip"),
}


def export_report(view: StoryView, story: Story, made: Sequence[RenderedSection], form: str) -> bytes:
    """Write a story in one of FORMS."""
    from dashboard.export.html_report import html_report
    from dashboard.stories.report import report_of

    if form == "zip":
        from dashboard.export.bundle import report_files

        return report_files(made)
    report = report_of(view, story, made)
    if form == "html":
        return html_report(report).encode("utf-8")
    if form == "pptx":
        from dashboard.export.pptx.report import pptx_report

        return pptx_report(report)
    from dashboard.export.pdf import pdf_report

    return pdf_report(report)
