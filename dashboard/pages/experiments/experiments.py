"""Experiments: what does one change of the context or of a setting do to the answers?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from ragtriage.dashboard.experiments.registry import experiment_headline, no_experiment
from ragtriage.dashboard.pages.experiments.begin import begin_button, begin_form, running_experiments
from ragtriage.dashboard.pages.experiments.experiment_results import (
    chosen_experiment,
    elsewhere,
    experiment_picker,
    project_experiments,
    show_experiment,
    summary_of,
)
from ragtriage.dashboard.shell.blocks import open_page
from ragtriage.dashboard.shell.examples import example_section
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.experiments.registry import kind_of
from ragtriage.metrics.number_text import count

view = current_view()
listed = project_experiments(view)
if not listed:
    open_page(no_experiment())
    example_section("experiments", partial(begin_form, view), "Begin: ask a system, with one thing changed")
    running_experiments(view.store)
    elsewhere(view)
    st.stop()

experiment = chosen_experiment(view, listed)
summary = summary_of(view, experiment)
arms_done = f"{len(experiment.run_ids)} of {count(len(experiment.arms), 'arm')}"
open_page(
    experiment_headline(summary),
    [
        f"{count(experiment.n_questions, 'question')} of {experiment.questions}",
        f"{arms_done} · {experiment.created_at:%Y-%m-%d}",
    ],
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    experiment_picker(listed, experiment)
    st.space("stretch")
    begin_button(view)
running_experiments(view.store)
st.caption(
    f"Changed: {kind_of(experiment.kind).changes}. System: {markdown_text(experiment.system)}. "
    "Every arm asks the same questions."
)
show_experiment(view, summary)
for note in experiment.notes:
    st.caption(f"Note: {markdown_text(note)}.")
