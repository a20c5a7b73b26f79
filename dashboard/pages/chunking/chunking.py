"""Chunking: which way of splitting the documents serves the questions best?"""

from functools import partial

import streamlit as st

from ragtriage.dashboard.headlines.chunking import NO_GRID, chunking_headline
from ragtriage.dashboard.pages.chunking.grid_results import (
    best_first,
    chosen_grid,
    curves_over_k,
    cutoff_picker,
    grid_picker,
    means_elsewhere,
    means_page,
    metric_at_cutoff,
    metric_names,
    metric_picker,
    newest_first,
    precision_of,
    ranking_of,
    same_chunks_of,
    same_chunks_text,
    show_trials,
    size_and_overlap,
    unfinished_text,
)
from ragtriage.dashboard.pages.chunking.grid_search import (
    grid_button,
    grid_form,
    grid_searches,
    unfinished_search,
)
from ragtriage.dashboard.shell.components import open_page, reported_means_page
from ragtriage.dashboard.shell.empty_pages import example_section
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import chosen_of
from ragtriage.dashboard.wording.comparisons import family_text
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.chunking.grids import grids_of
from ragtriage.metrics.number_text import count

view = current_view()
grids = newest_first(grids_of(view.runs))
if not grids and view.run.means:
    reported_means_page(view)
    st.stop()
if not grids:
    open_page(NO_GRID)
    example_section("chunking", partial(grid_form, view.store, view.project), "Start: run a grid")
    st.caption(
        "`ragtriage grid CORPUS --questions FILE` does the same; runs that say how they were chunked "
        "(`--config chunk_size=256 --config chunk_overlap=32`) are a grid as well."
    )
    grid_searches(view.store)
    st.stop()

grid = chosen_grid(grids)
if grid.means_alone:
    means_page(grid, grids)
    st.stop()
scored_runs = [view.scored(trial.run) for trial in grid.trials]
bases = metric_names(scored_runs)
base = chosen_of("shown_metric", bases) if bases else ""
ranking = ranking_of(grid, scored_runs, metric_at_cutoff(base, scored_runs)) if base else None
unfinished = unfinished_search(view.store, view.project)
doubts = [*([] if unfinished is None else [unfinished_text(*unfinished)]), *grid.notes]
open_page(
    chunking_headline(
        ranking,
        precision_of(grid, scored_runs),
        grid.unit,
        doubts,
        means_elsewhere(view, ranking, base) if ranking else (0, {}),
    ),
    [count(len(grid.trials), "configuration"), grid.title],
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    grid_picker(grids)
    if base:
        cutoff_picker(bases)
        metric_picker(bases)
    grid_button(view.store, view.project)
grid_searches(view.store)
if ranking is None:
    st.stop()

if len(grid.heatmap_trials) > 1:
    size_and_overlap(grid, scored_runs, base, ranking)
for trials in same_chunks_of(grid, scored_runs):
    st.caption(same_chunks_text(trials))

st.markdown(f"##### {count(len(ranking.values), 'chunking')}, best first")
n_tested = sum(entry.test is not None for entry in ranking.values)
NOTES = (
    "Differences to the best configuration, paired on question. The best is chosen on these same "
    "questions, so its mean is slightly optimistic.",
    capital(family_text(n_tested, "difference")) if n_tested else "",
    "Why gold characters and not chunks? Splitting the same text into smaller chunks, or with more "
    "overlap, changes how many chunks are relevant, and with it the denominator of recall and nDCG by "
    "chunk count: two chunkings would not share a scale. Here recall is the share of gold characters "
    "that the chunks cover, and a character that two chunks repeat counts once. The chunk-count "
    "variants are in the list of metrics by name.",
)
show_trials(ranking, best_first(ranking), "cells", grid.unit, curves_over_k(view, grid, base), NOTES)
