"""Experiments: what does one change of the context or of a setting do to the answers?"""

from functools import partial

import streamlit as st

from ragtriage.dashboard.experiments.registry import experiment_headline, no_experiment
from ragtriage.dashboard.pages.experiments.begin import begin_button, begin_form, running_experiments
from ragtriage.dashboard.pages.experiments.experiment_list import experiment_list, what_follows
from ragtriage.dashboard.pages.experiments.experiment_results import (
    chosen_experiment,
    elsewhere,
    experiment_tabs,
    project_experiments,
    show_chosen,
    summaries_of,
)
from ragtriage.dashboard.shell.components import open_page
from ragtriage.dashboard.shell.empty_pages import example_section
from ragtriage.dashboard.shell.session import current_view
from ragtriage.metrics.number_text import count

view = current_view()
listed = project_experiments(view)
if not listed:
    open_page(no_experiment())
    example_section("experiments", partial(begin_form, view), "Start: ask a system with one thing changed")
    running_experiments(view.store)
    elsewhere(view)
    st.stop()

experiment = chosen_experiment(view, listed)
summaries = summaries_of(view, listed, experiment)
summary = summaries[experiment.experiment_id]
arms_done = f"{len(experiment.run_ids)} of {count(len(experiment.arms), 'arm')}"
open_page(
    experiment_headline(summary),
    [
        f"{count(experiment.n_questions, 'question')} of {experiment.questions}",
        f"{arms_done} · {experiment.created_at:%Y-%m-%d}",
    ],
)
sides = st.grid(2, min_column_width=350, gap="medium")
with sides.container(gap="xsmall"):
    experiment_list(listed, summaries, experiment)
    what_follows(summaries, experiment)
    begin_button(view)
    running_experiments(view.store)
with sides.container(gap="xsmall"):
    show_chosen(view, summary)
experiment_tabs(view, summary)
