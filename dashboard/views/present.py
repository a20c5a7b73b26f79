"""Present: what should others know of this run?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.present import (
    compose,
    conclusion,
    export_bar,
    presentation,
    rendered_sections,
    story_bar,
    story_on_display,
)
from dashboard.shell.blocks import open_page, run_facts
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

open_page(conclusion(shown, None if rendered is None else rendered[1]), meta=run_facts(view))
story_bar(view, shown)
if shown is None:
    st.caption(
        "A deck is made from the numbers of this run. It can be changed, presented here, and saved as "
        "slides, as one HTML page and as PDF."
    )
elif rendered is not None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Present", key="story_present", on_click=keep, kwargs={"slide": 1})
        export_bar(rendered[0], shown[1], rendered[1])
    compose(view, shown[0], shown[1], rendered[1])
