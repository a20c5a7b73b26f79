"""Chunking: which way of splitting the documents serves the questions best?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.chunking.grid_search import grid_form, grid_searches, unfinished_search
from dashboard.sections.chunking.results import (
    cutoff_picker,
    grid_picker,
    heatmaps,
    legend,
    marginal_effects,
    metric_at_cutoff,
    metric_names,
    metric_picker,
    other_strategies_title,
    ranking_of,
    ranking_sentences,
    same_chunks_of,
    same_chunks_text,
    trial_table,
)
from dashboard.shell.components import facts
from dashboard.shell.session import current_view
from dashboard.wording.comparisons import family_text
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.chunking.grids import grids_of

view = current_view()
st.title("Which chunking serves the questions best?")
grids = grids_of(view.sampled)
with st.expander("Run a grid", expanded=not grids, icon=":material/grid_on:"):
    grid_form(view.store, view.project)
grid_searches(view.store)

if not grids:
    st.info(
        "No grid in this project. Run one above or with `ragtriage grid CORPUS --questions FILE`, or "
        "load runs that say how they were chunked: `ragtriage import FILE --config chunk_size=256 "
        "--config chunk_overlap=32`."
    )
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom"):
    grid = grid_picker(grids)
    scored_runs = [view.scored(trial.run) for trial in grid.trials]
    cutoff_picker(metric_names(scored_runs))
    base = metric_picker(scored_runs)
if not base:
    st.info(
        "No configuration of this grid has a metric. Its questions need gold text, gold documents or answers."
    )
    st.stop()
ranking = ranking_of(grid, scored_runs, metric_at_cutoff(base, scored_runs))

for sentence in ranking_sentences(ranking, unfinished_search(view.store, view.project)):
    st.markdown(sentence)
for trials in same_chunks_of(grid, scored_runs):
    st.caption(same_chunks_text(trials))
for note in grid.notes:
    st.warning(markdown_text(note))

if len(grid.heatmap_trials) > 1:
    st.subheader("Size and overlap")
    heatmaps(grid, scored_runs, base)
    facts(
        [
            legend(ranking),
            f"n = {count(ranking.n_questions, 'question')} that all configurations share",
            f"{ranking.n_left_out:,} left out" if ranking.n_left_out else "",
            "blank: not run",
            "click a cell for its cases",
        ]
    )
    st.subheader("The effect of each")
    marginal_effects(grid, ranking)

st.subheader("All configurations by size and overlap" if grid.heatmap_trials else "All configurations")
usual = [entry for entry in ranking.values if entry.trial.method == grid.heatmap_method]
trial_table(ranking, usual, "cells", grid.unit)
others = [entry for entry in ranking.values if entry not in usual]
if others:
    st.subheader(other_strategies_title(others))
    trial_table(ranking, others, "strategies", grid.unit)
n_tested = sum(entry.test is not None for entry in ranking.values)
facts(
    [
        "differences to the best configuration, paired on question",
        family_text(n_tested, "difference") if n_tested else "",
        "the best is chosen on these same questions, so its mean is slightly optimistic",
        "choose a row to open or compare it",
    ]
)
with st.expander("Why gold characters and not chunks?"):
    st.write(
        "Splitting the same text into smaller chunks, or with more overlap, changes how many chunks are "
        "relevant, and with it the denominator of recall and nDCG by chunk count: two chunkings would not "
        "share a scale. Here recall is the share of gold characters that the chunks cover, and a character "
        "that two chunks repeat counts once. The chunk-count variants are in the list of metrics by name."
    )
