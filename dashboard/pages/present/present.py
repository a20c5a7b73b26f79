"""Present: the verdict on this run for others, as slides, a page and a PDF."""

import streamlit as st

from ragtriage.dashboard.pages.present.presentation import (
    conclusion,
    edit_slide,
    export_bar,
    present_button,
    presentation,
    preview,
    rendered_sections,
    story_bar,
    story_on_display,
    thumbnails,
)
from ragtriage.dashboard.present.stories.report import report_facts
from ragtriage.dashboard.shell.components import open_page, run_facts
from ragtriage.dashboard.shell.session import current_selection, current_view, end_presentation

view = current_view()
shown = story_on_display(view)
story = shown[1] if shown is not None else None
rendered = rendered_sections(view, story) if story is not None else None
slide = current_selection().slide
if story is not None and rendered is not None and slide:
    facts = [f"{name}: {text}" for name, text in list(report_facts(rendered[0]).items())[:4]]
    presentation(story, rendered[1], facts, slide)
    st.stop()
if slide:
    end_presentation()

open_page(conclusion(shown, None if rendered is None else rendered[1]), meta=run_facts(view))
if shown is None or story is None or rendered is None:
    story_bar(view, shown)
    st.stop()
if not rendered[1]:
    story_bar(view, shown)
    edit_slide(view, shown[0], story, (), 0)
    st.stop()

chosen = thumbnails(shown[0].story_id, rendered[1])
with st.container(horizontal=True):
    present_button(rendered[1], chosen)
    export_bar(rendered[0], story, rendered[1])
left, right = st.columns([3, 1], gap="medium")
with left:
    preview(rendered[1], chosen, shown[0].story_id)
with right:
    story_bar(view, shown)
    edit_slide(view, shown[0], story, rendered[1], chosen)
