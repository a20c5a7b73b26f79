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
rendered = rendered_sections(view, shown[1]) if shown is not None else None
slide = current_selection().slide
if shown is not None and rendered is not None and slide:
    facts = [f"{name}: {text}" for name, text in list(report_facts(rendered[0]).items())[:4]]
    presentation(shown[1], rendered[1], facts, slide)
    st.stop()

st.title("What should others know of this run?")
story_bar(view, shown)
if shown is None:
    st.info(
        "No story yet. A story is a report of a few sections: charts, tables, cases, each with a heading and "
        "a note. Choose whom it is for and press New story; it can be presented here and exported as one "
        "HTML file, as slides, and as PDF."
    )
elif rendered is None:
    st.warning("The run of this story is not in the workspace any more.")
else:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Present", type="primary", key="story_present", on_click=keep, kwargs={"slide": 1})
        export_bar(rendered[0], shown[1], rendered[1])
    compose(view, shown[0], shown[1], rendered[1])
