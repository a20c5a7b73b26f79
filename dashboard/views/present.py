"""Present: what should others know of this run?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.present import (
    compose,
    export_bar,
    presentation,
    rendered_sections,
    story_bar,
    story_on_display,
)
from dashboard.shell.session import current_selection, current_view, keep
from dashboard.stories.report import report_facts

view = current_view()
shown = story_on_display(view)
found = rendered_sections(view, shown[1]) if shown is not None else None
slide = current_selection().slide
if shown is not None and found is not None and slide:
    story_view, made = found
    told = [f"{name}: {text}" for name, text in list(report_facts(story_view).items())[:4]]
    presentation(shown[1], made, told, slide)
    st.stop()

st.title("What should others know of this run?")
story_bar(view, shown)
if shown is None:
    st.info(
        "No story yet. A story is a few points in order: charts, tables, cases, each with a heading and "
        "a note. "
        "Choose whom it is for and press New story; it can be presented here and exported as one HTML "
        "file, as "
        "slides, and as PDF."
    )
elif found is None:
    st.warning("The run that this story speaks of is not in the workspace any more.")
else:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Present", type="primary", key="story_present", on_click=keep, kwargs={"slide": 1})
        export_bar(found[0], shown[1], found[1])
    compose(view, shown[0], shown[1], found[1])
