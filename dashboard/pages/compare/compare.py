"""Compare: what changed from the baseline, beyond chance, for which questions, and at which stage?"""

import streamlit as st

from ragtriage.dashboard.headlines.compare import NO_SECOND_RUN
from ragtriage.dashboard.pages.compare.compared import (
    compared_versions,
    draw_answers,
    draw_choices,
    draw_hero,
    page_headline,
)
from ragtriage.dashboard.pages.compare.questions import draw_questions
from ragtriage.dashboard.pages.compare.version_tabs import (
    cost_section,
    draw_flow,
    draw_leaderboard,
    draw_numbers,
    draw_slices,
    factor_section,
)
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.components import (
    bundled_example,
    config_section,
    current_theme,
    open_page,
    run_facts,
)
from ragtriage.dashboard.shell.header import compared_base
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import draw_tabs

view = current_view()
base = compared_base(view)
if base is None or len(view.sampled) < 2:
    open_page(NO_SECOND_RUN, run_facts(view))
    bundled_example("iris", "colbert", "compares six versions with a baseline")
    st.stop()
compared = compared_versions(view, base)
open_page(page_headline(compared), run_facts(view))
st.html(page_style("compare", current_theme()))
draw_choices(compared)
draw_hero(compared)
draw_answers(compared)

runs = [base, *compared.versions.values()]
usual = "leaderboard" if len(compared.drawn) < len(compared.versions) else "questions"
TABS = {
    "questions": ("Every question", lambda: draw_questions(compared)),
    "slices": ("For whom", lambda: draw_slices(compared)),
    "cost": ("Quality and cost", lambda: cost_section(view, runs)),
    "numbers": ("Numbers", lambda: draw_numbers(compared)),
    "leaderboard": ("Leaderboard", lambda: draw_leaderboard(compared)),
    "flow": ("Flow of failure stages", lambda: draw_flow(compared)),
    "factors": ("Factors", lambda: factor_section(view, runs, compared.metrics)),
    "configurations": ("Configurations", lambda: config_section(view, runs)),
}
draw_tabs(TABS, "compare_tab", usual)
