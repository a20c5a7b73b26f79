"""Export of a story from the page: made when it is asked for, not on each rerun."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import streamlit as st

from dashboard.story import Made, Story
from dashboard.story_view import StoryView

__all__ = ["FORMS", "export_bar", "export_report"]

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


def export_bar(view: StoryView, story: Story, made: Sequence[Made]) -> None:
    """Draw the download buttons."""
    name = re.sub(r"[^\w.-]+", "-", story.title).strip("-.")[:60] or "story"
    for form, (title, mime) in FORMS.items():
        st.download_button(
            title,
            _made_later(view, story, made, form),
            f"{name}.{form}",
            mime,
            key=f"story_export_{form}",
            on_click="ignore",
        )


def _made_later(view: StoryView, story: Story, made: Sequence[Made], form: str) -> Callable[[], bytes]:
    return lambda: export_report(view, story, made, form)
