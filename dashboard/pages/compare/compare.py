"""Compare: what changed from the baseline, beyond chance, for which questions, and at which stage?"""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.headlines.compare import NO_SECOND_RUN
from ragtriage.dashboard.pages.compare.ablation import cost_section, factor_section
from ragtriage.dashboard.pages.compare.choices import compared_versions, draw_choices
from ragtriage.dashboard.pages.compare.hero import draw_hero, page_headline
from ragtriage.dashboard.pages.compare.leaderboard import draw_leaderboard
from ragtriage.dashboard.pages.compare.numbers import draw_flow, draw_numbers
from ragtriage.dashboard.pages.compare.questions import draw_questions
from ragtriage.dashboard.pages.compare.slices import draw_slices
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.blocks import bundled_example, current_theme, open_page, run_facts
from ragtriage.dashboard.shell.components import config_section
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import page_tabs
from ragtriage.dashboard.wording.directions import on_share_scale
from ragtriage.data.comparison.compared_metrics import shared_metrics

TABS = {
    "numbers": "Numbers",
    "slices": "For whom",
    "leaderboard": "Leaderboard",
    "flow": "Flow of failure stages",
    "factors": "Factors",
    "cost": "Quality and cost",
    "configurations": "Configurations",
}

view = current_view()
if view.comparison_base is None or len(view.sampled) < 2:
    open_page(NO_SECOND_RUN, run_facts(view))
    bundled_example("iris", "colbert", "compares six versions with a baseline")
    st.stop()
base = view.comparison_base
compared = compared_versions(view, base)
open_page(page_headline(compared), run_facts(view))
st.html(page_style("compare", current_theme()))
draw_choices(compared)
draw_hero(compared)
draw_questions(compared)

runs = [base, *compared.versions.values()]
usual = "leaderboard" if len(compared.drawn) < len(compared.versions) else "numbers"
numbers, whom, board, flow, factors, cost, configurations = page_tabs(TABS, "compare_tab", usual)
if numbers.open:
    with numbers:
        draw_numbers(compared)
if whom.open:
    with whom:
        draw_slices(compared)
if board.open:
    with board:
        draw_leaderboard(compared)
if flow.open:
    with flow:
        draw_flow(compared)
if factors.open:
    with factors:
        factor_section(view, runs, compared.metrics)
if cost.open:
    with cost:
        shared = shared_metrics([view.scored(run) for run in runs])
        cost_section(view, runs, [name for name in shared if on_share_scale(name)])
if configurations.open:
    with configurations:
        config_section(view, runs)
