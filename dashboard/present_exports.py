"""Export of a story from the page: made when it is asked for, not on each rerun."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.story import Made, Story
from dashboard.story_view import StoryView

__all__ = ["FORMS", "export_report"]

FORMS = {
    "html": ("HTML", "text/html"),
    "pptx": ("Slides", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "pdf": ("PDF", "application/pdf"),
    "zip": ("Data and pictures", "application/zip"),
}


def export_report(view: StoryView, story: Story, made: Sequence[Made], form: str) -> bytes:
    """Write a story in one of FORMS."""
    from dashboard.report_html import html_report
    from dashboard.story_report import report_of

    if form == "zip":
        from dashboard.story_files import story_files

        return story_files(made)
    report = report_of(view, story, made)
    if form == "html":
        return html_report(report).encode("utf-8")
    if form == "pptx":
        from dashboard.report_pptx import pptx_report

        return pptx_report(report)
    from dashboard.report_pdf import pdf_report

    return pdf_report(report)
